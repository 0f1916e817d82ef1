"""Joins within a window of stime, on Spark."""

from __future__ import annotations

import pytest

from auroral.model.boxes.join import Join, JoinBuffer, JoinKind
from auroral.model.diagram import Box
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

SOURCES = {
    "a": rows((-3, 1, "a0"), (5, 1, "a1"), (9, 2, "a2"), (12, 1, "a3"), (12, 1, "a3"), (30, None, "a4")),
    "b": rows((0, 1, "b0"), (5, 1, "b1"), (16, 1, "b2"), (19, 2, "b3"), (30, None, "b4"), (33, 7, "b5")),
}


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    columns = (("l", "left.v"), ("r", "right.v"), ("gap", "right.stime - left.stime"))

    def box(name, left, right, kind=JoinKind.INNER, on="left.k = right.k"):
        return Box(name, Join(on, JoinBuffer(left), JoinBuffer(right), columns, kind), ("a", "b"), (name,))

    boxes = [
        box("inner", 4, 7),
        box("left", 4, 7, JoinKind.LEFT),
        box("right", 4, 7, JoinKind.RIGHT),
        box("at once", 0, 0),
        box("any", 3, 0, on="left.stime <= right.stime"),
        Box("self", Join("left.k = right.k", JoinBuffer(0), JoinBuffer(0)), ("a", "a"), ("self",)),
    ]
    checked = checked_diagram({"a": "k int, v string", "b": "k int, v string"}, boxes)
    return run_all(spark, tmp_path_factory.mktemp("join"), checked, SOURCES, 50)


def pairs(outcome, name):
    return [(stime, left, right) for stime, left, right, _ in outcome.outputs[name]]


INNER = [(0, "a0", "b0"), (5, "a1", "b0"), (5, "a1", "b1"), (12, "a3", "b1"), (12, "a3", "b1"), (16, "a3", "b2")]


def test_pairs_have_the_later_stime(outcome):
    assert pairs(outcome, "inner") == [*INNER, (16, "a3", "b2")]


def test_an_unmatched_row_waits_for_its_buffer(outcome):
    alone = [(13, "a2", None), (34, "a4", None)]
    assert sorted(pairs(outcome, "left"), key=str) == sorted([*INNER, (16, "a3", "b2"), *alone], key=str)
    alone = [(26, None, "b3"), (37, None, "b4"), (40, None, "b5")]
    assert sorted(pairs(outcome, "right"), key=str) == sorted([*INNER, (16, "a3", "b2"), *alone], key=str)


def test_buffers_of_no_length_join_equal_stimes(outcome):
    assert pairs(outcome, "at once") == [(5, "a1", "b1")]


def test_a_predicate_without_equality(outcome):
    assert pairs(outcome, "any") == [(0, "a0", "b0"), (5, "a1", "b1"), (30, "a4", "b4"), (33, "a4", "b5")]


def test_a_stream_joined_with_itself(outcome):
    assert len(outcome.outputs["self"]) == 1 + 1 + 1 + 4
