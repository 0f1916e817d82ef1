"""Windows of values of a field (D6, D8)."""

import math
from typing import Any

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.windows import Alignment, FieldWindow
from auroral.reference.evaluate import Result
from reference.running import rows, run_box, shown

COUNT = (("n", "count()"),)


def temperatures(**options: Any) -> Result:
    """The thesis' readings (minutes after 1:00, degrees), in windows of ten minutes; stimes have nothing to do with them."""
    given = [(16, 68), (21, 69), (25, 70), (29, 68), (35, 67), (41, 67)]
    spec = Aggregate((("mean", "avg(v)"),), FieldWindow("at", 10, 10, **options))
    return run_box(spec, "at int, v int", rows(*((1000 + n, at, v) for n, (at, v) in enumerate(given))))


def test_both_alignments_of_the_thesis() -> None:
    assert shown(temperatures()) == [(1003, 16, 69.0), (1005, 26, 67.5)]
    aligned = temperatures(alignment=Alignment.INDEPENDENT)
    assert shown(aligned) == [(1001, 10, 68.0), (1004, 20, 69.0), (1005, 30, 67.0)]
    assert aligned.ledger == {}


def of_values(values: list[Any], ddl: str = "v int", **options: Any) -> Result:
    window = FieldWindow("v", 10, 10, Alignment.INDEPENDENT, **options)
    return run_box(Aggregate(COUNT, window), ddl, rows(*((n, v) for n, v in enumerate(values))))


@pytest.mark.parametrize(
    ("slack", "results", "late"),
    [(0, [(1, 0, 1), (3, 10, 1), (5, 20, 1)], 2), (1, [(3, 0, 2), (5, 10, 1)], 1), (2, [(5, 0, 3)], 0)],
)
def test_slack_is_how_many_more_rows_past_the_end_are_waited_for(
    slack: int, results: list[tuple[int, ...]], late: int
) -> None:
    """D8: 7 and 8 count in [0, 10) while it waits, and are dropped afterwards."""
    result = of_values([4, 11, 7, 25, 8, 33], slack=slack)
    assert shown(result) == results
    assert result.ledger.get(("b", "late"), 0) == late


def test_a_row_that_is_late_for_some_of_its_windows_counts_in_the_others() -> None:
    window = FieldWindow("v", 10, 5, Alignment.INDEPENDENT)
    result = run_box(Aggregate(COUNT, window), "v int", rows((0, 1), (1, 11), (2, 7), (3, 40)))
    # 7 is too late for [0, 10), and in time for [5, 15).
    assert shown(result) == [(1, -5, 1), (1, 0, 1), (3, 5, 2), (3, 10, 1)]
    assert result.ledger == {}


def test_rows_without_a_number_have_no_place() -> None:
    result = of_values([1.0, None, math.nan, math.inf, -math.inf, 12.0], "v double")
    assert shown(result) == [(5, 0.0, 1)]
    assert result.ledger == {("b", "late"): 4}


def test_rows_before_the_first_have_no_window_when_it_aligns_them() -> None:
    window = FieldWindow("v", 10, 10, Alignment.FIRST, slack=5)
    result = run_box(Aggregate(COUNT, window), "v int", rows((0, 7), (1, 6), (2, 8)))
    assert result.ledger == {("b", "late"): 1}


def test_each_group_goes_by_its_own_rows() -> None:
    window = FieldWindow("v", 10, 10, Alignment.INDEPENDENT)
    given = rows((0, "a", 1), (1, "b", 100), (2, "a", 2), (3, "a", 10), (4, "b", 95))
    result = run_box(Aggregate(COUNT, window, ("k",)), "k string, v int", given)
    assert shown(result) == [(3, "a", 0, 2)]
    assert result.ledger == {("b", "late"): 1}


def test_a_timeout_is_in_stime_and_closes_what_began_before_too() -> None:
    window = FieldWindow("v", 10, 10, Alignment.INDEPENDENT, slack=9, timeout=5e-6)
    given = rows((0, 15), (1, 7), (4, 16), (5, 17), (7, 8), (9, 33))
    result = run_box(Aggregate(COUNT, window), "v int", given, until=14)
    # The time of [10, 20) is up before the row at 5, and [0, 10), before it, goes with it.
    assert shown(result) == [(4, 0, 1), (4, 10, 2), (13, 30, 1)]
    assert result.ledger == {("b", "late"): 2}


def test_results_have_no_start_in_order_of_arrival() -> None:
    window = FieldWindow("v", 10, 10, named=False, by_values=True)
    result = run_box(Aggregate(COUNT, window), "v int", rows((0, 5), (1, 14), (2, 15)))
    assert shown(result) == [(2, 2)]


def test_starts_between_whole_numbers_are_rounded_down() -> None:
    window = FieldWindow("v", 2.5, 2.5, Alignment.INDEPENDENT)
    result = run_box(Aggregate(COUNT, window), "v int", rows((0, -1), (1, 0), (2, 4), (3, 8)))
    assert shown(result) == [(1, -3, 1), (2, 0, 1), (3, 2, 1)]
