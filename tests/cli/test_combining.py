"""`auroral check --determinism`: a `combine` that does not give what `incr` gives is found without Spark."""

from __future__ import annotations

import pytest

from auroral.commands.combining import TRIALS, combine_differences
from auroral.model.aggregates import aggregate_function
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.checking import check
from auroral.model.diagram import Box, Diagram, Input, Output, Query
from auroral.model.errors import AuroralError
from auroral.model.schema import schema
from auroral.model.windows import StimeWindow


def checked(call: str):
    boxes = (Box("mine", Aggregate((("u", call),), StimeWindow(20, 10)), ("s",), ("o",)),)
    fields = schema("v double, k string, n int")
    return check(Diagram("d", (Input("s", fields),), (Output("o"),), (Query("q", boxes),), bucket=10))


def in_place(state: list, value: object) -> list:
    state.append(value)
    return state


def test_a_right_combine_passes() -> None:
    aggregate_function("c_right", init=list, incr=in_place, final=len, returns="long", combine=lambda a, b: a + b)
    assert combine_differences(checked("c_right(v)"), 1) == (TRIALS, [])


def test_states_changed_in_place_are_fine() -> None:
    def combine(a: list, b: list) -> list:
        if not a:
            return b
        a.extend(b)
        return a

    aggregate_function("c_in_place", init=list, incr=in_place, final=repr, returns="string", combine=combine)
    assert combine_differences(checked("c_in_place(k)"), 1)[1] == []


@pytest.mark.parametrize(
    ("name", "combine"),
    [
        ("c_swapped", lambda a, b: b + a),
        ("c_last", lambda a, b: b),
        ("c_first", lambda a, b: a or b),
    ],
)
def test_a_wrong_combine_is_named_with_values(name, combine) -> None:
    aggregate_function(name, init=list, incr=in_place, final=repr, returns="string", combine=combine)
    (problem,) = combine_differences(checked(f"{name}(n)"), 1)[1]
    assert f"box 'mine': combine of aggregate '{name}' gives" in problem.what
    assert "where incr over all rows gives" in problem.what and " + " in problem.what
    assert "leave it out" in str(problem.next_step)


def test_rounding_is_a_difference() -> None:
    def add(a: float, b: float | None) -> float:
        return a + (b or 0.0)

    aggregate_function("c_float", init=float, incr=add, final=lambda s: s, returns="double", combine=add)
    assert combine_differences(checked("c_float(v)"), 1)[1]


def test_functions_that_throw_are_named() -> None:
    aggregate_function("c_throws", init=int, incr=lambda s, v: s + v, final=int, returns="long", combine=int.__add__)
    with pytest.raises(AuroralError, match="trying out aggregate 'c_throws' of box 'mine' stops with TypeError"):
        combine_differences(checked("c_throws(n)"), 1)


def test_aggregates_without_combine_are_not_tried() -> None:
    aggregate_function("c_none", init=list, incr=in_place, final=len, returns="long")
    assert combine_differences(checked("c_none(v)"), 1) == (0, [])
