"""Random failures by the simulator's generator on real processes: the output is right, and replicas go through no other changes of state
than in simulation."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from faults.deployment import SITES, Senders, deployed, frontier, placed, right_in_the_end, until, watched
from faults.schedules import Happening, drawn, real, simulated

from auroral.model.deployment_text import read_deployment_text
from auroral.reference.rows import Row
from auroral.sim.diagrams import Trial

JOBS = (0.05, 0.2, 0.5, 1.2)
"""Seconds that a job takes: on a machine that has other things to do, any of these."""


def test_the_simulators_failures_on_real_processes(
    tmp_path: Path, spark: Any, seed: int, request: pytest.FixtureRequest
) -> None:
    seconds = float(request.config.getoption("--seconds"))
    with deployed(tmp_path / "live") as fleet:
        trial = Trial.of(watched().check(), read_deployment_text(placed(range(1, 5))))
        faults = drawn(trial, seed, seconds)
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        Happening(fleet).carry_out(faults, lambda line: sys.stdout.write(f"{line}\n"))
        right_in_the_end(fleet, spark, senders)
        found = real(fleet)
    rows = {site: [Row(1_000_000 * second, ("h", 5)) for second in range(int(seconds))] for site in SITES}
    alike = replace(trial.scenario(rows, faults), durable=frozenset(query.name for query in trial.fragments))
    expected = set().union(
        *(simulated(replace(alike, seed=number, job=job)) for number, job in enumerate(JOBS)),
    )
    assert found <= expected, sorted(found - expected)
    assert "STABLE" in {after for _, after in found}
