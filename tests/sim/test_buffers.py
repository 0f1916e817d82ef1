"""Buffers with a limit, under failures that are longer than they reach (D69-D72)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from auroral.dpc.client import Client
from auroral.dpc.replica import Replica
from auroral.dpc.settings import Settings, WhenFull, WrongSettings
from auroral.dpc.source import Source
from auroral.sim.invariants import INVARIANTS, all_is_corrected, buffers_are_bounded, stable_in_order, stable_is_right
from auroral.sim.scenario import Scenario
from auroral.sim.seen import Run
from auroral.sim.simulate import observed, simulate
from auroral.sim.stage import Stage
from auroral.sim.standin import Kind, Query
from sim.scenarios import chain, folded, scheduled

pytestmark = pytest.mark.slow

MOST = 12


def sizes(stage: Stage) -> Iterator[int]:
    for core in stage.world.cores.values():
        if isinstance(core, Source):
            yield len(core.outlet.kept)
        if isinstance(core, Replica):
            yield from (len(outlet.kept) for outlet in core.outlets.values())
            yield from (len(port.stable) for port in core.ports.values())
        if isinstance(core, Client):
            yield from (len(port.stable) for port in core.ports.values())


def largest(scenario: Scenario) -> int:
    """The most buckets that anything kept at any time."""
    stage, most = Stage(scenario), 0
    for second in range(int(scenario.seconds)):
        stage.world.run(second)
        most = max(most, *sizes(stage))
    return most


LONG = {
    "an input is away": "at 5s silence t; at 30s resume t",
    "the client is away": "at 5s cut c; at 30s heal c",
    "a replica is away": "at 5s crash fa; at 30s restart fa",
    "all replicas are away": "at 5s crash fa; at 5.1s crash fb; at 30s restart fa; at 30s restart fb",
}


def lost(run: Run) -> list[int]:
    return [one.bucket for one in run.deliveries["w.out"] if one.content.lost]


@pytest.mark.parametrize("name", LONG)
def test_a_long_failure_takes_no_more_room_and_leaves_a_declared_gap(name):
    """D71: all outside the gap is corrected, and the gap does not grow once the failure is over. Hole 9: replicas that are dead pin nothing beyond
    the limit."""
    scenario = chain(LONG[name], seconds=60, most_kept=MOST)
    run = observed(scenario)
    assert not [found for check in INVARIANTS for found in check(run)]
    assert largest(scenario) <= MOST + 5, "windows of three, and what is under way"
    if name == "a replica is away":
        assert not lost(run), "the other one had everything"
    else:
        begin, end = min(lost(run)), max(lost(run)) + 1
        assert lost(run) == list(range(begin, end)), "one gap"
        assert begin >= 8 and end <= 62 - MOST + 6
        assert largest(replace(scenario, settings=replace(scenario.settings, most_kept=None))) > 40


@pytest.mark.parametrize("name", LONG)
def test_full_buffers_stop_the_sources_and_nothing_is_lost(name):
    """D72: availability ends, consistency holds."""
    scenario = chain(LONG[name], seconds=60, most_kept=MOST, when_full=WhenFull.BLOCK)
    stage = Stage(scenario)
    stage.world.run(28)
    assert stage.paused and max(sizes(stage)) <= MOST + 5
    run = observed(scenario)
    for check in (stable_in_order, stable_is_right, all_is_corrected, buffers_are_bounded):
        assert not list(check(run))
    assert not lost(run)


def windows(most_kept: int) -> Scenario:
    """Two, of ten buckets each: of the source 18 are read again, besides the next one."""
    queries = (Query("v", Kind.WINDOW, ("s",), 10), Query("w", Kind.WINDOW, ("v.out",), 10))
    settings = Settings(bucket=0.5, bound=3.0, most_kept=most_kept, when_full=WhenFull.BLOCK)
    return Scenario(7, ("s",), queries, {"v": 2, "w": 2}, settings, 40)


def test_room_for_windows_and_one_bucket_more_is_enough_where_nothing_fails():
    """D72: less would stop everything for good, and is refused."""
    outcome = simulate(windows(19))
    assert not outcome.violations, str(outcome)
    with pytest.raises(WrongSettings, match="allowed: more than 18"):
        simulate(windows(18))


def test_a_fold_goes_on_after_its_input_was_away():
    """D72: its snapshots are never so far apart that there is no room for what lies between them, and for the windows behind it."""
    queries = (Query("g", Kind.FOLD, ("s", "t")), Query("w", Kind.WINDOW, ("g.out",), 5))
    settings = Settings(bucket=0.5, bound=3.0, most_kept=14, when_full=WhenFull.BLOCK, snapshot_every=8)
    scenario = Scenario(7, ("s", "t"), queries, {"g": 2, "w": 2}, settings, 60)
    outcome = simulate(scheduled(scenario, "at 8s silence t; at 25s resume t"))
    assert not outcome.violations, str(outcome)


def test_who_comes_back_with_full_buffers_speaks():
    """D72: nobody else empties them."""
    all_of_them = "ua-ub-ga-gb-fa-fb"
    schedule = f"at 5s cut c; at 14s crash {all_of_them}; at 16s restart {all_of_them}; at 25s heal c"
    outcome = simulate(folded(schedule, 60, durable="ugf", most_kept=14, when_full=WhenFull.BLOCK))
    assert not outcome.violations, str(outcome)
