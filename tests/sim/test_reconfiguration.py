"""A query is changed while it runs and nodes fail: every bucket is of one version, the same everywhere (X9, L58)."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Changed, Effect, Evaluate, Evaluated, Propose
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica
from auroral.dpc.values import Content
from auroral.sim.invariants import stable_in_order
from auroral.sim.record import Recorder, Run
from auroral.sim.stage import Stage
from auroral.sim.standin import content
from sim.scenarios import chain

pytestmark = pytest.mark.slow

SCHEDULES = {
    "no failure": "",
    "a replica is away when it is wanted": "at 8s crash wa; at 16s restart wa",
    "a replica crashes when it has promised": "at 10.1s crash wa; at 14s restart wa",
    "a replica is cut off from the catalog": "at 9s cut wa; at 20s heal wa",
    "both replicas come back": "at 9.5s crash wa; at 10.5s crash wb; at 12s restart wa; at 12.5s restart wb",
    "an input is away": "at 8s silence t; at 18s resume t",
    "the catalog crashes when it has asked": "",
    "the catalog crashes when it has decided": "",
}


def changed(made: Content) -> Content:
    return content((7, *made.rows))


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_bucket_is_of_one_version(name):
    stage = Stage(chain(SCHEDULES[name], seconds=40))
    world, scenario = stage.world, stage.scenario
    right = world.evaluation

    def evaluate(core: str, job: Evaluate) -> Evaluated:
        made = right(core, job)
        if job.version == 0 or core not in replicas:
            return made
        return Evaluated(job.job, {s: tuple(map(changed, c)) for s, c in made.contents.items()})

    replicas = scenario.names("w.out")
    world.evaluation = evaluate
    run, changes = Run(stage, {}, {}), []

    def start() -> None:
        world.start("catalog", Reconfiguration(replicas, scenario.settings), "k")

    def crash(now: float, then: float) -> None:
        """Nothing that is under way arrives."""
        world.at(now, lambda: world.crash("k", told=True))
        world.at(then, start)

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Changed):
            changes.append(effect)
            if name == "the catalog crashes when it has decided":
                crash(now, now + 8)

    Recorder(run)
    world.watchers.append(watch)
    start()
    world.at(10.0, lambda: world.tell("catalog", Propose()))
    if name == "the catalog crashes when it has asked":
        crash(10.01, 13.0)
    world.run(70)

    (change,) = changes
    assert change.version == 1 and 20 < change.at < 75
    expected = scenario.expected()["w.out"]
    wanted = [one if bucket < change.at else changed(one) for bucket, one in enumerate(expected)]
    given = [one.content for one in run.deliveries["w.out"] if one.stable]
    assert given == wanted
    assert not list(stable_in_order(run))
    for core in replicas:
        found = world.cores[core]
        assert isinstance(found, Replica) and found.versions.plan.starts == (0, change.at)
        assert found.outlets["w.out"].frontier == scenario.buckets
    assert not [r for _, _, r in run.reports if r.kind == "diverged"]
