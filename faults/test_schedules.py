"""Random failures by the simulator's generator on real processes: the output is right and the simulator's, answers come in time wherever
they can, and each node goes through the changes of state that it goes through in simulation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from faults.deployment import Senders, deployed, frontier, output_of, placed, right_in_the_end, until, watched
from faults.schedules import Happening, drawn
from faults.twin import Twin, changes, real_paths

from auroral.model.deployment_text import read_deployment_text
from auroral.sim.diagrams import Trial
from auroral.sim.faults import text

FEW = 2
"""Rows at a time: the simulator computes each of them in Python."""


def test_the_simulators_failures_on_real_processes(
    tmp_path: Path, spark: Any, seed: int, request: pytest.FixtureRequest
) -> None:
    seconds = float(request.config.getoption("--seconds"))
    trial = Trial.of(watched().check(), read_deployment_text(placed(range(1, 5))))
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet, rows=FEW)
        until("it begins", lambda: frontier(fleet) > 3)
        happening = Happening(fleet)
        happening.carry_out(drawn(trial, seed, seconds), lambda line: sys.stdout.write(f"{line}\n"))
        right_in_the_end(fleet, spark, senders)
    twin = Twin.of(fleet, trial, happening.happened)
    sys.stdout.write(f"as it happened: {text(twin.scenario.faults)}\n")
    run = twin.run()
    assert not run.broken
    # Neither has more than was closed when it ended, and they did not end together.
    expected, simulated = output_of(fleet), twin.output(run, "sums")
    until_both = min(expected[-1][0], simulated[-1][0])
    assert len(expected) > 20 and [row for row in simulated if row[0] <= until_both] == [
        row for row in expected if row[0] <= until_both
    ]
    assert not (late := list(twin.late(run, "sums", senders.watch.delivered, fleet.deployed.first))), late
    may, must = twin.may_and_must()
    real = real_paths(fleet)
    assert set(real) <= set(may)
    for node in fleet.deployed.nodes:
        found = changes(real.get(node, []))
        assert found <= may[node], (node, sorted(found - may[node]))
        found |= twin.lasting(real.get(node, []))
        assert must[node] <= found, (node, sorted(must[node] - found))
