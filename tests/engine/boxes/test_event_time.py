"""Event time with lateness on Spark: the three policies over the same rows."""

from __future__ import annotations

import pytest

from auroral.model.aggregates import aggregate_function
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Box
from auroral.model.windows import EventTimeWindow, Landmark, LatePolicy, StimeWindow
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


@pytest.fixture(scope="module")
def of_users(spark, tmp_path_factory):
    """The same boxes and others with an aggregate of the user's own, which sees rows in processing order."""

    def register():
        common = {"init": list, "final": lambda state: ",".join(state), "returns": "string"}
        aggregate_function("told", incr=lambda state, v: [*state, str(v)], combine=lambda a, b: [*a, *b], **common)

    register()

    def box(name, window, outputs, by=("k",), start="w"):
        calls = (("n", "count()"), ("s", "sum(v)"), ("u", "told(v)"))
        return Box(name, Aggregate(calls, window, by, start), ("s",), outputs)

    boxes = [
        box("ledger", EventTimeWindow("e", 10, 10, 5, LatePolicy.LEDGER, 2), ("ledger",)),
        box("side", EventTimeWindow("e", 10, 10, 5, LatePolicy.SIDE, 2), ("side", "late")),
        box("correct", EventTimeWindow("e", 10, 10, 5, LatePolicy.CORRECT, 2, 10), ("correct",)),
        box("sliding", EventTimeWindow("e", 14, 4, 3, LatePolicy.CORRECT, 7, 9), ("sliding",), (), None),
        Box("after", Aggregate((("f", "firstval(u)"), ("x", "told(n)")), Landmark()), ("sliding",), ("after",)),
        Box("late again", Aggregate((("n", "count()"),), StimeWindow(10, 10)), ("late",), ("late again",)),
    ]
    checked = checked_diagram({"s": "e timestamp, k string, v int"}, boxes, bucket=5)
    return run_all(spark, tmp_path_factory.mktemp("users"), checked, {"s": GIVEN}, 60, first=0)


def test_user_aggregates_see_the_rows_of_their_window(of_users):
    assert of_users.outputs["ledger"] == [(14, "a", 0, 2, 3, "1,2"), (24, "b", 10, 1, 4, "4")]
    assert of_users.outputs["side"] == of_users.outputs["ledger"]


def test_user_aggregates_are_corrected(of_users, outcome):
    told = {(row[0], row[1]): row[-1] for row in of_users.outputs["correct"]}
    assert told[15, "a"] == "1,2,8,16" and told[24, "a"] == "1,2,8,16,256"
    assert [row[:-1] for row in of_users.outputs["correct"]] == outcome.outputs["correct"]


def test_late_rows_of_user_aggregates_are_counted_and_given_out(of_users, outcome):
    for key in (("ledger", "late"), ("side", "ahead"), ("correct", "late")):
        assert of_users.ledger[key] == outcome.ledger[key]
    assert of_users.outputs["late"] == outcome.outputs["late"]
    assert of_users.outputs["sliding"] and of_users.outputs["after"] and of_users.outputs["late again"]
