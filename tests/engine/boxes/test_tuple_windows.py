"""Windows of a number of rows on Spark, against the reference: with groups, in the order of a field, with timeouts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Box
from auroral.model.windows import TupleWindow
from auroral.reference.rows import Row
from engine.pure_folds import arguments, assert_fold_agrees
from engine.running import checked_diagram, rows, run_all

FIELDS = "k string, i int, x double"
CALLS = (("n", "count()"), ("s", "sum(x)"), ("low", "firstval(i)"), ("high", "lastval(i)"))
WINDOWS = {
    "three": TupleWindow(3, 3),
    "overlapping": TupleWindow(5, 2),
    "one": TupleWindow(1, 1),
    "timeout": TupleWindow(4, 4, 1.5e-5),
    "overlapping timeout": TupleWindow(6, 1, 2e-5),
    "ordered": TupleWindow(3, 2, field="i"),
    "slack": TupleWindow(3, 3, field="i", slack=3),
    "all of it": TupleWindow(4, 3, 1.8e-5, "x", 2),
    "unnamed": TupleWindow(4, 3, 1.8e-5, "x", 1, named=False),
}


def random_row(random: Random, stime: int) -> tuple[Any, ...]:
    x = random.choice([stime / 4, stime / 4 + random.random(), None, float("nan"), 0.1])
    return (stime, random.choice(["a", "b", None]), random.choice([stime + random.randint(-9, 3)] * 5 + [None]), x)


def random_rows(random: Random) -> list[Row]:
    return rows(*(random_row(random, stime) for stime in sorted(random.randrange(-20, 90) for _ in range(70))))


def aggregate(name: str) -> Aggregate:
    return Aggregate(CALLS, WINDOWS[name], () if "overlapping" in name else ("k",))


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_rows_are_the_same_however_they_are_cut(name):
    late = 0
    for seed in range(12):
        random = Random(seed)
        checked = checked_diagram({"s": FIELDS}, [Box("b", aggregate(name), ("s",), ("o",))])
        field = WINDOWS[name].field
        read = arguments(checked, *([field] if field else []))
        outcome = assert_fold_agrees(checked, {"s": random_rows(random)}, -20, 120, random, read)
        assert outcome.outputs["o"], "some window was closed"
        late += outcome.ledger.get(("b", "late"), 0)
    assert bool(late) == bool(WINDOWS[name].field)


@pytest.mark.spark
def test_windows_of_rows_are_the_same_everywhere(spark, tmp_path):
    names = ("overlapping", "timeout", "all of it")
    boxes = [Box(name, aggregate(name), ("s",), (name,)) for name in names]
    boxes.append(Box("behind", Aggregate((("was", "lastval(n)"),), TupleWindow(2, 2)), ("timeout",), ("behind",)))
    checked = checked_diagram({"s": FIELDS}, boxes)
    outcome = run_all(spark, tmp_path, checked, {"s": random_rows(Random(0))}, 120, first=-20)
    assert all(outcome.outputs.values()), "each window was closed"
    assert {box for (box, reason) in outcome.ledger if reason == "late"} == {"all of it"}
