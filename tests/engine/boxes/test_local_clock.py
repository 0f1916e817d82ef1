"""Timeouts by a clock that is an input, on Spark and in the reference."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.local_clock import AT, CLOCK_SCHEMA, OnLocalClock
from auroral.model.boxes.sorting import WSort
from auroral.model.diagram import Box, Stamp
from auroral.model.windows import Alignment, FieldWindow, TupleWindow
from auroral.reference.rows import Row
from engine.evaluators import by_reference
from engine.pure_folds import assert_fold_agrees
from engine.running import checked_diagram, rows, run_all

FIELDS = "k string, i int, x double"
CALLS = (("n", "count()"), ("s", "sum(x)"), ("low", "firstval(i)"))
BOXES = {
    "rows": Aggregate(CALLS, TupleWindow(4, 2, 3e-5), ("k",)),
    "all rows": Aggregate(CALLS, TupleWindow(9, 9, 1e-5)),
    "ordered": Aggregate(CALLS, TupleWindow(3, 3, 2e-5, "i", 2), ("k",), start="from"),
    "values": Aggregate(CALLS, FieldWindow("x", 2.5, 1.25, Alignment.INDEPENDENT, 1, 4e-5, by_values=True), ("k",)),
    "sorted": WSort(("i", "x"), 2e-5, ("k",)),
}
"""Timeouts are of some microseconds, as stimes here are."""


def clock_rows(random: Random) -> list[Row]:
    """It goes faster and slower than stime, stands still, and is set back once; some of its rows have the same stime."""
    clock, told = 10_000, []
    for stime in sorted(random.randrange(-20, 110) for _ in range(50)):
        clock += random.choice([0, 1, 2, 3, 15])
        told.append((stime, stime, random.choice([clock] * 9 + [clock - 30, None])))
    return rows(*told)


def random_rows(random: Random) -> list[Row]:
    stimes = sorted(random.randrange(-20, 90) for _ in range(70))
    keys, numbers = ["a", "b", None], [0.5, 1.0, None, float("nan")]
    return rows(
        *((t, random.choice(keys), t + random.randint(-9, 3), random.choice([t / 4, *numbers])) for t in stimes)
    )


def diagram(*names: str) -> Any:
    # One alone is called as tests of folds without Spark call it.
    boxes = [
        Box("b" if len(names) == 1 else name, OnLocalClock(BOXES[name]), ("s", "clock"), (name,)) for name in names
    ]
    return checked_diagram({"s": FIELDS, "clock": str(CLOCK_SCHEMA)}, boxes, stamps={"clock": Stamp(AT)})


def read(name: str) -> Any:
    """What the fold is handed: of the clock how it stands, of other rows group, order field and arguments."""
    spec = BOXES[name]
    field = getattr(spec.window, "field", None) if isinstance(spec, Aggregate) else None

    def of(port: int, row: Row) -> Any:
        k, i, x = row.values if port == 0 else (None, None, None)
        if port == 1:
            return (), (row.values[1],)
        handed = (k, i, x) if isinstance(spec, WSort) else (*({"i": (i,), "x": (x,)}.get(field, ())), x, i)
        return (), (*((k,) if spec.group_by else ()), *handed)

    return of


@pytest.mark.parametrize("name", BOXES)
def test_the_same_however_it_is_cut(name: str) -> None:
    for seed in range(12):
        random = Random(seed)
        sources = {"s": random_rows(random), "clock": clock_rows(random)}
        outcome = assert_fold_agrees(diagram(name), sources, -20, 120, random, read(name))
        assert outcome.outputs[name], "something was given"


@pytest.mark.spark
def test_the_same_everywhere(spark, tmp_path):
    random = Random(3)
    names = ("rows", "ordered", "values", "sorted")
    sources = {"s": random_rows(random), "clock": clock_rows(random)}
    outcome = run_all(spark, tmp_path, diagram(*names), sources, 120, first=-20)
    assert all(outcome.outputs[name] for name in names)


def test_it_is_the_clock_that_closes_and_the_inputs_that_say_when():
    """What stimes rows have makes no difference to a timeout, only to when its result is; a clock that is set back stands still."""
    given = rows((0, "a", 1, 1.0), (500, "a", 2, 2.0), (501, "b", 3, 4.0))
    clock = rows((100, 100, 7_000), (510, 510, 7_009), (520, 520, 6_000), (530, 530, 7_010), (540, 540, 7_025))
    found = by_reference(diagram("all rows"), {"s": given, "clock": clock}, 600).outputs["all rows"]
    # Opened when the clock had not said anything yet, which counts as its first word; so all rows are in time.
    assert found == [(530, 3, 7.0, 1)]
