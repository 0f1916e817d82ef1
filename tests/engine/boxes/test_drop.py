"""Load shedding on Spark: decided by hash, counted in the ledger, and whole windows go together."""

from __future__ import annotations

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.diagram import Box
from auroral.model.windows import StimeWindow
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

N = 400
# Every row twice: equal rows have ordinals of their own. Signs of zeros do not make rows equal.
GIVEN = rows(*((i // 5 - 20, "ab"[i % 2], [0.0, -0.0, 1.0][i % 3]) for i in range(N // 2) for _ in range(2)))


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    count = (("n", "count()"),)
    window = StimeWindow(10, 5)
    boxes = [
        Box("all", RandomDrop(0.0), ("s",), ("all",)),
        Box("none", RandomDrop(1.0), ("s",), ("none",)),
        Box("half", RandomDrop(0.5), ("s",), ("half",)),
        Box("again", RandomDrop(0.5), ("half",), ("quarter",)),
        Box("windows", WindowDrop(0.5, 2, 10, 5, group_by=("k",)), ("s",), ("windows",)),
        Box("kept", Aggregate(count, window, ("k",)), ("windows",), ("kept",)),
        Box("full", Aggregate(count, window, ("k",)), ("s",), ("full",)),
    ]
    checked = checked_diagram({"s": "k string, x double"}, boxes)
    return run_all(spark, tmp_path_factory.mktemp("drop"), checked, {"s": GIVEN}, 40)


def test_rates(outcome):
    sizes = {name: len(outcome.outputs[name]) for name in ("all", "none", "half", "quarter")}
    assert (sizes["all"], sizes["none"]) == (N, 0)
    assert 0.4 * N < sizes["half"] < 0.6 * N and 0.17 * N < sizes["quarter"] < 0.33 * N


def test_what_is_shed_is_counted(outcome):
    for box, before, after in (("half", "all", "half"), ("again", "half", "quarter"), ("windows", "all", "windows")):
        assert outcome.ledger[box, "shed"] == len(outcome.outputs[before]) - len(outcome.outputs[after])
    assert ("all", "shed") not in outcome.ledger and outcome.ledger["none", "shed"] == N


def test_no_window_is_half_filled(outcome):
    full, kept = set(outcome.outputs["full"]), set(outcome.outputs["kept"])
    assert kept < full and 0.2 * len(full) < len(kept)
