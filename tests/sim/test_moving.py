"""Replicas go to other hosts while things fail: every guarantee holds, and everyone ends with those that are there (X9, L55)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from auroral.sim.faults import WrongSchedule, parse
from auroral.sim.invariants.replicas import moves_end
from auroral.sim.simulate import judged, observed, simulate
from sim.scenarios import chain, folded

pytestmark = pytest.mark.slow

SCHEDULES = {
    "no failure": "at 10s move fa-fc",
    "the first of a chain": "at 10s move ua-uc",
    "the last of a chain": "at 10s move wa-wc",
    "one after the other": "at 10s move wa-wc; at 10.2s move wb-wd; at 11s move fa-fc",
    "the new one crashes": "at 10s move fa-fc; at 10.7s crash fc; at 14s restart fc",
    "the old one crashes": "at 10s move fa-fc; at 10.3s crash fa; at 20s restart fa",
    "the other one crashes": "at 10s move fa-fc; at 10.3s crash fb; at 16s restart fb",
    "a dead one is left": "at 10s crash fa; at 11s move fa-fc; at 20s restart fa",
    "all are dead": "at 10s crash wa-wb; at 10.5s move wa-wc; at 20s restart wa-wb",
    "one before it is away": "at 9s crash ua; at 10s move fa-fc; at 16s restart ua",
    "one behind it is away": "at 9s crash wa; at 10s move fa-fc; at 16s restart wa",
    "the client is away": "at 9s crash c; at 10s move wa-wc; at 16s restart c",
    "the catalog crashes": "at 10s move ua-uc; at 10.2s crash catalog; at 13s restart catalog",
    "the catalog is cut off": "at 10s move fa-fc; at 10.1s cut catalog; at 15s heal catalog",
    "an input is away": "at 8s silence t; at 10s move fb-fc; at 20s resume t",
    "the new one is cut off once it is read": "at 10s move wa-wc; at 12.5s cut wc; at 18s heal wc",
    "it is given up": "at 9s crash fc; at 10s move fa-fc; at 15s abandon f; at 15.1s move wa-wc; at 20s restart fc",
    "it is given up when it is over": "at 10s move fa-fc; at 18s abandon f; at 20s move fb-fd",
    "it is given up when some have gone over": "at 10s cut catalog-wa; at 10.1s move fa-fc; at 15s abandon f; at 20s heal catalog-wa",
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_replica_moves(name):
    scenario = replace(chain("", seconds=45), faults=parse(SCHEDULES[name]))
    outcome = simulate(scenario)
    assert not outcome.violations, str(outcome)
    assert name == "an input is away" or not outcome.tentative, "nobody notices"


@pytest.mark.parametrize("durable", ["", "f"])
def test_a_move_whose_new_replica_died_for_good_once_it_was_read_is_begun_again(durable):
    """The only one. A reader that is not told in time cannot go over, and holds the move up; the other one goes back."""
    schedule = "at 9s cut catalog-wa; at 10s move fa-fc; at 14s unplug fc; at 18s heal catalog-wa; at 22s abandon f; at 23s move fa-fd"
    calm = replace(chain("", seconds=60, durable=durable), replicas={"u": 2, "f": 1, "w": 2})
    run = observed(replace(calm, faults=parse(schedule)))
    outcome = judged(run)
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)
    assert run.stage.layout.members["f"] == ("f@fd",) and not run.stage.layout.wanted
    without = observed(replace(calm, faults=parse(schedule.split("; at 22s")[0])))
    assert "f runs as f@fa, and was to be f@fc" in list(moves_end(without))


def test_a_fold_takes_its_state_along():
    scenario = replace(folded("", seconds=45, durable="g"), faults=parse("at 12s move ga-gc; at 20s move gb-gd"))
    outcome = simulate(scenario)
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)


def test_a_fold_that_moved_and_lost_everything_but_its_disk_goes_on():
    """D67: the state that it was given by another replica is on its disk before anything else."""
    schedule = "at 12s move ga-gc; at 15s move gb-gd; at 20s crash gc-gd; at 23s restart gc-gd"
    outcome = simulate(replace(folded("", seconds=50, durable="g"), faults=parse(schedule)))
    assert not outcome.violations, str(outcome)


def test_who_is_behind_is_waited_for_where_only_a_disk_has_what_it_needs():
    """D69: those before a replica with a disk keep nothing of what is on it."""
    schedule = (
        "at 8s cut wa-fa; at 8s cut wa-fb; at 10s move fa-fc; at 11s move fb-fd; at 16s heal wa-fa; at 16s heal wa-fb"
    )
    outcome = simulate(replace(chain("", seconds=50, durable="f"), faults=parse(schedule)))
    assert not outcome.violations, str(outcome)


def test_new_replicas_that_reach_no_input_take_nobodys_place():
    cuts = "; ".join(f"at 8s cut {a}-{b}; at 30s heal {a}-{b}" for a in ("fa", "fb") for b in ("wc", "wd"))
    scenario = replace(chain("", seconds=45), faults=parse(f"{cuts}; at 10s move wa-wc; at 10.1s move wb-wd"))
    outcome = simulate(scenario)
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)


def test_who_was_not_told_of_the_new_one_before_it_is_to_read_from_it_finds_it():
    calm = replace(chain("", seconds=45), replicas={"u": 2, "f": 1, "w": 2})
    schedule = (
        "at 9s cut catalog-wa; at 9s cut catalog-c; at 10s move fa-fc; at 18s heal catalog-wa; at 18s heal catalog-c"
    )
    outcome = simulate(replace(calm, faults=parse(f"{schedule}; at 12s move wa-wc; at 20s move wb-wd")))
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)


def test_moves_that_cannot_be_are_told():
    calm = chain("", seconds=30)
    for wrong in (
        "at 9s move s-fc",
        "at 9s move fa-s",
        "at 9s move fa-c",
        "at 9s move fa-catalog",
        "at 99s move fa-fc",
    ):
        with pytest.raises(WrongSchedule):
            simulate(replace(calm, faults=parse(wrong)))
    parse("at 9s move fa-fc; at 10s crash catalog; at 12s restart catalog; at 13s cut fc; at 14s heal fc", calm.hosts)


@pytest.mark.parametrize(
    "besides",
    [
        "at 15s silence s; at 15s silence t; at 17.5s resume s; at 17.5s resume t",
        "at 15s crash fa-fb; at 16s restart fa-fb; at 20s crash fa-fb; at 21s restart fa-fb",
        "at 9s cut catalog-wa; at 9s cut catalog-wb; at 38s heal catalog-wa; at 38s heal catalog-wb",
    ],
    ids=["all inputs pause", "all producers crash", "the catalog does not reach the old ones"],
)
def test_who_reaches_no_input_takes_nobodys_place_whatever_else_happens(besides: str) -> None:
    """They wait until they are as far as the old ones, who answer meanwhile: nobody judges by the state of a moment."""
    away = "; ".join(f"at 8s cut {f}-{w}; at 38s heal {f}-{w}" for f in ("fa", "fb") for w in ("wc", "wd"))
    moves = "at 10s move wa-wc; at 10.1s move wb-wd"
    run = observed(replace(chain("", seconds=45), faults=parse(f"{away}; {moves}; {besides}")))
    assert judged(run).violations == ()
    assert run.stage.layout.members["w"] == ("w@wc", "w@wd")
    times = sorted(one.at for one in run.deliveries["w.out"])
    assert max(after - before for before, after in pairwise(times)) < run.scenario.settings.bound + 1


def test_a_machine_that_died_with_replicas_of_neighbouring_queries_is_replaced():
    """Neither move waits for what leaves with the other."""
    schedule = "at 8s crash ua-fa; at 12s move ua-ux; at 12.5s move fa-fx"
    run = observed(chain(schedule, seconds=60, durable="ufw"))
    assert not judged(run).violations
    assert run.stage.layout.members["u"] == ("u@ux", "u@ub") and run.stage.layout.members["f"] == ("f@fx", "f@fb")
