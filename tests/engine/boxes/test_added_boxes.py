"""joinstatic, combine and lrwaitfor on Spark, against the reference, and their folds however ranges are cut."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.join import ALL, Join, JoinBuffer
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.checking import Checked
from auroral.model.diagram import Box
from auroral.model.windows import Runs
from auroral.reference.names import Reading
from auroral.reference.rows import Row
from engine.pure_folds import Behind, Read, assert_fold_agrees
from engine.running import checked_diagram, rows, run_all

FIELDS = "k string, x double, n int"
BOXES: dict[str, BoxSpec] = {
    "joinstatic": Join(
        "left.k = right.k", JoinBuffer(0, tuples=True), ALL, (("k", "left.k"), ("n", "right.n")), looks=(True, False)
    ),
    "combine": Combine("x", (("k", "s.k"), ("gap", "t.stime - s.stime"), ("n", "s.n + t.n"))),
    "lrwaitfor": LRWaitFor("n", ("k",), 10),
    "lrwaitfor data": LRWaitFor("x", (), None, True),
}


def random_rows(random: Random) -> list[Row]:
    def one(stime: int) -> tuple[Any, ...]:
        x = random.choice([0.0, -0.0, stime / 8, 1.5, float("nan"), None])
        return (stime, random.choice(["a", "b", None]), x, random.choice([stime - 8, stime + 8, None]))

    return rows(*(one(stime) for stime in sorted(random.randrange(-10, 70) for _ in range(40))))


def diagram(*names: str, after: bool = False) -> Checked:
    boxes = [Box("b" if len(names) == 1 else name, BOXES[name], ("s", "t"), (name,)) for name in names]
    if after:
        # What reads results in their order sees the order key.
        runs = Aggregate((("rows", "count()"),), Runs(), ("k",))
        boxes += [Box(f"after {name}", runs, (name,), (f"after {name}",)) for name in names]
    return checked_diagram({"s": FIELDS, "t": FIELDS}, boxes)


def read(checked: Checked) -> Read:
    typed: Any = checked.boxes[0].typed
    names = checked.streams["s"].schema.names

    def values(port: int, row: Row) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        known = dict(zip(names, row.values, strict=True))
        if isinstance(checked.boxes[0].box.spec, Combine):
            return (0.0 if known["x"] == 0 else known["x"],), row.values
        return tuple(known[n] for n in typed.group_by), (known[typed.key], *(row.values if port == 0 else ()))

    return values


def computed(checked: Checked) -> Behind:
    """What SQL does behind the fold of a combine."""
    typed: Any = checked.boxes[0].typed
    if not isinstance(checked.boxes[0].box.spec, Combine):
        return lambda row: row
    reading = Reading([checked.streams[s] for s in ("s", "t")], typed.names)

    def together(given: Row) -> Row:
        # Each input has stime, a source's sequence number, and three fields.
        both = [Row(v[0], v[2:], v[1:2]) for v in (given.values[:5], given.values[5:])]
        values = tuple(reading.value(expression, *both) for _, expression in typed.columns)
        return Row(given.stime, values, (*both[0].order, *both[1].order))

    return together


@pytest.mark.parametrize("name", ["combine", "lrwaitfor", "lrwaitfor data"])
def test_folds_are_the_same_however_ranges_are_cut(name):
    for seed in range(12):
        random, checked = Random(seed), diagram(name)
        sources = {"s": random_rows(random), "t": random_rows(random)}
        outcome = assert_fold_agrees(checked, sources, -10, 90, random, read(checked), computed(checked))
        assert outcome.outputs[name]


@pytest.mark.spark
def test_all_of_them_are_the_same_everywhere(spark, tmp_path):
    random = Random(3)
    sources = {"s": random_rows(random), "t": random_rows(random)}
    checked = diagram("joinstatic", "combine", "lrwaitfor", after=True)
    outcome = run_all(spark, tmp_path, checked, sources, 90, first=-10)
    assert all(outcome.outputs.values())
