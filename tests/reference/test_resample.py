"""Values of one stream at the times of another."""

import math
from typing import Any

import pytest

from auroral.model.boxes.resample import Resample
from auroral.model.diagram import Box
from reference.running import rows, run, shown


def resampled(points: list[Any], samples: list[Any], within: int = 10, ddl: str = "v double") -> list[tuple[Any, ...]]:
    """Of (stime, name) points and (stime, v) samples."""
    inputs = {"p": ("name string", rows(*points)), "s": (ddl, rows(*samples))}
    spec = Resample((("v", "v"),), within)
    return shown(run(inputs, [Box("r", spec, ("p", "s"), ("o",))], ["o"], 1000), "o")


def test_a_value_lies_on_the_line_between_two_samples() -> None:
    assert resampled([(3, "x"), (7, "y")], [(0, 10.0), (10, 20.0)]) == [(10, "x", 13.0), (10, "y", 17.0)]


def test_a_sample_at_the_very_time_counts_as_it_is() -> None:
    assert resampled([(5, "x")], [(0, 10.0), (5, 99.0)]) == [(5, "x", 99.0)]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([(0, 4.0)], (20, 4.0)),
        ([(0, 4.0), (21, 8.0)], (20, 4.0)),
        ([(12, 8.0)], (12, 8.0)),
        ([(-1, 4.0), (20, 8.0)], (20, 8.0)),
        ([(-1, 4.0)], (20, None)),
        ([], (20, None)),
    ],
)
def test_samples_further_away_do_not_count(samples: list[Any], expected: tuple[Any, ...]) -> None:
    assert resampled([(10, "x")], samples) == [(expected[0], "x", expected[1])]


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(None, 8.0, 8.0), (4.0, None, 4.0), (None, None, None), (math.inf, 1.0, math.nan)]
)
def test_values_that_are_no_numbers(first: Any, second: Any, expected: Any) -> None:
    assert repr(resampled([(5, "x")], [(0, first), (10, second)])) == repr([(10, "x", expected)])


def test_integers_become_doubles_exactly_rounded() -> None:
    low, high = 2**62, 2**62 + 3
    assert resampled([(1, "x")], [(0, low), (3, high)], ddl="v long") == [(3, "x", float(low + 1))]


def test_groups_have_samples_of_their_own() -> None:
    inputs = {"p": ("k int", rows((5, 1), (5, 2))), "s": ("k int, v int", rows((0, 1, 10), (6, 2, 30), (10, 1, 20)))}
    result = run(inputs, [Box("r", Resample((("v", "v"),), 10, ("k",)), ("p", "s"), ("o",))], ["o"], 1000)
    assert shown(result, "o") == [(6, 2, 30.0), (10, 1, 15.0)]
