"""Disks that are lost with their hosts, and clocks that are set while a host is down (D65-D68)."""

from __future__ import annotations

import pytest

from auroral.sim.faults import Fault, WrongSchedule, parse
from auroral.sim.randomly import random_scenario
from auroral.sim.simulate import observed, simulate
from auroral.sim.stage import Stage
from sim.scenarios import chain, folded

pytestmark = pytest.mark.slow

SCHEDULES = {
    "each replica in its turn": "at 10s destroy ua; at 14s restart ua; at 24s destroy ub; at 28s restart ub",
    "one at each level": "at 10s destroy ua-fa-wa; at 14s restart ua-fa-wa; at 26s destroy ub-fb-wb; at 28s restart",
    "the client is behind": "at 8s crash c; at 10s destroy wa; at 12s restart wa; at 20s crash wb; at 25s restart wb; at 28s restart c",
    "an input is away": "at 8s silence t; at 10s destroy ua; at 12s restart ua; at 20s resume t",
    "the other one crashes": "at 10s destroy wa; at 11s crash wb; at 12s restart wa; at 20s restart wb",
    "where a query has moved": "at 10s move wa-wc; at 12s destroy wc; at 15s restart wc",
    "clocks of nodes": "at 10s crash wa; at 11s forward wa-3600; at 12s restart wa; at 20s crash wb; at 21s back wb-3600; at 22s restart wb",
    "clocks of sources": "at 10s crash s; at 10.1s forward s-3600; at 10.5s restart s; at 20s crash t; at 20.1s back t-3600; at 20.5s restart t",
    "all clocks": "at 10s crash s-t-ua-ub-fa-fb-wa-wb-c; at 10.1s forward s-30; at 10.1s back ua-50; at 10.1s forward wb-500; "
    "at 10.1s back c-7; at 12s restart s-t-ua-ub-fa-fb-wa-wb-c",
}
FOLDED = {
    "each replica in its turn": "at 10s destroy ga; at 14s restart ga; at 24s destroy gb; at 28s restart gb",
    "who has the state is away": "at 10s destroy ga; at 11s crash gb; at 12s restart ga; at 25s restart gb",
    "together with an input": "at 10s destroy ga-ua; at 14s restart ga; at 16s restart ua; at 25s crash gb; at 30s restart gb",
}


@pytest.mark.parametrize("durable", ["", "ufw"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_who_lost_its_disk_or_its_time_comes_back(name, durable):
    outcome = simulate(chain(SCHEDULES[name], durable=durable))
    assert not outcome.violations, str(outcome)


@pytest.mark.parametrize("name", FOLDED)
def test_the_state_of_a_fold_comes_from_another_replica(name):
    run = observed(folded(FOLDED[name], durable="ugf"))
    assert run.stage.emptied and not simulate(run.scenario).violations


def test_what_was_on_the_disk_is_gone():
    kept = Stage(chain("at 10s crash wa", durable="w")), Stage(chain("at 10s destroy wa", durable="w"))
    for stage in kept:
        stage.world.run(11.0)
    assert [bool(stage.world.disks.of("w@wa")) for stage in kept] == [True, False]


def test_what_all_replicas_have_lost_is_not_passed_over():
    """The client was away: nobody has what it needs any more."""
    outcome = simulate(
        chain("at 8s crash c; at 12s destroy wa-wb; at 14s restart wa-wb; at 20s restart c", durable="ufw")
    )
    assert any(one.startswith("nothing_is_lost_unless_so_set") for one in outcome.violations)


def test_a_core_goes_by_the_clock_that_it_was_started_with():
    stage = Stage(chain("at 5s forward wa-30; at 10s crash wa; at 12s restart wa"))
    stage.world.run(9.0)
    assert stage.world.local("w@wa") == pytest.approx(9.0)
    stage.world.run(20.0)
    assert stage.world.local("w@wa") == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("at 3s destroy s; at 5s restart s", "there is no replica on s"),
        ("at 3s destroy c; at 5s restart c", "there is no replica on c"),
    ],
)
def test_only_what_others_have_too_can_be_destroyed(line, told):
    with pytest.raises(WrongSchedule, match=told):
        Stage(chain(line))


@pytest.mark.parametrize("line", ["at 3s forward na-nb", "at 3s back na", "at 3s back na--3"])
def test_clocks_are_set_by_seconds(line):
    with pytest.raises(WrongSchedule):
        parse(line)


def test_seconds_are_no_host():
    assert parse("at 3s back na-2.5", ["na"]) == (Fault(3.0, "back", ("na", "2.5")),)
    with pytest.raises(WrongSchedule, match="there is no nx"):
        parse("at 3s back nx-2.5", ["na"])


def test_seeds_lose_disks_and_set_clocks():
    verbs = {fault.verb for seed in range(300) for fault in random_scenario(seed).faults}
    assert {"destroy", "forward", "back"} <= verbs
