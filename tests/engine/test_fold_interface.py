"""What a fold gives does not depend on how ranges are cut; states pass through their encoding between ranges."""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.engine.fold import Arrived, Fold, Given, LeftOut, Untimed, folded
from auroral.engine.folds import FirstAlignedFold, LandmarkFold, RunsFold
from auroral.engine.statecodec import NotPlain, decoded, encoded
from auroral.model.aggregates import TypedAggregate, UserAggregate
from auroral.model.boxes.aggregate import WindowStart
from auroral.model.expression.typed import FieldRef
from auroral.model.schema import Field
from auroral.model.types import DOUBLE, LONG, STRING
from engine.timed_fold import Sessions

FUNCTIONS = ("count", "sum", "avg", "min", "stddev", "firstval", "lastval", "count_distinct")


def aggregates() -> tuple[TypedAggregate, ...]:
    x = FieldRef(DOUBLE, None, "x")
    shared = UserAggregate("u", lambda: [[]], lambda s, v: [[*s[0], v], s[0]], repr, STRING, None)
    built_in = [TypedAggregate(name, name, (x,), DOUBLE, None) for name in FUNCTIONS]
    return (*built_in, TypedAggregate("u", "u", (x,), STRING, shared))


def folds() -> dict[str, Fold]:
    functions = aggregates()
    named = WindowStart(Field("start", LONG), 1, 0)
    return {
        "sessions": Sessions(7),
        "totals": LandmarkFold("b", functions),
        "runs": RunsFold("b", functions, groups=1),
        "first": FirstAlignedFold("b", functions, size=10, advance=4, named=named),
    }


def arrived(random: Random, name: str) -> list[Arrived]:
    found = []
    for stime in sorted(random.randrange(100) for _ in range(random.randrange(20))):
        port = random.randrange(2) if name == "sessions" else 0
        x = random.choice([None, 0.1, -0.0, 1e300, math.nan, math.inf, 5e-324])
        values: tuple[Any, ...] = (random.randrange(3),) if name == "sessions" else (x,) * len(aggregates())
        found.append(Arrived(port, stime, (len(found),), (random.choice("ab"), *values) if name == "runs" else values))
    return sorted(found, key=lambda row: (row.stime, row.port, row.order))


def in_ranges(fold: Fold, rows: list[Arrived], ends: list[int]) -> tuple[list[Given], bytes | None]:
    found: list[Given] = []
    state, lo = None, 0
    for hi in ends:
        within = [row for row in rows if lo <= row.stime < hi]
        known = None if state is None else decoded(state)
        given = list(folded(fold, ("k",), known, within, hi))
        assert all(lo <= one.stime < hi for one in given)
        left = fold.state()
        found, lo, state = found + given, hi, None if left is None else encoded(left)
    return found, state


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", ["sessions", "totals", "runs", "first"])
def test_no_cut_makes_a_difference(name: str, seed: int) -> None:
    random = Random(seed)
    rows = arrived(random, name)
    whole, state = in_ranges(folds()[name], rows, [120])
    cut, after = in_ranges(folds()[name], rows, [*sorted(random.sample(range(1, 120), random.randrange(12))), 120])
    assert repr(cut) == repr(whole)
    # A pickle, which a user's own state is, need not be the same for equal ones.
    assert after == state or b"\x80\x04" in (state or b"")


def test_what_is_due_comes_before_the_row_at_that_time() -> None:
    rows = [Arrived(0, 1, (0,), (1,)), Arrived(0, 2, (1,), (2,)), Arrived(0, 9, (2,), (3,)), Arrived(1, 30, (3,), (0,))]
    found, state = in_ranges(Sessions(7), rows, [100])
    assert found == [(8, (2,), ("k", "12"), 0), LeftOut(15, "late"), LeftOut(30, "odd")]
    assert state is None


class Stuck(Untimed):
    def start(self, key: Any, state: Any) -> None: ...

    def due(self) -> int:
        return 5

    def boundary(self, stime: int) -> Any:
        return iter(())


def test_a_fold_that_stays_due_is_an_error_and_no_endless_loop() -> None:
    with pytest.raises(AssertionError, match="Stuck: still due at 5, behind the boundary 5"):
        list(folded(Stuck(), (), None, (), 10))  # type: ignore[arg-type]


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals(allow_nan=False),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
)


@given(plain)
def test_states_come_back_as_they_were(value: Any) -> None:
    assert repr(in_order(decoded(encoded(value)))) == repr(in_order(value))
    assert encoded(decoded(encoded(value))) == encoded(value)


def in_order(value: Any) -> Any:
    """With dicts in an order of their own, which encoding does not keep."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value, key=repr)}
    if isinstance(value, set):
        return sorted(value)
    return type(value)(map(in_order, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("value", [{"b", "a"}, {1: 2, 0: 3}, 2**1074 * 3, -(2**64), Decimal("1.10"), -0.0, "\ud800"])
def test_sets_and_large_numbers(value: Any) -> None:
    again = decoded(encoded(value))
    assert again == value and type(again) is type(value) and str(in_order(again)) == str(in_order(value))


def test_equal_values_have_equal_bytes_whatever_way_they_came_about() -> None:
    assert encoded({"a": 1, "b": 2}) == encoded({"b": 2, "a": 1})
    assert encoded(set("abc")) == encoded(set("cba"))
    assert encoded(("".join(["x", "y"]), "xy")) == encoded(("xy", "xy"))
    assert encoded(math.nan) == encoded(-math.nan)
    assert encoded(1) != encoded(True) != encoded(1.0)
    assert len(encoded(2**1074)) < 10


def test_what_is_not_plain_is_refused_by_name() -> None:
    with pytest.raises(NotPlain, match="a fold's state has a Random in it; allowed: None, bool, int"):
        encoded([Random(1)])
