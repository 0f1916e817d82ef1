"""The judge of random failures: what of a real run's changes of state is chance."""

from __future__ import annotations

import pytest
from faults.deployment import placed, watched
from faults.twin import BEGINNING, OUTSIDE, Path, Twin, changes

from auroral.model.deployment_text import read_deployment_text
from auroral.sim.diagrams import Trial


@pytest.mark.short
def test_a_state_too_short_to_be_heard_of_counts_as_passed_over_and_a_longer_one_does_not() -> None:
    trial = Trial.of(watched().check(), read_deployment_text(placed(range(1, 5))))
    twin = Twin(trial, trial.calm, 0.0)
    step = ("STABLE", OUTSIDE, "UP_FAILURE")

    def path(seconds: float) -> list[Path]:
        begins = [(0.0, BEGINNING, "FAILURE"), (0.1, OUTSIDE, "STABLE")]
        return [[*begins, (9.0, OUTSIDE, "FAILURE"), (9.0 + seconds, OUTSIDE, "UP_FAILURE"), (15.0, OUTSIDE, "STABLE")]]

    assert step not in changes(path(0.002)) and step in twin.lasting(path(0.002))
    assert step not in twin.lasting(path(0.5))
