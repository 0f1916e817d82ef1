"""Rows that wait for a row of another stream."""

from typing import Any

from auroral.model.boxes.waitfor import WaitFor
from auroral.model.diagram import Box
from reference.running import rows, run, shown


def waited(held: list[Any], enablers: list[Any], timeout: float = 5e-6) -> list[tuple[Any, ...]]:
    """Of (stime, k, v) rows."""
    inputs = {"h": ("k int, v int", rows(*held)), "e": ("k int, v int", rows(*enablers))}
    spec = WaitFor("buffered.k = enabler.k", timeout)
    return shown(run(inputs, [Box("w", spec, ("h", "e"), ("o",))], ["o"], 1000), "o")


def test_a_row_goes_on_once_with_the_stime_of_the_first_enabler() -> None:
    assert waited([(0, 1, 7), (1, 2, 8)], [(2, 1, 0), (3, 1, 0), (4, 2, 0)]) == [(2, 1, 7), (4, 2, 8)]


def test_one_enabler_lets_all_go_on() -> None:
    assert waited([(0, 1, 7), (1, 1, 8)], [(2, 1, 0)]) == [(2, 1, 7), (2, 1, 8)]


def test_enablers_before_a_row_are_none() -> None:
    assert waited([(1, 1, 7)], [(0, 1, 0)]) == []
    assert waited([(1, 1, 7)], [(1, 1, 0)]) == [(1, 1, 7)], "of equal stimes, input 0 comes first"


def test_after_the_timeout_it_is_too_late() -> None:
    assert waited([(0, 1, 7)], [(4, 1, 0)]) == [(4, 1, 7)]
    assert waited([(0, 1, 7)], [(5, 1, 0)]) == []
