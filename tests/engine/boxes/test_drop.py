"""Load shedding on Spark: decided by hash, counted in the ledger, and whole windows go together."""

from __future__ import annotations

from collections import Counter

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.stateless import Map
from auroral.model.diagram import Box
from auroral.model.windows import Alignment, FieldWindow, StimeWindow, TupleWindow
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

N = 400
VALUES = [None, float("nan"), float("-inf"), *[0.0] * 6]
"""Zero stands for a value of the row's own: they grow."""
# Every row twice: equal rows have ordinals of their own. Signs of zeros do not make rows equal.
GIVEN = rows(
    *(
        (i // 5 - 20, "ab"[i % 2], [0.0, -0.0, 1.0][i % 3], VALUES[i % 9] or i / 10)
        for i in range(N // 2)
        for _ in range(2)
    )
)


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    count = (("n", "count()"),)
    window, numbers = StimeWindow(10, 5), (("n", "count()"), ("s", "sum(n)"))
    by_value = FieldWindow("v", 1.5, 0.5, Alignment.INDEPENDENT)
    boxes = [
        Box("all", RandomDrop(0.0), ("s",), ("all",)),
        Box("none", RandomDrop(1.0), ("s",), ("none",)),
        Box("half", RandomDrop(0.5), ("s",), ("half",)),
        Box("again", RandomDrop(0.5), ("half",), ("quarter",)),
        Box("windows", WindowDrop(0.5, 2, 10, 5, group_by=("k",)), ("s",), ("windows",)),
        Box("kept", Aggregate(count, window, ("k",)), ("windows",), ("kept",)),
        Box("full", Aggregate(count, window, ("k",)), ("s",), ("full",)),
        Box("counted", WindowDrop(0.5, 2, 6, 4, group_by=("k",), tuples=True), ("s",), ("counted",)),
        Box("same", Map((("k", "k"), ("n", "x"))), ("counted",), ("same",)),
        Box("kept rows", Aggregate(numbers, TupleWindow(6, 4), ("k",)), ("same",), ("kept rows",)),
        Box(
            "all rows", Aggregate((("n", "count()"), ("s", "sum(x)")), TupleWindow(6, 4), ("k",)), ("s",), ("all rows",)
        ),
        Box("valued", WindowDrop(0.5, 3, 1.5, 0.5, "v", ("x",), seed="other"), ("s",), ("valued",)),
        Box("kept values", Aggregate(count, by_value, ("x",)), ("valued",), ("kept values",)),
        Box("all values", Aggregate(count, by_value, ("x",)), ("s",), ("all values",)),
    ]
    checked = checked_diagram({"s": "k string, x double, v double"}, boxes)
    return run_all(spark, tmp_path_factory.mktemp("drop"), checked, {"s": GIVEN}, 40)


def test_rates(outcome):
    sizes = {name: len(outcome.outputs[name]) for name in ("all", "none", "half", "quarter")}
    assert (sizes["all"], sizes["none"]) == (N, 0)
    assert 0.4 * N < sizes["half"] < 0.6 * N and 0.17 * N < sizes["quarter"] < 0.33 * N


def test_what_is_shed_is_counted(outcome):
    after_all = [(name, "all", name) for name in ("half", "windows", "counted", "valued")]
    for box, before, after in (*after_all, ("again", "half", "quarter")):
        assert outcome.ledger[box, "shed"] == len(outcome.outputs[before]) - len(outcome.outputs[after])
    assert ("all", "shed") not in outcome.ledger and outcome.ledger["none", "shed"] == N


def test_no_window_is_half_filled(outcome):
    full, kept = set(outcome.outputs["full"]), set(outcome.outputs["kept"])
    assert kept < full and 0.2 * len(full) < len(kept)


def test_no_window_of_rows_is_half_filled(outcome):
    """The aggregate finds out which number each row had before others went."""
    full, kept = (Counter(outcome.outputs[name]) for name in ("all rows", "kept rows"))
    assert kept < full and 0.2 * full.total() < kept.total() < 0.8 * full.total()


def test_no_window_of_values_is_half_filled(outcome):
    """But for the time at which they are closed, which rows do that are left."""
    full, kept = ({row[1:] for row in outcome.outputs[name]} for name in ("all values", "kept values"))
    # The last windows of a group are open at the end of one and closed in the other.
    assert len(kept - full) <= 2 and 0.2 * len(full) < len(kept) < 0.8 * len(full)


def test_what_has_no_number_stays(outcome):
    odd = [row for row in outcome.outputs["all"] if row[3] is None or row[3] != row[3] or row[3] == float("-inf")]
    stayed = [row for row in outcome.outputs["valued"] if row[3] is None or row[3] != row[3] or row[3] == float("-inf")]
    assert len(stayed) == len(odd) > 0
