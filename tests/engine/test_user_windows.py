"""Windows with user aggregates, as the scan in a worker computes them: the same as the plain definition, and not slowly."""

from __future__ import annotations

import time
from itertools import pairwise
from random import Random

import pytest

from auroral.engine.user_windows import UserEventWindows, UserWindows
from auroral.model.aggregates import TypedAggregate, UserAggregate, aggregate_function
from auroral.model.boxes.aggregate import Aggregate, TypedEventTimeAggregate, TypedStimeAggregate
from auroral.model.boxes.base import BoxClass
from auroral.model.diagram import Box
from auroral.model.expression.typed import FieldRef
from auroral.model.types import LONG, STRING
from auroral.model.windows import EventTimeWindow, LatePolicy
from engine.evaluators import by_reference
from engine.running import checked_diagram, rows


def told(combine=lambda a, b: a + b):
    user = UserAggregate("told", tuple, lambda s, v: (*s, v), repr, STRING, combine)
    return (TypedAggregate("u", "told", (FieldRef(LONG, None, "v"),), STRING, user),)


def stime_windows(size, advance, phase=0, functions=None, in_parts=True):
    typed = TypedStimeAggregate(
        outputs=(), box_class=BoxClass.WINDOW, functions=(), group_by=(), size=size, advance=advance, phase=phase
    )
    return UserWindows("w", functions or told(), 0, False, typed=typed, in_parts=in_parts)


def scanned(windows, given, lo, hi):
    windows.start((), lo, hi)
    for values in given:
        windows.row(values)
    return list(windows.end())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("in_parts", [True, False])
def test_every_window_with_rows_and_no_other(seed, in_parts):
    random = Random(seed)
    size = random.randint(1, 30)
    advance, phase = random.randint(1, size), random.randint(-5, 5)
    lo, hi = random.randint(-50, 50), 120
    given = sorted((random.choice([random.randint(-60, 119), 40]), n) for n in range(random.randint(0, 25)))
    expected = []
    for number in range(-300, 300):
        begin = number * advance + phase
        inside = tuple(v for stime, v in given if begin <= stime < begin + size)
        if inside and lo < begin + size <= hi:
            expected.append((begin + size - 1, repr(inside)))
    assert scanned(stime_windows(size, advance, phase, in_parts=in_parts), given, lo, hi) == expected


def test_a_combine_that_keeps_and_changes_its_arguments():
    def incr(state, value):
        state.append(value)
        return state

    def combine(earlier, later):
        if not earlier:
            return later
        earlier.extend(later)
        return earlier

    user = UserAggregate("mine", list, incr, len, LONG, combine)
    functions = (TypedAggregate("n", "mine", (FieldRef(LONG, None, "v"),), LONG, user),)
    fold = stime_windows(4, 1, functions=functions)
    assert [n for _, n in scanned(fold, [(i, i) for i in range(8)], 0, 8)] == [1, 2, 3, 4, 4, 4, 4, 4]


def test_an_error_in_combine_names_the_aggregate():
    def combine(a, b):
        raise ValueError("never")

    with pytest.raises(RuntimeError, match="box 'w': aggregate 'told', combining failed: ValueError: never"):
        scanned(stime_windows(4, 2, functions=told(combine)), [(1, 1), (3, 1)], 0, 10)


@pytest.mark.parametrize("in_parts", [True, False])
def test_many_windows_and_rows_take_linear_time(in_parts):
    """Windows times rows would be 400 million steps here."""
    rows = [(i * 10, i) for i in range(20_000)]
    begun = time.process_time()
    assert len(scanned(stime_windows(20, 10, in_parts=in_parts), rows, 0, 200_000)) == 20_000
    assert time.process_time() - begun < 5


def test_empty_windows_cost_nothing():
    rows = [(0, 1), (10**12, 2)]
    assert [at for at, _ in scanned(stime_windows(2, 1), rows, 0, 10**12 + 2)] == [0, 1, 10**12, 10**12 + 1]


@pytest.mark.parametrize("seed", range(20))
def test_event_time_does_not_depend_on_cuts(seed):
    """A row is (stime, event time, value). Each range sees the rows of its horizon again."""
    random = Random(seed)
    size, lateness, ahead, correct_for = (random.randint(1, 20) for _ in range(4))
    late = random.choice([LatePolicy.LEDGER, LatePolicy.CORRECT])
    correct_for = correct_for if late is LatePolicy.CORRECT else 0
    window = EventTimeWindow("e", size, random.randint(1, size), lateness, late, ahead, correct_for)
    stimes = sorted(random.randint(0, 99) for _ in range(30))
    rows = [(s, s - random.randint(-ahead, 40), n) for n, s in enumerate(stimes)]
    past = size + lateness + ahead + correct_for

    def over(lo, hi):
        fold = UserEventWindows("w", told(), 0, False, window=window)
        return scanned(fold, [row for row in rows if lo - past <= row[0] < hi], lo, hi)

    whole = over(-100, 200)
    assert whole
    cuts = [-100, *sorted({random.randint(0, 120) for _ in range(4)}), 200]
    in_parts = [row for lo, hi in pairwise(cuts) for row in over(lo, hi)]
    assert sorted(in_parts) == sorted(whole)


@pytest.mark.parametrize("seed", range(30))
def test_event_time_is_what_the_reference_gives(seed):
    """Without Spark: what it hands to the scan is the rows of a group that are not ahead, in processing order."""
    random = Random(seed)
    aggregate_function("w_told", init=list, incr=lambda s, v: [*s, v], final=repr, returns="string")
    size, lateness, ahead = (random.randint(1, 20) for _ in range(3))
    late = random.choice([LatePolicy.LEDGER, LatePolicy.CORRECT])
    correct_for = random.randint(1, 20) if late is LatePolicy.CORRECT else 0
    window = EventTimeWindow("e", size, random.randint(1, size), lateness, late, ahead, correct_for)
    box = Box("w", Aggregate((("u", "w_told(v)"),), window, (), "start"), ("s",), ("w",))
    checked = checked_diagram({"s": "e timestamp, v int"}, [box])
    stimes = sorted(random.randint(0, 99) for _ in range(30))
    given = rows(*((s, s - random.randint(-2 * ahead, 40), n) for n, s in enumerate(stimes)))
    typed = checked.boxes[0].typed
    assert isinstance(typed, TypedEventTimeAggregate)
    fold = UserEventWindows("w", typed.functions, 0, False, window=window, named=typed.start)
    handed = [(row.stime, *row.values) for row in given if row.values[0] <= row.stime + ahead]
    expected = by_reference(checked, {"s": given}, 200).outputs["w"]
    assert sorted(scanned(fold, handed, 0, 200)) == sorted(expected)
