"""Cross-sections."""

from auroral.model.boxes.xsection import XSection
from reference.running import rows, run_box, shown

GIVEN = rows((0, "a", 1), (1, "b", 10), (2, "a", 5), (9, "c", 100))
CALLS = (("n", "count()"), ("s", "sum(v)"), ("first", "firstval(v)"))


def test_every_row_gives_the_newest_of_each() -> None:
    result = run_box(XSection(CALLS, ("k",)), "k string, v int", GIVEN)
    assert shown(result) == [(0, 1, 1, 1), (1, 2, 11, 1), (2, 2, 15, 10), (9, 3, 115, 10)]


def test_rows_that_are_too_old_are_left_out() -> None:
    result = run_box(XSection(CALLS, ("k",), within=7), "k string, v int", GIVEN)
    assert shown(result)[-1] == (9, 2, 105, 5)
