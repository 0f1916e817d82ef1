"""Outputs that are given only if enough of their sources are in them (constraints on coverage)."""

from __future__ import annotations

import pytest

from auroral.dpc.coverage import AtLeast, Level
from auroral.dpc.settings import Settings
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import observed, simulate
from auroral.sim.standin import Kind, Query
from sim.scenarios import scheduled

pytestmark = pytest.mark.slow


def sites(schedule: str, number: int, worst: Level = Level.PARTIAL) -> Scenario:
    """Three sources, united, given out only if so many are in it, and filtered, each on two nodes."""
    enough = AtLeast(number, frozenset("rst"), worst)
    queries = (
        Query("u", Kind.UNION, ("r", "s", "t"), constraints=(enough,)),
        Query("f", Kind.FILTER, ("u.out",)),
    )
    settings = Settings(bucket=0.5, bound=3.0)
    return scheduled(Scenario(7, ("r", "s", "t"), queries, {"u": 2, "f": 2}, settings, 60), schedule)


AWAY = "at 10s silence t; at 25s resume t"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_something_tentative_is_given_if_enough_sites_are_there(number):
    outcome = simulate(sites(AWAY, number))
    assert outcome.violations == ()
    assert (outcome.tentative > 20) is (number < 3)


def test_a_part_of_a_bucket_is_not_enough_where_whole_ones_are_asked_for():
    schedule = "at 10s open t; at 25s close t"
    part, whole = (simulate(sites(schedule, 3, worst=worst)) for worst in (Level.PARTIAL, Level.COMPLETE))
    assert part.violations == whole.violations == ()
    assert part.tentative > 20
    assert whole.tentative <= 1, "but what is new while the rest is corrected"


@pytest.mark.parametrize("cut", ["ua", "ub"])
def test_a_replica_that_has_enough_is_read(cut):
    """Whichever was read before: one that holds everything back says that nothing comes from it."""
    run = observed(sites(f"at 8s silence r; at 16s cut {cut}-s; at 45s heal {cut}-s; at 46s resume r", 2))
    assert run.broken == []
    assert {one.core for one in run.given if one.at > 20 and one.stream == "u.out"} == {"u@ua", "u@ub"} - {f"u@{cut}"}
    newest = max(one.bucket for one in run.deliveries["f.out"] if one.at < 44)
    assert newest > 80
