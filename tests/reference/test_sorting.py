"""Sorts by a buffer of rows (D5) and by time."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from auroral.model.boxes.sorting import BSort, WSort
from auroral.reference.evaluate import Result
from reference.running import rows, run_box, shown


def in_order(result: Result) -> list[tuple[Any, ...]]:
    """Stime and value of each row in processing order."""
    found = sorted(result.streams["o0"], key=lambda row: (row.stime, row.order))
    return [(row.stime, *row.values) for row in found]


def bsort(values: list[Any], slack: int, ddl: str = "v int") -> list[tuple[Any, ...]]:
    return shown(run_box(BSort(("v",), slack), ddl, rows(*enumerate(values))))


def test_each_row_pushes_the_lowest_out() -> None:
    assert bsort([5, 3, 4, 1, 9], 2) == [(2, 3), (3, 1), (4, 4)]
    assert bsort([5, 3], 0) == [(0, 5), (1, 3)]


def test_nulls_come_first_and_nan_last() -> None:
    found = bsort([math.nan, 1.0, None, -math.inf, 2.0, 3.0], 3, "v double")
    assert [value for _, value in found] == [None, -math.inf, 1.0]


@given(st.lists(st.integers(0, 50), max_size=20), st.integers(0, 4))
def test_d5_what_is_at_most_so_many_positions_out_of_order_is_sorted(values: list[int], slack: int) -> None:
    wanted = sorted(values)
    # Blocks of slack + 1, each turned round: no row is further away from its place.
    given = [v for at in range(0, len(wanted), slack + 1) for v in reversed(wanted[at : at + slack + 1])]
    found = [value for _, value in bsort(given, slack)]
    assert found == wanted[: len(found)]
    assert len(found) == max(0, len(values) - slack)


def test_groups_push_out_their_own() -> None:
    given = rows((0, "a", 2), (1, "b", 1), (2, "a", 1), (3, "b", 2))
    assert shown(run_box(BSort(("v",), 1, ("k",)), "k string, v int", given)) == [(2, "a", 1), (3, "b", 1)]


def test_a_row_goes_on_with_all_that_sort_before_it() -> None:
    given = rows((0, 5), (1, 9), (3, 2), (4, 7), (5, 6), (8, 1))
    result = run_box(WSort(("v",), 5e-6), "v int", given, until=20)
    # At 5 the time of 5 is up, and 2 goes with it; at 6 that of 9, with 6 and 7; then 1 comes too late.
    assert in_order(result) == [(4, 2), (4, 5), (5, 6), (5, 7), (5, 9)]
    assert result.ledger == {("b", "late"): 1}


def test_equal_rows_are_not_late() -> None:
    result = run_box(WSort(("v",), 5e-6), "v int", rows((0, 5), (6, 5)), until=20)
    assert in_order(result) == [(4, 5), (10, 5)] and result.ledger == {}
