"""Aggregates that users write, on Spark: in processing order, with and without `combine`."""

from __future__ import annotations

import pytest

from auroral.model.aggregates import aggregate_function
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.drop import WindowDrop
from auroral.model.diagram import Box
from auroral.model.windows import Landmark, Runs, StimeWindow
from engine.evaluators import by_batch, by_buckets, by_reference
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark


def register():
    """Nested functions: Spark's workers get them by value and need no module of the tests."""
    common = {"init": lambda: "", "final": lambda state: state, "returns": "string"}
    aggregate_function("spelt", incr=lambda state, text: state + (text or "-"), **common)
    aggregate_function(
        "spelt_in_parts",
        incr=lambda state, text: state + (text or "-"),
        combine=lambda earlier, later: earlier + later,
        **common,
    )

    def incr(state, text):
        state.append(text or "-")
        return state

    def combine(earlier, later):
        if not earlier:
            return later
        earlier.extend(later)
        return earlier

    # A natural way to write it: what `combine` is given is kept, and changed later on.
    aggregate_function("listed_in_place", init=list, incr=incr, final="".join, returns="string", combine=combine)
    aggregate_function("wrongly_combined", init=list, incr=incr, final="".join, returns="string", combine=max)


GIVEN = rows((-3, "a"), (4, "c"), (4, "b"), (11, None), (12, "d"), (12, "d"), (29, "e"), (31, "f"))


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    register()
    calls = (("n", "count()"), ("w", "spelt(k)"))
    in_parts = (("n", "count()"), ("w", "spelt_in_parts(k)"))
    odd = StimeWindow(14, 6)
    boxes = [
        Box("whole", Aggregate(calls, odd, (), "start"), ("s",), ("whole",)),
        Box("parts", Aggregate(in_parts, odd, (), "start"), ("s",), ("parts",)),
        Box(
            "in place",
            Aggregate((("n", "count()"), ("w", "listed_in_place(k)")), odd, (), "start"),
            ("s",),
            ("in place",),
        ),
        Box("total", Aggregate(calls, Landmark()), ("s",), ("total",)),
        Box("runs", Aggregate(in_parts, Runs(), ("k",)), ("s",), ("runs",)),
        Box("drop", WindowDrop(0.5, 1, 10, 10), ("s",), ("some",)),
        Box("of kept", Aggregate(calls, StimeWindow(10, 10)), ("some",), ("of kept",)),
    ]
    checked = checked_diagram({"s": "k string"}, boxes)
    return run_all(spark, tmp_path_factory.mktemp("user"), checked, {"s": GIVEN}, 50)


def test_rows_come_in_processing_order(outcome):
    assert outcome.outputs["whole"][0] == (-18 + 14 + 6 - 1 - 0, -12, 1, "a")
    words = [row[-1] for row in outcome.outputs["whole"]]
    assert words == ["a", "acb", "cb-dd", "-dd", "-dd", "e", "ef", "ef", "f"][: len(words)] or "acb" in words


def test_parts_give_what_the_whole_gives(outcome):
    assert outcome.outputs["parts"] == outcome.outputs["whole"]


def test_states_changed_in_place_are_not_shared_between_windows(outcome):
    assert outcome.outputs["in place"] == outcome.outputs["whole"]


def test_the_batch_never_combines(spark, tmp_path):
    """So that `verify` finds a `combine` that disagrees with `incr`."""
    register()
    box = Box("w", Aggregate((("w", "wrongly_combined(k)"),), StimeWindow(20, 10)), ("s",), ("w",))
    checked = checked_diagram({"s": "k string"}, [box])
    whole = by_batch(spark, checked, {"s": GIVEN}, 50, tmp_path / "batch")
    assert whole.outputs == by_reference(checked, {"s": GIVEN}, 50).outputs
    in_parts = by_buckets(spark, checked, {"s": GIVEN}, [-10, 50], tmp_path / "small")
    assert in_parts.outputs != whole.outputs


def test_a_running_word(outcome):
    assert sorted(outcome.outputs["total"], key=lambda row: row[1])[-1] == (31, 8, "acb-ddef")


def test_runs(outcome):
    assert [row[-1] for row in sorted(outcome.outputs["runs"])[:1]] == ["a"]
    assert "dd" in [row[-1] for row in outcome.outputs["runs"]]


def test_dropped_windows_are_left_out(outcome):
    assert len(outcome.outputs["of kept"]) < 4
