"""Event time with lateness on Spark: the three policies over the same rows."""

from __future__ import annotations

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Box
from auroral.model.windows import EventTimeWindow, LatePolicy
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

# (stime, event time, key, value)
GIVEN = rows(
    (9, 3, "a", 1),
    (14, 9, "a", 2),
    (14, 11, "b", 4),
    (15, 9, "a", 8),
    (15, 8, "a", 16),
    (16, None, "a", 32),
    (18, 6, "c", 64),
    (20, 40, "a", 128),
    (24, 9, "a", 256),
    (25, 9, "a", 512),
)


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    def box(name, late, outputs, correct_for=0):
        window = EventTimeWindow("e", 10, 10, 5, late, 2, correct_for)
        return Box(name, Aggregate((("n", "count()"), ("s", "sum(v)")), window, ("k",), "w"), ("s",), outputs)

    boxes = [
        box("ledger", LatePolicy.LEDGER, ("ledger",)),
        box("side", LatePolicy.SIDE, ("side", "late")),
        box("correct", LatePolicy.CORRECT, ("correct",), 10),
    ]
    checked = checked_diagram({"s": "e timestamp, k string, v int"}, boxes, bucket=5)
    return run_all(spark, tmp_path_factory.mktemp("event"), checked, {"s": GIVEN}, 30, first=0)


def test_a_window_closes_at_its_end_and_lateness(outcome):
    assert outcome.outputs["ledger"] == outcome.outputs["side"] == [(14, "a", 0, 2, 3), (24, "b", 10, 1, 4)]


def test_late_rows_nulls_and_rows_ahead_are_counted(outcome):
    assert outcome.ledger == {
        ("ledger", "late"): 6,
        ("ledger", "ahead"): 1,
        ("side", "late"): 6,
        ("side", "ahead"): 1,
        ("correct", "late"): 2,
        ("correct", "ahead"): 1,
    }


def test_the_side_output_has_them_all(outcome):
    assert [row[3] for row in outcome.outputs["late"]] == [16, 8, 32, 64, 128, 256, 512]


def test_corrections_come_once_for_each_stime(outcome):
    assert outcome.outputs["correct"] == [
        (14, "a", 0, 2, 3),
        (15, "a", 0, 4, 27),
        (18, "c", 0, 1, 64),
        (24, "a", 0, 5, 283),
        (24, "b", 10, 1, 4),
    ]
