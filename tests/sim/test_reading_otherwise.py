"""A version of a query reads other streams, or more of the past, than the one before it (X9, L58)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.sim.faults import parse
from auroral.sim.randomly import random_scenario
from auroral.sim.simulate import judged, observed
from auroral.sim.standin import Kind, Query
from sim.scenarios import chain

pytestmark = pytest.mark.slow

LATER = {
    "a longer window": (Query("w", Kind.WINDOW, ("f.out",), 9),),
    "a shorter window": (Query("w", Kind.WINDOW, ("f.out",), 1),),
    "one more input": (Query("w", Kind.JOIN, ("f.out", "t"), 4),),
    "another input": (Query("w", Kind.WINDOW, ("u.out",), 6),),
    "one more, and then not": (Query("w", Kind.JOIN, ("f.out", "s"), 5), Query("w", Kind.WINDOW, ("f.out",), 3)),
    "one input less": (Query("u", Kind.FILTER, ("s",)),),
}
SCHEDULES = {
    "no failure": "at 10s change {q}",
    "twice": "at 10s change {q}; at 20s change {q}",
    "a replica crashes when it has promised": "at 10s change {q}; at 10.02s crash {q}a; at 14s restart {q}a",
    "a replica is away, and promises are void": "at 9s cut {q}a; at 10s change {q}; at 20s heal {q}a",
    "everybody is lost behind it": "at 10s change {q}; at 16s crash ua-ub-fa-fb-wa-wb-c; at 18s restart",
    "an input is away when it begins": "at 10s change {q}; at 12s silence t; at 22s resume t",
    "those that give the input are lost": "at 9.9s crash ua-ub; at 10s change {q}; at 13s restart ua-ub",
    "replicas move behind it": "at 10s change {q}; at 10.1s move {q}a-{q}c; at 20s move {q}b-{q}d",
    "it is given up, and wanted again": "at 8s crash {q}a; at 10s change {q}; at 12s abandon {q}; at 14s restart {q}a; at 18s change {q}",
}
FEW = ("no failure", "a replica is away, and promises are void", "everybody is lost behind it")
CASES = [
    *((version, name, "") for version in ("one more input", "a longer window") for name in SCHEDULES),
    *((version, name, "ufw") for version in LATER for name in FEW),
]


@pytest.mark.parametrize(("version", "name", "durable"), CASES)
def test_every_bucket_is_of_what_its_version_reads(version, name, durable):
    later = LATER[version]
    query = later[0].name
    faults = parse(SCHEDULES[name].format(q=query))
    run = observed(replace(chain("", seconds=48, durable=durable), later={query: later}, faults=faults))
    outcome = judged(run)
    assert not outcome.violations, str(outcome)
    _, start, *_ = run.stage.layout.decision(query).starts
    assert 10 / 0.5 < start < 80
    before = replace(run.scenario, later={}).expected(run.stage.layout.versions)
    assert run.expected[f"{query}.out"][start:] != before[f"{query}.out"][start:], "it gives something else"


def test_it_begins_when_what_it_reads_is_there_and_not_before():
    """Nobody kept more of the past than was read."""
    later = {"w": (Query("w", Kind.WINDOW, ("f.out",), 15),)}
    run = observed(replace(chain("", seconds=30), later=later, faults=parse("at 10s change w")))
    assert judged(run).violations == ()
    (start,) = run.stage.layout.decision("w").starts[1:]
    oldest = 10 / 0.5 - 3
    assert oldest + 14 <= start <= oldest + 14 + 2


def test_what_no_version_reads_yet_begins_with_what_is_kept_of_it_when_a_replica_comes_back_without_it():
    """Where it read from the first bucket on, all that nobody ever needed would be said to be lost."""
    schedule = "at 10s change w; at 10.5s isolate wa-fa-fb-ua-ub-s; at 13s crash wa; at 17s restart wa; at 21s rejoin"
    scenario = replace(chain("", durable="ufw"), later={"w": LATER["one more input"]})
    run = observed(replace(scenario, faults=parse(schedule, scenario.hosts)))
    assert judged(run).violations == () and len(run.stage.layout.decision("w").starts) == 2


def test_what_no_version_reads_any_more_begins_with_what_is_kept_of_it_too():
    """Seed 51242: nobody was reached when it came back, and it asked for all that was ever read: that was said to be lost."""
    schedule = (
        "at 10s change u; at 20s crash ua-ub; at 20.2s restart ub; at 20.5s cut ua; at 20.6s restart ua; at 23s heal ua"
    )
    run = observed(replace(chain("", seconds=40), later={"u": LATER["one input less"]}, faults=parse(schedule)))
    assert run.stage.layout.decision("u").starts[1] < 40
    assert judged(run).violations == ()


def test_who_comes_back_begins_by_what_its_version_reads_whatever_a_later_one_still_lacks():
    """What only the later one reads says nothing of where to begin, and is not waited for when the other inputs say so."""
    schedule = (
        "at 8s crash c; at 9s isolate wa-t; at 9s cut wa-s; at 10s change w; at 12s crash wa; at 13s restart wa; at 20s rejoin wa-t; "
        "at 26s heal wa-s; at 28s restart c"
    )
    scenario = replace(chain(""), later={"w": (Query("w", Kind.JOIN, ("s", "t"), 3),)})
    run = observed(replace(scenario, faults=parse(schedule, scenario.hosts)))
    assert judged(run).violations == () and len(run.stage.layout.decision("w").starts) == 2


def test_nothing_is_tentative_or_late_where_nothing_fails():
    run = observed(
        replace(chain("", seconds=30), later={"w": LATER["one more input"]}, faults=parse("at 10s change w"))
    )
    assert (judged(run).violations, judged(run).tentative) == ((), 0)


def test_what_is_not_read_any_more_is_not_waited_for():
    schedule = "at 10s change u; at 20s silence t; at 29s resume t"
    run = observed(replace(chain("", seconds=40), later={"u": LATER["one input less"]}, faults=parse(schedule)))
    outcome = judged(run)
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)


def test_what_is_read_from_then_on_is_missed_when_it_fails():
    schedule = "at 10s change f; at 20s silence t; at 29s resume t"
    later = {"f": (Query("f", Kind.UNION, ("s", "t")),), "u": (Query("u", Kind.FILTER, ("s",)),)}
    run = observed(replace(chain("", seconds=45), later=later, faults=parse(schedule)))
    outcome = judged(run)
    assert not outcome.violations, str(outcome)
    missed = [one for one in run.given if one.stream == "f.out" and one.gaps]
    assert missed and all(source == "t" for one in missed for source, _ in one.gaps)


def test_seeds_have_such_versions():
    assert sum(bool(random_scenario(seed).later) for seed in range(60)) > 10
