"""Boxes that users of Borealis added: joinstatic, combine, lrwaitfor."""

from typing import Any

import pytest

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.join import ALL, Join, JoinBuffer
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.diagram import Box
from auroral.reference.evaluate import Result
from reference.running import rows, run, shown


def run_two(spec: BoxSpec, left: list[Any], right: list[Any]) -> Result:
    """Of (stime, k, v) rows."""
    inputs = {"l": ("k int, v int", rows(*left)), "r": ("k int, v int", rows(*right))}
    return run(inputs, [Box("b", spec, ("l", "r"), ("o",))], ["o"], 1000)


def test_joinstatic_meets_all_that_the_second_input_has_had() -> None:
    columns = (("l", "left.v"), ("r", "right.v"))
    spec = Join("left.k = right.k", JoinBuffer(0, tuples=True), ALL, columns, looks=(True, False))
    found = run_two(spec, [(0, 1, 9), (5, 1, 7), (900, 1, 8)], [(1, 1, 10), (2, 1, 20), (3, 2, 30), (6, 1, 40)])
    assert shown(found, "o") == [(5, 7, 10), (5, 7, 20), (900, 8, 10), (900, 8, 20), (900, 8, 40)]


def test_combine_puts_the_rows_of_a_key_together_one_by_one() -> None:
    spec = Combine("k", (("k", "l.k"), ("sum", "l.v + r.v")))
    found = run_two(spec, [(0, 1, 5), (1, 1, 6), (2, 2, 7)], [(3, 1, 10), (4, 1, 20), (4, 1, 30), (5, None, 1)])
    assert shown(found, "o") == [(3, 1, 15), (4, 1, 26)]


def test_combine_takes_nulls_as_equal_keys() -> None:
    found = run_two(Combine("k", (("v", "r.v - l.v"),)), [(0, None, 5)], [(3, None, 8)])
    assert shown(found, "o") == [(3, 3)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(4, 1, 10), (4, 2, 20), (6, 3, 30), (7, 2, 40)]),
        ({"start": 1.0}, [(0, 1, 10), (4, 2, 20), (6, 3, 30), (7, 2, 40)]),
        ({"from_data": True}, [(0, 1, 10), (4, 2, 20), (6, 3, 30), (7, 2, 40)]),
        ({"start": 2.5, "from_data": True}, [(0, 1, 10), (4, 2, 20), (6, 3, 30), (7, 2, 40)]),
        ({"start": 2.5}, [(0, 1, 10), (1, 2, 20), (6, 3, 30), (7, 2, 40)]),
    ],
)
def test_lrwaitfor_goes_as_far_as_the_other_stream(options: dict[str, Any], expected: list[Any]) -> None:
    given = [(0, 1, 10), (1, 2, 20), (2, 3, 30), (7, 2, 40)]
    assert shown(run_two(LRWaitFor("k", **options), given, [(4, 2, 0), (5, 1, 0), (6, 9, 0)]), "o") == expected


def test_lrwaitfor_by_groups_and_without_a_number() -> None:
    spec = LRWaitFor("k", ("v",))
    found = run_two(spec, [(0, 1, 10), (0, 1, 20), (1, None, 10)], [(4, 1, 20), (5, None, 10)])
    assert shown(found, "o") == [(4, 1, 20)]
    assert found.ledger == {("b", "late"): 2}
