"""The policy that adapts, and queries with several outputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.dpc.events import Evaluate, Evaluated, Logged
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.sim.invariants import INVARIANTS
from auroral.sim.simulate import observed, simulate
from auroral.sim.standin import Kind, Query, content
from auroral.sim.world import World
from sim.scenarios import chain, pair

pytestmark = pytest.mark.slow


def tentative(seconds: float, policy: Policy) -> int:
    run = observed(
        chain(f"at 5s silence t; at {5 + seconds:g}s resume t", seconds=seconds + 25, while_failing=policy, bound=2.2)
    )
    assert not [found for check in INVARIANTS for found in check(run)]
    return sum(not one.stable for one in run.deliveries["w.out"])


def test_short_failures_are_delayed_and_long_ones_processed():
    """Thesis 5.4.2: as few tentative buckets as by delaying where that is worth it, as early as by processing where it is not."""
    short = {policy: tentative(6, policy) for policy in (Policy.DELAY, Policy.PROCESS, Policy.ADAPT)}
    assert short[Policy.ADAPT] == short[Policy.DELAY] < short[Policy.PROCESS]
    long = {policy: tentative(30, policy) for policy in (Policy.PROCESS, Policy.ADAPT)}
    assert long[Policy.ADAPT] == pytest.approx(long[Policy.PROCESS], abs=2)


def test_an_output_that_is_not_affected_stays_stable_while_another_is_corrected():
    """D63, M4: one node gives both; a job takes almost as long as a bucket."""
    settings = Settings(bucket=0.5, bound=3.0)
    both, one = Query("both", Kind.UNION, ("s", "t")), Query("one", Kind.FILTER, ("s",))

    def evaluate(name: str, job: Evaluate) -> Evaluated:
        made = {query.stream: query for query in (both, one)}
        return Evaluated(job.job, {s: made[s].evaluate(job).contents[s] for s in job.outputs})

    world = World(1, evaluate, lambda job: 0.1 + 0.01 * (job.end - job.begin))
    world.start("S", Source("s", ("q",), settings), "S")
    world.start("T", Source("t", ("q",), settings), "T")
    outputs = {query.stream: query.outputs[0] for query in (both, one)}
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    replica = Replica(spec, settings)
    world.start("q", replica, "q")
    states: dict[str, list[State]] = {stream: [] for stream in outputs}
    for bucket in range(200):
        at = 0.5 * (bucket + 1)
        world.at(at, lambda b=bucket: world.tell("S", Logged(b, content((b,)), True)))  # type: ignore[misc]
        late = 70.0 if 10 <= bucket < 140 else at
        world.at(late, lambda b=bucket: world.tell("T", Logged(b, content((b,)), True)))  # type: ignore[misc]
        world.at(at + 0.25, lambda: [states[s].append(replica.unions[s].state(world.now)) for s in outputs])  # type: ignore[misc]
    world.run(110)
    assert {outlet.frontier for outlet in replica.outlets.values()} == {200}
    assert set(states["one.out"]) == {State.STABLE}
    assert set(states["both.out"]) == {State.STABLE, State.UP_FAILURE, State.STABILIZATION}


DELAYED = {"while_failing": Policy.DELAY, "while_correcting": Policy.DELAY, "bound": 8.0}


def test_what_was_held_back_before_all_sources_fell_silent_comes_from_those_that_say_failure():
    """D77: rows end while most is still to be corrected, so that it is only judged what is late."""
    given = pair("at 5s silence t; at 35s resume t", 60, job=1.0, **DELAYED)
    outcome = simulate(replace(given, job_bucket=0.3))
    assert not [broken for broken in outcome.violations if broken.startswith("within_the_bound")]


def test_what_is_new_does_not_wait_for_a_guess_of_what_is_about_to_be_stable():
    """D77: all sources were silent, and each bucket takes more than half of its own time."""
    schedule = "at 5s silence t; at 15s resume t; at 17s silence s; at 17s silence t; at 23s resume s; at 23s resume t"
    outcome = simulate(replace(pair(schedule, 60, job=0.5, **DELAYED), job_bucket=0.3))
    assert not outcome.violations, str(outcome)
