"""Joins with what buffers hold."""

from typing import Any

import pytest

from auroral.model.boxes.join import Join, JoinBuffer
from auroral.model.diagram import Box
from reference.running import rows, run

COLUMNS = (("l", "left.v"), ("r", "right.v"))


def joined(left: list[Any], right: list[Any], spec: Join) -> list[tuple[Any, ...]]:
    """Of (stime, v) rows: stime and values of each pair, in processing order."""
    inputs = {"l": ("v int", rows(*left)), "r": ("v int", rows(*right))}
    result = run(inputs, [Box("j", spec, ("l", "r"), ("o",))], ["o"], 1000)
    found = sorted(result.streams["o"], key=lambda row: (row.stime, row.order))
    return [(row.stime, *row.values) for row in found]


def buffers(left: JoinBuffer, right: JoinBuffer, **options: Any) -> Join:
    return Join("true", left, right, COLUMNS, **options)


def test_a_buffer_has_the_last_rows_of_its_side() -> None:
    spec = buffers(JoinBuffer(2, tuples=True), JoinBuffer(1, tuples=True))
    # 4 meets the last two of the left side; 9 meets the last of the right side.
    assert joined([(0, 1), (1, 2), (2, 3), (6, 9)], [(3, 4), (4, 5)], spec) == [
        (3, 2, 4),
        (3, 3, 4),
        (4, 2, 5),
        (4, 3, 5),
        (6, 9, 5),
    ]


def test_a_buffer_of_values_goes_by_the_largest_of_its_own_side() -> None:
    spec = buffers(JoinBuffer(10, "v"), JoinBuffer(0, tuples=True))
    # 100 drives 7 out; 93 is near enough to it, and 60 comes too late to be kept.
    assert joined([(0, 7), (2, 100), (3, 93), (4, 60)], [(1, -1), (5, -2)], spec) == [
        (1, 7, -1),
        (5, 100, -2),
        (5, 93, -2),
    ]


def test_rows_without_a_number_are_not_kept_but_look() -> None:
    spec = buffers(JoinBuffer(10, "v"), JoinBuffer(5, tuples=True))
    assert joined([(1, None)], [(0, 1), (2, 2)], spec) == [(1, None, 1)]


@pytest.mark.parametrize(("stime", "meets"), [(4, True), (5, False)])
def test_a_timeout_empties_buffers(stime: int, meets: bool) -> None:
    spec = buffers(JoinBuffer(9, tuples=True), JoinBuffer(9, tuples=True), timeout=5e-6)
    assert bool(joined([(0, 1)], [(stime, 2)], spec)) is meets


def test_a_side_that_does_not_look_is_only_found() -> None:
    spec = buffers(JoinBuffer(9, tuples=True), JoinBuffer(9, tuples=True), looks=(False, True))
    assert joined([(0, 1), (2, 3)], [(1, 2), (2, 4)], spec) == [(1, 1, 2), (2, 1, 4), (2, 3, 4)]
