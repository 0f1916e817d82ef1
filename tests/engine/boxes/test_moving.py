"""Sorts, waitfor, resample and xsection on Spark, against the reference, and their folds however ranges are cut."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from auroral.engine.fold import Arrived, Result, folded
from auroral.engine.sort_folds import WSortFold
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.checking import Checked
from auroral.model.diagram import Box
from auroral.model.schema import schema
from auroral.model.windows import Runs
from auroral.reference.names import Reading
from auroral.reference.rows import Row
from engine.pure_folds import Read, assert_fold_agrees
from engine.running import checked_diagram, rows, run_all

FIELDS = "k string, i int, x double, d decimal(6,2), e timestamp"
SECTION = (("n", "count(x)"), ("s", "sum(x)"), ("first", "firstval(i)"))

BOXES: dict[str, BoxSpec] = {
    "bsort": BSort(("i",), 3, ("k",)),
    "bsort of two": BSort(("x", "d"), 2),
    "wsort": WSort(("e",), 1e-5),
    "wsort of groups": WSort(("x", "i"), 7e-6, ("x",)),
    "waitfor": WaitFor("buffered.k = enabler.k", 9e-6),
    "waitfor less": WaitFor("buffered.i <= enabler.i and enabler.x > 1.0", 2.5e-5),
    "resample": Resample((("at x", "x"), ("at d", "d"), ("at i", "i")), 8, ("k",)),
    "resample all": Resample((("at x", "x"),), 0),
    "xsection": XSection(SECTION, ("x",), 12),
    "xsection of two": XSection(SECTION, ("k", "d")),
}


def two(name: str) -> bool:
    return name.startswith(("waitfor", "resample"))


def random_rows(random: Random) -> list[Row]:
    def one(stime: int) -> tuple[Any, ...]:
        x = random.choice([0.0, -0.0, stime / 8, float("nan"), float("-inf"), None])
        d = random.choice([None, Decimal("1.25"), Decimal(stime).scaleb(-1).quantize(Decimal("0.01"))])
        return (
            stime,
            random.choice(["a", "b", None]),
            random.choice([stime - 5, stime, None, 3]),
            x,
            d,
            7 * stime % 40,
        )

    return rows(*(one(stime) for stime in sorted(random.randrange(-10, 70) for _ in range(45))))


def diagram(*names: str, **more: Box) -> Checked:
    boxes = [
        Box("b" if len(names) == 1 else name, BOXES[name], ("s", "t") if two(name) else ("s",), (name,))
        for name in names
    ]
    return checked_diagram({"s": FIELDS, "t": FIELDS}, [*boxes, *more.values()])


def read(checked: Checked) -> Read:
    """What a fold is handed: groups, and whole rows or what the box names."""
    (box,) = checked.boxes
    typed: Any = box.typed
    names = checked.streams["s"].schema.names
    reading = Reading([checked.streams["s"]])

    def values(port: int, row: Row) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        known = dict(zip(names, row.values, strict=True))
        if isinstance(box.box.spec, XSection):
            across = tuple(known[n] for n in typed.across)
            return (), (*across, *(reading.value(arg, row) for f in typed.functions for arg in f.args))
        key = tuple(0.0 if known[n] == 0 and n == "x" else known[n] for n in typed.group_by)
        return key, row.values if port == 0 else tuple(known[n] for n in typed.fields)

    return values


@pytest.mark.parametrize("name", [name for name in BOXES if not name.startswith("waitfor")])
def test_folds_are_the_same_however_ranges_are_cut(name):
    for seed in range(12):
        random, checked = Random(seed), diagram(name)
        sources = {"s": random_rows(random), "t": random_rows(random)}
        outcome = assert_fold_agrees(checked, sources, -10, 90, random, read(checked))
        assert outcome.outputs[name]
        assert name != "wsort" or outcome.ledger["b", "late"]


def test_a_row_that_waits_costs_the_same_among_many():
    """No row looks at all that wait: how often it is asked when one came does not grow with their number."""
    asked = 0

    class Came(int):
        def __add__(self, other: int) -> int:
            nonlocal asked
            asked += 1
            return int(self) + other

    count = 500
    # The first half waits until the second is there: then one is over with each row that comes.
    given = [Arrived(0, Came(n), (n,), (n ^ 5,)) for n in range(count)]
    found = list(folded(WSortFold((0,), count // 2), (), None, given, count))
    assert sum(isinstance(one, Result) for one in found) >= count // 2
    assert asked < 10 * count


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(2))
def test_all_of_them_are_the_same_everywhere(spark, tmp_path, seed):
    names = [name for number, name in enumerate(BOXES) if number % 2 == seed]
    # What reads results in their order sees the order key.
    runs = {
        name: Box(f"after {name}", Aggregate((("n", "count()"),), Runs(), ("k",)), (name,), (f"after {name}",))
        for name in names[:3]
    }
    random = Random(seed)
    sources = {"s": random_rows(random), "t": random_rows(random)}
    outcome = run_all(spark, tmp_path, diagram(*names, **runs), sources, 90, first=-10)
    assert all(outcome.outputs.values())


@pytest.mark.spark
def test_rows_that_nothing_tells_apart_wait_each_for_itself(spark, tmp_path):
    """What an apply gives is ordered by its columns: rows that are equal in all of them have one order key."""
    boxes = [
        Box("same", Apply(lambda frame: frame, schema("k int"), cut_free=True), ("s",), ("twins",)),
        Box("wait", WaitFor("buffered.k = enabler.k", 9e-6), ("twins", "t"), ("o",)),
    ]
    checked = checked_diagram({"s": "k int", "t": "k int"}, boxes, ["o"])
    sources = {"s": rows((1, 7), (1, 7), (2, 8)), "t": rows((4, 7), (5, 7), (18, 8))}
    functions = {"same": lambda given: [(row.stime, row.values) for row in given]}
    outcome = run_all(spark, tmp_path, checked, sources, 20, functions, first=0)
    assert outcome.outputs["o"] == [(4, 7), (4, 7)]
