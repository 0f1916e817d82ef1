"""Random schedules of failures keep every guarantee; a protocol that is broken does not (D76-D81)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from statistics import median

import pytest

from auroral.dpc.settings import Policy, Settings
from auroral.dpc.sunion import SUnion
from auroral.sim.faults import text
from auroral.sim.invariants import INVARIANTS
from auroral.sim.invariants.bounds import lateness
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import judged, observed, same_again, shrunk, simulate
from auroral.sim.standin import Kind, Query
from sim.scenarios import chain, pair, scheduled

pytestmark = pytest.mark.slow


def test_without_failures_nothing_is_tentative():
    outcome = simulate(chain(""))
    assert (outcome.violations, outcome.tentative) == ((), 0)
    assert outcome.worst_delay < 0.05


def test_a_source_that_is_away_is_done_without_and_corrected():
    """D75."""
    scenario = chain("at 5s silence t; at 15s resume t")
    outcome = simulate(scenario)
    assert not outcome.violations, str(outcome)
    assert outcome.tentative >= 10
    # The first waits for as long as X allows, were three replicas to fail after it, one at each depth.
    aside = 3 * (scenario.settings.failover + scenario.settings.hop + scenario.job)
    assert outcome.worst_delay == pytest.approx(1 - aside / scenario.settings.bound, abs=0.05)


def test_a_short_failure_gives_nothing_tentative():
    """D38."""
    outcome = simulate(chain("at 5s silence t; at 6.4s resume t"))
    assert (outcome.violations, outcome.tentative) == ((), 0)


def test_many_short_buckets_that_wait_to_be_made_stable_are_not_guessed():
    """D38: more buckets than one job takes."""
    outcome = simulate(chain("at 5s silence t; at 10s resume t", 30, bucket=0.1, bound=6.0, ping_every=0.05))
    assert (outcome.violations, outcome.tentative) == ((), 0)


@pytest.mark.parametrize(
    "lost", ["crash ua; at 15s restart ua", "cut ua; at 15s heal ua", "cut s-ua; at 15s heal s-ua"]
)
def test_one_replica_lost_is_masked(lost):
    """D33: the client sees only what is stable, and hardly later."""
    outcome = simulate(chain(f"at 5s {lost}"))
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)
    assert outcome.worst_delay < 0.7


@pytest.mark.parametrize("read_from", ["wa", "wb"])
@pytest.mark.parametrize("at", [12.4, 12.8, 13.0, 13.2, 13.4])
def test_a_replica_that_falls_silent_while_it_holds_back_the_first_bucket(read_from, at):
    """D77: failures at different depths, one after the other. The time to read from another replica is within the bound as well."""
    schedule = f"at 10s silence s; at {at}s cut {read_from}; at 20s heal {read_from}; at 22s resume s"
    outcome = simulate(chain(schedule, seconds=40, ping_every=0.3))
    assert not outcome.violations, str(outcome)
    assert outcome.tentative


ONE_AFTER_THE_OTHER = {
    "two depths": ("ua 12.93, fb 13.33", {}),
    "two depths, with slow heartbeats": ("ub 12.1, fb 13.2", {"ping_every": 0.3}),
    "the first and the last depth": ("ua 12.02, wb 12.4", {}),
    "three depths, as soon as X allows": ("ua 11.64, fb 12.02, wa 12.37", {"bound": 2.6}),
    "three depths, as late as heartbeats allow": ("ua 12.69, fb 13.55, wa 14.51", {"ping_every": 0.25, "bound": 5.5}),
}


@pytest.mark.parametrize("name", ONE_AFTER_THE_OTHER)
def test_replicas_at_several_depths_fall_silent_while_a_bucket_is_on_its_way(name):
    """D77: each depth takes the time to read from another replica, in whatever order. Hole 7: X holds for the whole of a chain, and not k * X."""
    told, settings = ONE_AFTER_THE_OTHER[name]
    cuts = "; ".join(f"at {at}s cut {where}; at 20s heal {where}" for where, at in map(str.split, told.split(", ")))
    outcome = simulate(chain(f"at 10s silence s; {cuts}; at 22s resume s", seconds=40, **settings))
    assert not outcome.violations, str(outcome)
    assert outcome.tentative and outcome.worst_delay > 0.5


def test_all_replicas_lost_one_after_the_other():
    """D68: what is needed to begin again is kept by those before them."""
    outcome = simulate(chain("at 5s crash fa; at 8s restart fa; at 12s crash fb; at 14s restart fb"))
    assert not outcome.violations, str(outcome)


LOST = {
    "each replica after the other, while the client is away": "at 5s cut c; at 10s crash fa; at 12s restart fa; at 14s crash fb; "
    "at 16s restart fb; at 18s crash wa; at 20s restart wa; at 22s crash wb; at 24s restart wb; at 28s heal c",
    "two levels at once (k = 2)": "at 5s cut c; at 10s crash fa; at 10s crash fb; at 10s crash wa; at 10s crash wb; at 12s restart fa; "
    "at 12s restart fb; at 12s restart wa; at 12s restart wb; at 16s heal c",
    "one that is read has less than another": "at 5s cut c; at 10s crash fb; at 12s restart fb; at 14s crash wa; at 16s restart wa; "
    "at 20s heal c",
    "acks that reached one replica only": "at 4s cut ua-fa; at 12s silence t; at 15s crash fa; at 16s heal ua-fa; at 16s cut ub-fa; "
    "at 17s restart fa; at 20s heal ub-fa; at 20.5s cut ua; at 22s resume t; at 30s heal ua",
    "restarted during a failure": "at 5s silence t; at 10s crash fa; at 12s restart fa; at 16s crash fb; at 30s restart fb; "
    "at 34s resume t",
}


@pytest.mark.parametrize("name", LOST)
def test_nothing_is_lost_for_good(name):
    """D68, D69."""
    outcome = simulate(chain(LOST[name], seconds=60))
    assert not outcome.violations, str(outcome)


BRANCHES = {
    "k = 1, one branch": ("g", "at 5s cut ja; at 5s cut jb"),
    "k = 1, both branches": ("fg", "at 5s cut ja; at 5s cut jb"),
    "k = 1, the join": ("j", "at 5s cut c"),
    "k = 2, a branch and the join": ("fj", "at 5s cut c"),
    "k = 2, both branches and the join": ("fgj", "at 5s cut c"),
    "k = 3, everything": ("ufgj", "at 5s cut c"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_levels_of_a_branching_diagram_are_lost_at_once(name):
    """D69: acknowledgements of all branches reach back to what the client has, over as many levels as there are."""
    queries = (
        Query("u", Kind.UNION, ("s", "t")),
        Query("f", Kind.FILTER, ("u.out",)),
        Query("g", Kind.WINDOW, ("u.out",), 3),
        Query("j", Kind.JOIN, ("f.out", "g.out"), 2),
    )
    settings = Settings(bucket=0.5, bound=3.0)
    scenario = Scenario(7, ("s", "t"), queries, dict.fromkeys("ufgj", 2), settings, 50)
    lost, away = BRANCHES[name]
    hosts, back = "-".join(f"{query}{one}" for query in lost for one in "ab"), away.replace("at 5s cut", "at 16s heal")
    outcome = simulate(scheduled(scenario, f"{away}; at 10s crash {hosts}; at 12s restart {hosts}; {back}"))
    assert not outcome.violations, str(outcome)


def test_stable_output_grows_while_an_input_is_always_down():
    """D81: the failures take turns, and overlap."""
    turns = "; ".join(
        f"at {begin}s silence {source}; at {begin + 7}s resume {source}"
        for begin, source in zip(range(5, 55, 5), "ts" * 5, strict=True)
    )
    run = observed(chain(turns, seconds=90))
    stable = [one.at for one in run.deliveries["w.out"] if one.stable]
    assert max(after - before for before, after in pairwise(stable)) < 15
    assert not [found for check in INVARIANTS for found in check(run)]


def test_the_bound_holds_for_failures_at_two_depths():
    """The bound: what was held back at one depth counts at the next."""
    queries = (Query("u", Kind.UNION, ("s", "t")), Query("v", Kind.UNION, ("u.out", "z")))
    settings = Settings(bucket=0.5, bound=3.0)
    scenario = Scenario(7, ("s", "t", "z"), queries, {"u": 2, "v": 2}, settings, 60)
    schedule = "at 5.2s silence t; at 5.2s silence z; at 7.5s resume t; at 20s resume z"
    outcome = simulate(scheduled(scenario, schedule))
    assert not outcome.violations, str(outcome)


@pytest.mark.parametrize(
    "scenario",
    [
        pair("", seconds=60, job=1.6),
        chain("", seconds=30, job=1.0),
        chain("at 10s unplug ua; at 20s restart ua", job=0.3, ping_every=0.3, bound=2.5),
    ],
    ids=["two long jobs", "three long jobs", "one replica is lost"],
)
def test_a_bound_that_is_too_short_for_the_work_is_reported_and_makes_nothing_tentative_by_itself(scenario):
    """D43, D76."""
    run = observed(scenario)
    outcome = judged(run)
    assert (outcome.violations, outcome.tentative) == ((), 0), str(outcome)
    assert [report for _, _, report in run.reports if report.kind == "bound too short"]


@pytest.mark.parametrize(("replicas", "job_bucket"), [(2, 0.002), (3, 0.03)])
def test_while_one_corrects_that_cannot_stay_fresh_another_one_is_read_for_what_is_new(replicas, job_bucket):
    """D57, D58: a job takes more than half of X, so that replicas take turns. Who waits for its own goes on answering, and is read."""
    scenario = pair("at 5s silence t; at 81.3s resume t", 101.3, job=1.6)
    outcome = simulate(replace(scenario, job_bucket=job_bucket, replicas={"u": replicas, "w": replicas}))
    assert not outcome.violations, str(outcome)
    assert outcome.worst_delay < 0.9


@pytest.mark.parametrize("bound", [5.0, 8.0, 12.0])
def test_what_waited_for_the_first_guess_is_not_guessed_all_at_once(bound):
    """D77: a bucket takes a fifth of its time, so that one job for all that came while the first was held would take longer than X leaves."""
    scenario = pair("at 5s silence t; at 25.3s resume t", 60, job=0.2, bound=bound)
    outcome = simulate(replace(scenario, job_bucket=0.1))
    assert not outcome.violations, str(outcome)
    assert outcome.worst_delay < 0.95


AWAY = "at 5s silence t; at 15s resume t"


def test_who_suspends_gives_nothing_tentative_and_breaks_the_bound():
    """D41."""
    outcome = simulate(chain(AWAY, while_failing=Policy.SUSPEND))
    assert (outcome.violations, outcome.tentative) == ((), 0), "it does not promise any more"
    assert outcome.worst_delay > 2


def test_who_delays_holds_every_bucket_and_who_processes_only_the_first():
    """D41: both keep the bound."""
    late = {}
    for policy in (Policy.DELAY, Policy.PROCESS):
        run = observed(chain(AWAY, while_failing=policy))
        assert not [found for check in INVARIANTS for found in check(run)]
        late[policy] = median(by for by, _ in list(lateness(run, "w.out"))[14:26])
    assert late[Policy.DELAY] > 2 and late[Policy.PROCESS] < 0.5


def test_a_share_of_the_bound_for_each_node():
    """D42: less is held back, and more is tentative."""
    whole, divided = (simulate(chain("at 5s silence t; at 6.4s resume t", share=share)) for share in (None, 1.0))
    assert whole.tentative == 0 < divided.tentative
    assert not divided.violations
    assert divided.worst_delay < 0.7


def test_without_a_bound_there_is_never_anything_tentative():
    """D45."""
    outcome = simulate(chain("at 5s silence t; at 15s resume t", bound=float("inf")))
    assert (outcome.violations, outcome.tentative) == ((), 0)


def test_the_same_seed_gives_the_same_run():
    assert same_again(chain("at 5s silence t; at 9s crash fa; at 15s resume t; at 16s restart fa", seconds=25))


HARD = "at 5s silence t; at 10s crash fa; at 13s restart fa; at 15s resume t; at 17s cut wb; at 20s heal wb"


def test_a_hard_schedule():
    assert not simulate(chain(HARD)).violations


@pytest.mark.parametrize("furthest", [1e6, -1e6])
def test_no_clock_is_compared_with_another(furthest):
    """Hosts whose clocks are days apart, also before zero, and a source that finds in its log what it wrote down by its own."""
    calm = chain(HARD + "; at 25.002s crash s; at 25.6s restart s")
    clocks = {where: furthest * place / 7 for place, where in enumerate(calm.hosts)}
    outcome, same = simulate(replace(calm, clocks=clocks)), simulate(calm)
    assert not outcome.violations, str(outcome)
    # Sums of large numbers are rounded otherwise, and what happens at the same moment may change places.
    assert outcome.tentative == pytest.approx(same.tentative, abs=2) and same.tentative > 10


def test_a_failing_schedule_is_made_short(monkeypatch):
    monkeypatch.setattr(SUnion, "tentative_range", lambda *_: None)
    found = shrunk(chain(HARD), lambda scenario: bool(simulate(scenario).violations))
    assert text(found.faults) == "at 5s silence t; at 15s resume t"


def test_a_source_that_closes_no_bucket_has_not_failed_altogether():
    """D29: what is computed from its rows is tentative, and is given to who comes back."""
    queries = (Query("f", Kind.FILTER, ("s",)), Query("w", Kind.WINDOW, ("f.out",), 3))
    calm = Scenario(7, ("s",), queries, {"f": 2, "w": 2}, Settings(bucket=0.5, bound=3.0), 45.0)
    outcome = simulate(scheduled(calm, "at 5s open s; at 12s isolate fa-fb; at 14s rejoin fa-fb; at 22s close s"))
    assert not outcome.violations, str(outcome)
    assert outcome.tentative > 20


@pytest.mark.parametrize(("late", "warned"), [(0.7, False), (0.8, True), (1.6, True), (2.8, True)])
def test_a_source_whose_clock_is_behind_is_waited_for_and_reported(late, warned):
    """Skew: each input learns its usual offset; one above X/4 warns. Only until it is learned something may be tentative."""
    run = observed(replace(chain("", seconds=30), skews={"s": 0.0, "t": late}))
    outcome = judged(run)
    assert not outcome.violations, str(outcome)
    assert outcome.tentative < 8 and not [one for one in run.deliveries["w.out"] if not one.stable and one.at > 10]
    assert any(report.kind == "inputs far apart" for _, _, report in run.reports) is warned
