"""Windows of a number of rows (D7)."""

from typing import Any

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.windows import TupleWindow
from auroral.reference.evaluate import Result
from reference.running import rows, run_box, shown

CALLS = (("n", "count()"), ("s", "sum(v)"))


def of_rows(given: list[tuple[Any, ...]], window: TupleWindow, by: tuple[str, ...] = ("k",)) -> Result:
    return run_box(Aggregate(CALLS, window, by), "k string, v int", rows(*given), until=1000)


def test_every_so_many_rows_of_a_group_give_one_result() -> None:
    given = [(t, "ab"[t % 3 == 0], 1 << t) for t in range(9)]
    assert shown(of_rows(given, TupleWindow(3, 3))) == [(4, "a", 3, 22), (6, "b", 3, 73), (8, "a", 3, 416)]


def test_windows_may_overlap() -> None:
    given = [(t, "a", 1 << t) for t in range(7)]
    assert shown(of_rows(given, TupleWindow(3, 2), ())) == [(2, 3, 7), (4, 3, 28), (6, 3, 112)]


def test_a_window_that_times_out_has_what_came_and_the_next_row_opens_another() -> None:
    given = [(0, "a", 1), (4, "a", 2), (5, "a", 4), (6, "a", 8), (7, "a", 16)]
    result = of_rows(given, TupleWindow(3, 3, 5e-6))
    assert shown(result) == [(4, "a", 2, 3), (7, "a", 3, 28)]
    assert [row.order for row in result.streams["o0"]] == [(None, "a", 0), (4, "a", 0)]


def test_windows_that_were_opened_at_once_time_out_one_after_the_other() -> None:
    given = [(0, "a", 1), (0, "a", 2), (0, "a", 4)]
    result = of_rows(given, TupleWindow(4, 1, 5e-6), ())
    assert sorted((row.order, row.values) for row in result.streams["o0"]) == [
        ((None, 0), (3, 7)),
        ((None, 1), (2, 6)),
        ((None, 2), (1, 4)),
    ]


def test_rows_are_counted_in_the_order_of_a_field() -> None:
    window = TupleWindow(2, 2, field="v", slack=1)
    given = [(0, "a", 5), (1, "a", 3), (2, "a", 9), (3, "a", 4), (4, "a", 7), (5, "a", None), (6, "a", 8)]
    result = of_rows(given, window, ())
    # Of each two that wait the lower goes first: 3, 5, then 4 comes too late, 7, 8.
    assert shown(result) == [(2, 3, 2, 8), (6, 7, 2, 15)]
    assert result.ledger == {("b", "late"): 2}


def test_without_slack_every_row_out_of_order_is_late() -> None:
    result = of_rows([(0, "a", 5), (1, "a", 3), (2, "a", 5)], TupleWindow(2, 2, field="v", named=False), ())
    assert shown(result) == [(2, 2, 10)]
    assert result.ledger == {("b", "late"): 1}
