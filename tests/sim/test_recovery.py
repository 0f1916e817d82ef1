"""Everything comes back: sources with their logs, clients at their positions, all replicas of a query (D65-D68, D74)."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Effect, Send
from auroral.dpc.settings import Settings
from auroral.dpc.switching import Lane
from auroral.dpc.values import Subscribe
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import judged, observed, simulate
from auroral.sim.stage import Stage
from auroral.sim.standin import Kind, Query
from sim.scenarios import chain, pair, scheduled

pytestmark = pytest.mark.slow

SCHEDULES = {
    "a source": "at 5s crash s; at 12s restart s",
    "both sources, one after the other": "at 5s crash s; at 9s restart s; at 9s crash t; at 9.4s restart t",
    "the client": "at 5s crash c; at 12s restart c",
    "the client, while an input fails": "at 5s silence t; at 10s crash c; at 12s restart c; at 20s resume t",
    "the client, when it had come back": "at 5s crash c; at 9s restart c; at 9.5s crash c; at 14s restart c",
    "all replicas and the client": "at 9s crash c; at 10s crash ua; at 10s crash ub; at 10s crash fa; at 10s crash fb; at 10s crash wa; "
    "at 10s crash wb; at 13s restart ua; at 13s restart ub; at 14s restart fa; at 14s restart fb; at 15s restart wa; at 15s restart wb; "
    "at 16s restart c",
    "one that came back gives what is overdue": "at 5s silence t; at 5.5s crash ua; at 7s restart ua; at 7.3s crash ub; at 20s resume t; "
    "at 22s restart ub",
    "all replicas, one input away": "at 8s crash t; at 10s crash ua; at 10s crash ub; at 12s restart ua; at 12s restart ub; "
    "at 30s restart t",
    "all replicas, an input and a reader away": "at 9s crash fb; at 10s cut s; at 12s crash ua-ub; at 13s restart ua-ub; at 35s heal s; "
    "at 36s restart fb",
    "each replica in its turn, an input and a reader away": "at 9s crash fb; at 10s cut s; at 12s crash ua; at 13s restart ua; "
    "at 20s crash ub; at 21s restart ub; at 35s heal s; at 36s restart fb",
}


@pytest.mark.parametrize("durable", ["", "uw"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_what_crashed_comes_back(name, durable):
    outcome = simulate(chain(SCHEDULES[name], seconds=60, durable=durable))
    assert not outcome.violations, str(outcome)


def test_who_comes_back_without_an_input_answers_from_the_others():
    """It is not mute for as long as the input is away."""
    run = observed(chain(SCHEDULES["all replicas, one input away"], seconds=60))
    assert [one.bucket for one in run.deliveries["w.out"] if 15 < one.at < 29 and not one.stable]


@pytest.mark.parametrize("back", [18.5, 19.0, 19.5, 20.0, 20.3])
def test_who_comes_back_tells_that_an_input_is_silent(back):
    """It has not waited for the input itself: taken for stable, it would be read instead of one that is about to answer."""
    queries = (Query("w", Kind.WINDOW, ("s", "t"), 5),)
    calm = Scenario(7, ("s", "t"), queries, {"w": 2}, Settings(bucket=1.0, bound=5.0), 40)
    outcome = simulate(scheduled(calm, f"at 9s crash wa; at 15s silence t; at {back}s restart wa; at 24s resume t"))
    assert not outcome.violations, str(outcome)


def test_a_source_that_is_back_at_once_makes_nothing_tentative():
    """What it had logged and not sent when it crashed is no older than it is."""
    outcome = simulate(pair("at 10.002s crash s; at 10.6s restart s", seconds=20, bucket=0.25))
    assert not outcome.violations, str(outcome)
    assert not outcome.tentative


def test_outputs_that_take_turns_with_long_jobs_come_back():
    """None of them is ever as far as the inputs are by now: jobs are longer than buckets."""
    query = Query("q", Kind.UNION, ("s", "t"), 1, Query("x", Kind.WINDOW, ("s",), 2))
    scenario = Scenario(7, ("s", "t"), (query,), {"q": 2}, Settings(bucket=0.5, bound=9.0), 50, job=0.55)
    run = observed(scheduled(scenario, "at 10s crash qa-qb; at 14s restart qa-qb"))
    outcome = judged(run)
    assert not outcome.violations, str(outcome)
    assert not any(name in run.moments[-1].mute for name in ("q@qa", "q@qb"))


def test_with_disks_sources_keep_less_while_a_client_is_away():
    """What a replica has on disk need not be computed again from the sources."""

    def kept(durable: str) -> int:
        stage = Stage(chain("at 5s cut c", seconds=40, durable=durable))
        stage.world.run(30)
        return len(stage.world.cores["s@s"].outlet.kept)

    assert kept("") > 40 and kept("ufw") < 15


def test_however_little_counts_as_a_long_replay_nothing_breaks():
    """D35: lanes change with every bucket that is missed."""
    hard = "at 5s silence t; at 10s crash fa; at 13s restart fa; at 15s resume t; at 17s cut wb; at 20s heal wb; at 22s cut c; at 25s heal c"
    stage, asked = Stage(chain(hard, long_replay=0.4)), set()

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, Subscribe):
            asked.add(effect.message.lane)

    stage.world.watchers.append(watch)
    stage.world.run(60)
    assert asked == set(Lane)
    outcome = simulate(chain(hard, long_replay=0.4))
    assert not outcome.violations, str(outcome)
