"""A replica whose engine is broken: all of its jobs fail, and the other replica is read."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest

from auroral.dpc.events import Evaluate, Failed
from auroral.dpc.settings import Settings
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import observed
from auroral.sim.standin import Kind, Query
from auroral.sim.world import World
from sim.scenarios import scheduled

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("broken", ["u@ua", "u@ub"])
@pytest.mark.parametrize(
    "schedule", ["", "at 8s silence t; at 35s resume t", "at 15s silence t; at 35s resume t"], ids=["well", "8", "15"]
)
def test_a_replica_whose_jobs_all_fail_is_not_read(monkeypatch, broken, schedule):
    """D33, D76: it says that it has failed, whatever its inputs are."""
    begin = World._begin

    def begin_or_fail(world: World, name: str, job: Evaluate) -> None:
        if name == broken and world.now >= 10:
            failed = Failed(job.job, "the engine is gone")
            world.at(world.now + world.job_seconds(job), partial(world._end, name, world.lives[name], failed))
        else:
            begin(world, name, job)

    monkeypatch.setattr(World, "_begin", begin_or_fail)
    settings = Settings(bucket=0.5, bound=5.0)
    scenario = Scenario(0, ("s", "t"), (Query("u", Kind.UNION, ("s", "t")),), {"u": 2}, settings, 60)
    monkeypatch.setattr("auroral.sim.simulate.INVARIANTS", ())
    given = observed(scheduled(scenario, schedule)).deliveries["u.out"]
    news = [one.at for number, one in enumerate(given) if one.bucket > max([-1, *(e.bucket for e in given[:number])])]
    assert max(later - earlier for earlier, later in pairwise(news)) < settings.bound + 0.5
    stable = {one.bucket: one.at for one in given if one.stable}
    assert len(stable) == scenario.buckets
    assert stable[60] < 36, "all is corrected as soon as it can be"
