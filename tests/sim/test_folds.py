"""Folds, whose state is of all of the past, under failures (D67)."""

from __future__ import annotations

import pytest

from auroral.dpc.settings import Settings
from auroral.sim.invariants import INVARIANTS
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import observed, simulate
from auroral.sim.stage import Stage
from auroral.sim.standin import Kind, Query
from sim.scenarios import folded, scheduled

pytestmark = pytest.mark.slow

SCHEDULES = {
    "an input is away": ("at 5s silence t; at 15s resume t", ""),
    "a replica comes back with nothing": ("at 12s crash ga; at 16s restart ga", ""),
    "during a failure": (
        "at 10s silence t; at 12s crash ga; at 14s restart ga; at 18s crash gb; at 20s restart gb; at 24s resume t",
        "",
    ),
    "each after the other, the client away": (
        "at 5s cut c; at 10s crash ga; at 12s restart ga; at 16s crash gb; at 18s restart gb; at 26s heal c",
        "",
    ),
    "all at once, with their disks": ("at 12s crash ga; at 12s crash gb; at 15s restart ga; at 15s restart gb", "g"),
    "all at once, with a first snapshot that is newer than what the client has": (
        "at 2s cut c; at 8s crash ga-gb-fa-fb; at 10s restart ga-gb-fa-fb; at 14s heal c",
        "g",
    ),
    "all at once, one disk lost": (
        "at 8s crash ua; at 9s restart ua; at 12s crash ga; at 12s crash gb; at 15s restart ga; at 18s restart gb",
        "ufg",
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_fold_is_right_after_failures(name):
    schedule, durable = SCHEDULES[name]
    run = observed(folded(schedule, seconds=60, durable=durable))
    assert not [f"{check.__name__}: {found}" for check in INVARIANTS for found in check(run)]
    if "silence" in schedule:
        assert [one for one in run.deliveries["f.out"] if not one.stable]


@pytest.mark.parametrize(
    ("durable", "crashes"),
    [
        ("g", "at 12s crash ga-gb; at 13s restart ga-gb"),
        ("g", "at 12s crash ga; at 13s restart ga; at 20s crash gb; at 21s restart gb"),
        ("", "at 12s crash ga; at 13s restart ga; at 20s crash gb; at 21s restart gb"),
    ],
)
def test_a_fold_comes_back_without_one_of_its_inputs(durable, crashes):
    """With the state on its disk, or of the other replica, it is not mute for as long as the input is away."""
    queries = (Query("g", Kind.FOLD, ("s", "t")), Query("f", Kind.FILTER, ("g.out",)))
    settings = Settings(bucket=0.5, bound=3.0, snapshot_every=8)
    scenario = Scenario(7, ("s", "t"), queries, {"g": 2, "f": 2}, settings, 60, durable=frozenset(durable))
    outcome = simulate(scheduled(scenario, f"at 10s cut s; {crashes}; at 35s heal s"))
    assert not outcome.violations, str(outcome)


def test_snapshots_bound_what_is_kept():
    """Without failures sources keep no more than a snapshot's worth, and disks two or three snapshots."""
    stage = Stage(folded("", seconds=60))
    for second in range(10, 60, 5):
        stage.world.run(second)
        assert len(stage.world.cores["s@s"].outlet.kept) < 3 * 8
        assert len(stage.world.disks.states["g@ga", "g.out"]) <= 3
