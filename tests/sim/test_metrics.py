"""Metrics agree with a computation from the whole trace (D82), and stories with what happened."""

from __future__ import annotations

import pytest

from auroral.dpc.metrics import Metrics
from auroral.dpc.replica import Replica
from auroral.dpc.states import State
from auroral.dpc.why import why
from auroral.sim.record import Recorder
from auroral.sim.scenario import CLIENT
from auroral.sim.seen import Run
from auroral.sim.stage import Stage
from sim.scenarios import chain

pytestmark = pytest.mark.slow


def test_metrics_agree_with_the_trace():
    stage = Stage(
        chain(
            "at 5s silence t; at 15s resume t; at 25.5s unplug wa; at 30s restart wa; at 37.5s unplug wb; at 40s restart wb",
            seconds=50,
        )
    )
    metrics = Metrics(0.5)
    stage.world.observers.append(
        lambda now, core, event, effects: metrics.saw(now, event, effects) if core == CLIENT else None
    )
    run = Run(stage, {}, {})
    Recorder(run)
    stage.world.run(55)
    given = run.deliveries["w.out"]
    found = metrics.diagram

    tentative = [one for one in given if not one.stable]
    assert found.tentative_buckets == len(tentative) > 0
    assert found.n_tentative == sum(one.content.count for one in tentative)
    newest = [max((one.bucket for one in given[:i]), default=-1) for i in range(len(given))]
    late = [one.at - (one.bucket + 1) * 0.5 for one, before in zip(given, newest, strict=True) if one.bucket > before]
    assert found.proc_new == max(late)
    assert 1.4 < found.delay_new < 1.6
    guessed = {one.bucket for one in tentative}
    corrections = [one.at for one in given if one.stable and one.bucket in guessed]
    assert found.correcting == (pytest.approx(max(corrections) - min(corrections)),)
    assert found.reconciliation(healed=15.0) == pytest.approx(max(corrections) - 15.0)
    assert 0 < found.failover_gap < 3
    assert found.n_tentative_now == found.missed == 0


def test_the_story_of_a_failure():
    stage = Stage(chain("at 5s silence t; at 15s resume t", seconds=30))
    stage.world.run(12)
    core = stage.world.cores["u@ua"]
    assert isinstance(core, Replica)
    story = why(core, "u.out", 12.0)
    assert story.state is State.UP_FAILURE and 5 < story.since < 7.5 and story.frontier == 9
    assert any("t misses bucket 9" in line for line in story.because)
    stage.world.run(25)
    assert why(core, "u.out", 25.0).state is State.STABLE
