"""Outputs whose jobs fail are tried alone, and ever less often."""

from __future__ import annotations

import pytest

from auroral.dpc.trouble import LONGEST, Trouble

WANTED = {"a": 1, "b": 2, "c": 3}


def test_one_failure_changes_nothing_and_the_second_sets_apart():
    found = Trouble()
    found.failed(["a", "b"], "why", 1.0)
    assert found.to_try(WANTED, 1.0) == WANTED and found.next_try(1.0) == float("inf")
    found.failed(["b"], "why", 1.5)
    assert (found.outputs["b"].times, found.outputs["b"].again_at) == (2, pytest.approx(1.9))
    assert found.to_try(WANTED, 1.6) == {"a": 1, "c": 3}
    assert found.next_try(1.6) == pytest.approx(1.9)
    assert found.to_try(WANTED, 1.95) == {"b": 2}, "alone, and before the others"
    assert found.to_try({"a": 1}, 1.95) == {"a": 1}, "nothing is to be done for it"


def test_of_several_the_one_that_waited_longest_is_tried():
    found = Trouble()
    for now in (1.0, 1.1):
        found.failed(["b"], "why", now)
    for now in (1.0, 1.2):
        found.failed(["a"], "why", now)
    assert found.to_try(WANTED, 2.0) == {"b": 2}
    found.succeeded(["b"])
    assert found.to_try(WANTED, 2.0) == {"a": 1}
    found.succeeded(["a", "never failed"])
    assert found.to_try(WANTED, 2.0) == WANTED and not found.outputs


def test_pauses_double_up_to_the_longest():
    found, pauses = Trouble(), []
    for _ in range(60):
        found.failed(["a"], "why", 10.0)
        pauses.append(found.outputs["a"].again_at - 10.0)
    assert pauses[:4] == pytest.approx([0.0, 0.4, 0.8, 1.6])
    assert pauses[-1] == LONGEST and pauses == sorted(pauses)
