"""Folds on Spark: running totals, runs, and windows from the first row, over many ranges."""

from __future__ import annotations

import math

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.stateless import Filter
from auroral.model.diagram import Box, Stamp
from auroral.model.windows import Alignment, FieldWindow, Landmark, Runs
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

ROWS = [
    (3, "a", 0.1),
    (3, "b", -0.0),
    (7, "a", 0.2),
    (12, None, None),
    (12, "a", 0.3),
    (25, "a", 1e300),
    (38, "b", 2.0),
]
SOURCES = {"s": rows(*((t, t, k, x) for t, k, x in ROWS))}


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    calls = (("n", "count(x)"), ("s", "sum(x)"), ("hi", "max(x)"), ("last", "lastval(x)"), ("d", "count_distinct(x)"))
    first = FieldWindow("t", 10, 5, Alignment.FIRST)
    boxes = [
        Box("total", Aggregate(calls, Landmark(), ("k",)), ("s",), ("total",)),
        Box("since", Aggregate(calls[:1], Landmark(12)), ("s",), ("since",)),
        Box("run", Aggregate(calls, Runs(), ("k",)), ("s",), ("run",)),
        Box("by number", Aggregate(calls[:2], Landmark(), ("x",)), ("s",), ("by number",)),
        Box("first", Aggregate(calls, first, ("k",)), ("s",), ("first",)),
    ]
    checked = checked_diagram({"s": "t long, k string, x double"}, boxes, stamps={"s": Stamp("t", 1)})
    return run_all(spark, tmp_path_factory.mktemp("fold"), checked, SOURCES, 40)


def test_a_total_runs_on_for_each_key(outcome):
    totals = [(stime, n, s) for stime, k, n, s, *_ in outcome.outputs["total"] if k == "a"]
    assert totals == [(3, 1, 0.1), (7, 2, math.fsum([0.1, 0.2])), (12, 3, math.fsum([0.1, 0.2, 0.3])), (25, 4, 1e300)]
    assert [row for row in outcome.outputs["total"] if row[1] is None] == [(12, None, 0, None, None, None, 0)]


def test_a_landmark_leaves_out_what_was_before(outcome):
    assert outcome.outputs["since"] == [(12, 0), (12, 1), (25, 2), (38, 3)]


def test_runs_are_closed_by_the_next_key(outcome):
    closed = [(stime, k, n) for stime, k, n, *_ in outcome.outputs["run"]]
    assert closed == [(3, "a", 1), (7, "b", 1), (12, None, 0), (12, "a", 1), (38, "a", 2)]


def test_both_zeros_are_one_key(outcome):
    zero = [row for row in outcome.outputs["by number"] if row[1] == 0]
    assert zero == [(3, 0.0, 1, 0.0)] and math.copysign(1, zero[0][1]) == 1


def test_first_aligned(outcome):
    assert [(stime, k, start, n) for stime, k, start, n, *_ in outcome.outputs["first"]] == [
        (25, "a", 3, 3),
        (25, "a", 8, 1),
        (38, "b", 3, 1),
    ]


def test_a_box_may_have_the_name_of_another_ones_stream(spark, tmp_path):
    boxes = [
        Box("x", Aggregate((("n", "count()"),), Landmark(), ("k",)), ("s",), ("y",)),
        Box("y", Filter(("k = 'a'",)), ("s",), ("z",)),
        Box("z", Filter(("n > 1",)), ("y",), ("x",)),
    ]
    checked = checked_diagram({"s": "t long, k string, x double"}, boxes, stamps={"s": Stamp("t", 1)})
    outcome = run_all(spark, tmp_path, checked, SOURCES, 40)
    assert [len(outcome.outputs[name]) for name in "xyz"] == [4, 7, 4]
