"""Windows of values of a field on Spark, against the reference: both alignments, slack, timeouts, late rows, all kinds of fields."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Box, Stamp
from auroral.model.windows import Alignment, FieldWindow
from auroral.reference.rows import Row
from engine.pure_folds import arguments, assert_fold_agrees
from engine.running import checked_diagram, rows, run_all

FIELDS = "k string, i int, x double, d decimal(6,2), e timestamp, f single, h byte"
CALLS = (("n", "count()"), ("s", "sum(i)"), ("last", "lastval(x)"))


def window(*args: Any, **options: Any) -> FieldWindow:
    return FieldWindow(*args, by_values=True, **options)


def random_row(random: Random, stime: int) -> tuple[Any, ...]:
    near = stime + random.randint(-12, 6)
    return (
        stime,
        random.choice(["a", "b", None]),
        random.choice([near, near, near, None]),
        random.choice([near / 8, near / 8, float("nan"), float("inf"), -0.0, 1e300]),
        random.choice([None, Decimal(near).scaleb(-1).quantize(Decimal("0.01"))]),
        near * 1_000,
        random.choice([0.1 * near, None]),
        max(-128, min(127, near)),
    )


WINDOWS = {
    "plain": window("i", 10, 5, Alignment.INDEPENDENT),
    "slack": window("i", 10, 5, Alignment.INDEPENDENT, slack=2),
    "first": window("i", 10, 4, Alignment.FIRST, slack=1),
    "halves": window("i", 2.5, 1.25, Alignment.INDEPENDENT),
    "tenths": window("x", 0.3, 0.1, Alignment.INDEPENDENT, slack=1),
    "double first": window("x", 0.7, 0.7, Alignment.FIRST, timeout=2e-5),
    "decimal": window("d", 0.255, 0.125, Alignment.INDEPENDENT),
    "decimal first": window("d", 1.005, 1.005, Alignment.FIRST, slack=1),
    "seconds": window("e", 0.01, 0.005, Alignment.INDEPENDENT, slack=1, timeout=1.5e-5),
    "single": window("f", 1, 0.5, Alignment.INDEPENDENT, timeout=3e-5),
    "byte": window("h", 20, 7, Alignment.INDEPENDENT, slack=3, timeout=1.2e-5),
    "in order of arrival": window("i", 6, 6, Alignment.FIRST, named=False, timeout=4e-5),
    "short": window("i", 10, 10, Alignment.INDEPENDENT, timeout=1e-6),
}


def random_rows(random: Random) -> list[Row]:
    return rows(*(random_row(random, stime) for stime in sorted(random.randrange(-30, 90) for _ in range(60))))


def aggregate(name: str) -> Aggregate:
    by = () if name in ("first", "decimal") else ("x",) if name == "byte" else ("k",)
    return Aggregate(CALLS[:2] if "x" in by else CALLS, WINDOWS[name], by)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_values_are_the_same_however_they_are_cut(name):
    late = 0
    for seed in range(12):
        random = Random(seed)
        checked = checked_diagram({"s": FIELDS}, [Box("b", aggregate(name), ("s",), ("o",))])
        read = arguments(checked, WINDOWS[name].field)
        outcome = assert_fold_agrees(checked, {"s": random_rows(random)}, -30, 120, random, read)
        assert outcome.outputs["o"], "some window was closed"
        late += outcome.ledger.get(("b", "late"), 0)
    assert late


@pytest.mark.spark
def test_windows_of_values_are_the_same_everywhere(spark, tmp_path):
    names = ("tenths", "decimal first", "seconds", "byte")
    boxes = [Box(name, aggregate(name), ("s",), (name,)) for name in names]
    # What reads results of a fold in their order sees the order key.
    behind = Aggregate((("was", "lastval(n)"),), window("n", 1, 1))
    boxes.append(Box("behind", behind, ("seconds",), ("behind",)))
    checked = checked_diagram({"s": FIELDS}, boxes)
    outcome = run_all(spark, tmp_path, checked, {"s": random_rows(Random(0))}, 120, first=-30)
    assert all(outcome.outputs.values()), "each window was closed"
    assert {box for (box, reason) in outcome.ledger if reason == "late"} >= {"tenths", "seconds"}


@pytest.mark.spark
def test_a_timeout_on_the_field_of_the_stime_and_windows_that_are_no_whole_number(spark, tmp_path):
    given = rows(*((t * 10, t) for t in (0, 1, 2, 3, 7, 8, 20)))
    boxes = [
        Box("early", Aggregate(CALLS[:1], FieldWindow("t", 4, 4, Alignment.INDEPENDENT, timeout=2e-5)), ("s",), ("e",)),
        Box("first", Aggregate(CALLS[:1], FieldWindow("t", 4, 4, timeout=2e-5)), ("s",), ("f",)),
        Box("parts", Aggregate(CALLS[:1], FieldWindow("t", 2.5, 2.5, Alignment.INDEPENDENT)), ("s",), ("p",)),
        Box("first parts", Aggregate(CALLS[:1], FieldWindow("t", 2.5, 2.5)), ("s",), ("q",)),
    ]
    checked = checked_diagram({"s": "t int"}, boxes, stamps={"s": Stamp("t", 10)})
    outcome = run_all(spark, tmp_path, checked, {"s": given}, 250)
    # The window of 0 has 0 and 10 before 20, and is not opened again; that of 4 begins with 70.
    assert outcome.outputs["e"] == [(19, 0, 2), (80, 4, 1), (99, 8, 1), (219, 20, 1)]
    assert outcome.ledger == {("early", "late"): 2, ("first", "late"): 2}
    assert outcome.outputs["p"] == [(24, 0, 3), (49, 2, 1), (74, 5, 1), (99, 7, 1), (224, 20, 1)]
    assert outcome.outputs["q"] == [(30, 0, 3), (70, 2, 1), (80, 5, 1), (200, 7, 1)]
