"""When a bucket must not be waited for any longer (D37)."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from auroral.dpc import sunion as module
from auroral.dpc.coverage import NOTHING, AtLeast, Coverage, Level
from auroral.dpc.events import Evaluated, Kept, Received, Send, Started, Woken
from auroral.dpc.port import Held
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Policy
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import MOST_BUCKETS, OutputSpec, SUnion
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.usual import Usual
from auroral.dpc.values import Ack, Content, Pong, Stable, Subscribe
from auroral.dpc.versions import Plan
from dpc.test_replica import SETTINGS, given, jobs, replica


def to_guess(union: SUnion, now: float) -> tuple[int, int] | None:
    return union.tentative_range(now, union.deadlines(now))


def test_a_deadline_does_not_depend_on_which_input_fails():
    """T is usually 0.3 s later than S: when only T comes, the bucket is as late already."""
    first = {"s": 0.0, "t": 0.3}
    for missing, there in (("t", "s"), ("s", "t")):
        found = replica()
        for bucket in range(3):
            given(found, "s", bucket, bucket * 0.5 + 0.5)
            (job,) = jobs(given(found, "t", bucket, bucket * 0.5 + 0.8))
            found.handle(Evaluated(job.job, {"o": (Content(9, 1),)}), bucket * 0.5 + 0.8)
        given(found, there, 3, 2.0 + first[there])
        due = found.unions["o"].next_deadline(2.5)
        assert round(due, 3) == round(2.3 + SETTINGS.bound - SETTINGS.failover - SETTINGS.hop, 3), f"without {missing}"
        assert not jobs(found.handle(Woken(), due - 0.01))
        assert jobs(found.handle(Woken(), due))


def test_the_wait_of_a_bucket_that_came_in_parts_is_told_from_that_of_one_that_did_not():
    """A part comes 0.2 s before the end: what usually follows it would be too long from the end on."""
    found = replica().unions["o"]
    port = found.ports["s"]
    for bucket, (heard, opened) in enumerate([(0.3, True), (1.0, False), (1.3, True), (2.0, False)]):
        port.origin[bucket] = port.arrived[bucket] = heard
        if opened:
            port.opened.add(bucket)
        found.learn(bucket, 0.5 * bucket + 0.6)
    assert {key: round(usual.value, 3) for key, usual in found.usual_waits.items() if key[0] == "s"} == {
        ("s", False): 0.1,
        ("s", True): 0.3,
    }


def test_nothing_is_learned_from_what_is_sent_again():
    found = replica().unions["o"]
    port = found.ports["s"]
    port.arrived[7], port.origin[7] = 5.0, 4.2
    found.learn(7, 5.1)
    assert not found.usual_waits["s", False].times


def test_one_job_that_took_long_is_no_measure():
    """The time that is set aside for a job would make everything tentative for the next hundred."""
    usual = Usual()
    for seconds in (*[0.1] * 10, 4.0):
        usual.learn(seconds)
    assert usual.highest == 0.1
    usual.learn(4.0)
    assert usual.highest == 4.0


def test_without_a_bound_nothing_is_ever_tentative():
    """D45: also what is sent again from an earlier life, and so is as old as anything."""
    settings = replace(SETTINGS, bound=float("inf"))
    source = Source("s", ("q",), settings)
    source.handle(Started({"s": Kept(0, (Content(1, 1),))}), 0.0)
    (sent,) = [
        effect.message
        for effect in source.handle(Received("q", Subscribe("s", 1, Lane.BOTH, 0, False)), 9.0)
        if isinstance(effect, Send) and isinstance(effect.message, Stable)
    ]
    assert sent.held == ()
    found = Replica(replica().spec, settings)
    found.ports["s"].origin[0] = found.ports["s"].arrived[0] = float("-inf")
    assert to_guess(found.unions["o"], 1e9) is None


def test_what_is_usual_is_the_median_and_the_highest_of_the_last_hundred():
    usual = Usual()
    assert (usual.value, usual.highest) == (0.0, 0.0)
    for seconds in (3.0, 1.0, 2.0):
        usual.learn(seconds)
    assert (usual.value, usual.highest) == (2.0, 2.0), "of three or more the longest is no measure"
    usual, found = Usual(), {}
    for seconds in range(1, 120):
        usual.learn(float(seconds))
        found[seconds] = (usual.value, usual.highest, len(usual.times))
    assert found[2] == (2.0, 2.0, 2) and found[3] == (2.0, 2.0, 3)
    assert found[119] == (70.0, 118.0, 100)


def union(**settings: object) -> SUnion:
    """Of two inputs."""
    found = replica().unions["o"]
    found.settings = replace(SETTINGS, **settings)  # type: ignore[arg-type]
    return found


def heard(found: SUnion, name: str, times: dict[int, float]) -> None:
    """Tentative versions of these buckets."""
    for bucket, at in times.items():
        found.ports[name].origin[bucket] = found.ports[name].arrived[bucket] = at
        found.ports[name].tentative[bucket] = Held("S", 1, Content(bucket, 1), True, NOTHING)


def stable(found: SUnion, name: str, count: int, now: float) -> None:
    contents = tuple(Content(bucket, 1) for bucket in range(count))
    list(found.ports[name].take_stable(Stable(name, 1, 0, contents), now))


def test_the_time_of_a_bucket_is_the_bound_less_what_is_set_aside():
    """D37, D77: its own job, messages, those behind it, and the time to read from another replica."""
    found = union()
    heard(found, "s", {0: 1.0})
    assert found.next_deadline(1.0) == pytest.approx(1.0 + 3.0 - 0.02 - 0.44)
    found.usual_job.learn(0.25)
    found.outlet.readers_expected = ("r",)
    found.outlet.acknowledged("r", Ack(0, 0.5))
    due = found.next_deadline(1.0)
    assert due == pytest.approx(1.0 + 3.0 - 0.02 - 0.44 - 0.25 - 0.5)
    assert found.next_deadline(due) == float("inf"), "it has come"
    assert union(bound=float("inf")).next_deadline(0.0) == float("inf")


def test_a_bound_that_is_too_short_makes_nothing_tentative_before_a_failure_is_noticed():
    """D43, D76: what is set aside is more than the bound."""
    found = union()
    found.usual_job.learn(2.0)
    found.outlet.readers_expected = ("r",)
    found.outlet.acknowledged("r", Ack(0, 2.0))
    heard(found, "s", {0: 1.0})
    for port in found.ports.values():
        port.heard = 1.0
    detection, aside = found.settings.detection, 2.0 + 0.02 + 0.44 + 2.0
    assert found.deadlines(1.0) == {0: 1.0 + detection}, "t may still come"
    found.ports["t"].heard = 1.0 - found.settings.silence
    too_short = pytest.approx(1.0 + 3.0 - aside)
    assert found.deadlines(1.1)[0] == too_short, "it has failed"
    found.ports["t"].heard, found.processing = 1.0, True
    assert found.deadlines(1.1)[0] == too_short, "others were guessed before it"
    found.processing = False
    for name in "st":
        stable(found, name, 1, 1.2)
    assert found.deadlines(1.2)[0] == 1.0 + detection + 2 * 2.0, "the job before it, and its own"
    found.ports["t"].heard = 1.2 - found.settings.silence
    assert found.deadlines(1.3)[0] == 1.0 + detection + 2 * 2.0, "whatever became of its inputs"
    found.versions.plan = Plan((0,), 0, 1)
    assert found.deadlines(1.3)[0] == too_short, "no job is to come"


@pytest.mark.parametrize(("share", "due"), [(1.0, 2.0), (2.5, 0.2 + 3.0 - 0.02 - 0.44)])
def test_a_share_runs_from_when_the_bucket_came_here(share, due):
    """D42."""
    found = union(share=share)
    heard(found, "s", {0: 1.0})
    found.ports["s"].origin[0] = 0.2
    assert found.next_deadline(0.0) == pytest.approx(due)


@pytest.mark.parametrize(
    ("policy", "longest", "own"),
    [
        (Policy.PROCESS, 0.75, 0.75),
        (Policy.DELAY, 0.75, 1.5),
        (Policy.ADAPT, 0.75, 1.5),
        (Policy.DELAY, 0.5, 0.5),
    ],
)
@pytest.mark.parametrize("when", ["while_failing", "while_correcting"])
def test_where_each_bucket_is_held_to_the_last_it_waits_for_the_job_before(when, policy, longest, own):
    found = union(**{when: policy})
    found.usual_job.learn(longest)
    assert found.own_time == own


def test_buckets_that_are_due_and_follow_one_another_go_into_one_job():
    for times, expected in (
        ({0: 0.5, 1: 0.6, 2: 9.0, 4: 0.5}, (0, 2)),
        ({0: 0.5, 2: 0.5}, (0, 1)),
        ({0: 9.0, 1: 0.5, 2: 0.5}, (1, 3)),
        ({0: 9.0}, None),
        ({}, None),
    ):
        found = union(while_failing=Policy.DELAY)
        heard(found, "s", times)
        assert to_guess(found, 5.0) == expected
        found.settings = replace(SETTINGS, while_failing=Policy.SUSPEND)
        assert to_guess(found, 5.0) is None, "D41"


def test_what_was_given_out_is_not_given_again():
    found = union(while_failing=Policy.DELAY)
    heard(found, "s", dict.fromkeys(range(5), 0.5))
    found.outlet.newest = 1
    assert to_guess(found, 5.0) == (2, 5)
    found.outlet.frontier = 4
    assert to_guess(found, 5.0) == (4, 5)


@pytest.mark.parametrize(("policy", "expected"), [(Policy.PROCESS, (0, 1)), (Policy.SUSPEND, None)])
def test_what_is_about_to_be_made_stable_is_guessed_when_its_time_is_over(policy, expected):
    """D41: not by who held back all of a failure."""
    found = union(while_failing=policy)
    for name in "st":
        stable(found, name, 1, 0.5)
        found.ports[name].heard = 3.9
    assert to_guess(found, 1.0) is None
    assert to_guess(found, 4.0) == expected
    found.processing = True
    assert to_guess(found, 1.0) is None, "the stable job comes first"
    assert to_guess(found, 4.0) == (0, 1), "others were guessed before it"


def test_after_the_first_bucket_of_a_failure_none_waits_for_who_is_away():
    """D38, D41: PROCESS."""
    found = union()
    heard(found, "s", {0: 2.0})
    found.ports["s"].heard = 2.0
    assert to_guess(found, 2.0) is None, "the first one waits"
    found.processing = True
    assert to_guess(found, 1.5) is None, "t may still come"
    assert to_guess(found, 2.0) == (0, 1)
    found.ports["s"].tentative[0] = Held("S", 1, Content(0, 1), False, NOTHING)
    assert to_guess(found, 2.0) is None, "more of it is to come"


def test_what_all_inputs_have_closed_is_not_waited_for():
    found = union()
    heard(found, "s", {0: 1.0})
    heard(found, "t", {0: 1.0})
    assert to_guess(found, 1.1) == (0, 1)
    stable(found, "s", 1, 1.1)
    assert to_guess(found, 1.1) == (0, 1)
    stable(found, "t", 1, 1.1)
    assert to_guess(found, 1.1) is None, "it is about to be made stable"
    found.versions.plan = Plan((0,), 0, 1)
    assert to_guess(found, 1.1) is None, "and only waits for its turn"
    found.processing = True
    assert to_guess(found, 1.1) == (0, 1)


def test_which_policy_holds():
    """D41; thesis 5.4.2."""
    found = union(while_failing=Policy.SUSPEND, while_correcting=Policy.DELAY)
    assert (found._policy(1.5), found._policy(1.6)) == (Policy.DELAY, Policy.SUSPEND)
    found = union(while_failing=Policy.ADAPT)
    assert found._policy(99.0) is Policy.DELAY, "it was not noticed yet"
    found.failing_since = 1.0
    assert (found._policy(30.9), found._policy(31.0)) == (Policy.DELAY, Policy.PROCESS)


def test_the_state_is_that_of_what_it_cannot_do_without():
    """D29. Hole 6: it is said from when a failure is noticed, before anything is tentative."""
    found = union()
    found.ports["s"].heard = 1.0
    assert [found.state(now) for now in (0.1, 1.5, 1.6, 2.5, 2.6)] == [
        State.STABLE,
        State.STABLE,
        State.UP_FAILURE,
        State.UP_FAILURE,
        State.FAILURE,
    ]
    assert found.outlet.newest == -1 and not found.processing


@pytest.mark.parametrize("order", list(permutations("stu")))
def test_the_worst_of_what_holds_is_said_in_whatever_order_inputs_are_looked_at(order):
    """Hole 2: one of s and t is enough, and u is needed."""
    output = OutputSpec("o", dict.fromkeys(order, 1), (frozenset("st"), frozenset("u")), ())
    core = Replica(
        ReplicaSpec("q", {n: (n.upper(),) for n in order}, {n: (n,) for n in order}, {"o": output}), SETTINGS
    )
    core.handle(Started(), 0.0)

    def state(of_s: State, u_heard: float) -> State:
        for name in "stu":
            said = of_s if name == "s" else State.STABLE
            core.handle(Received(name.upper(), Pong({name: Offer(said)}, {})), 2.5)
            core.ports[name].heard = u_heard if name == "u" else 2.5
        return core.unions["o"].state(2.6)

    assert state(State.STABLE, 2.5) is State.STABLE
    assert state(State.UP_FAILURE, 2.5) is State.UP_FAILURE
    assert state(State.UP_FAILURE, 1.0) is State.FAILURE
    core.outlets["o"].newest = 0
    assert state(State.STABLE, 2.5) is State.STABILIZATION
    assert state(State.UP_FAILURE, 2.5) is State.UP_FAILURE, "what it lacks now is not corrected yet"
    assert state(State.UP_FAILURE, 1.0) is State.FAILURE


def test_one_that_is_as_far_behind_as_a_failure_that_is_noticed_corrects():
    found = union()
    for name in "st":
        stable(found, name, 2, 0.5)
    assert found.state(0.6) is State.STABLE
    for name in "st":
        stable(found, name, 3, 0.5)
    assert found.state(0.6) is State.STABILIZATION
    found.usual_job.learn(0.25)
    assert found.state(0.6) is State.STABLE, "two jobs of the usual length are no delay"
    for name in "st":
        stable(found, name, 4, 0.5)
    found.usual_job.learn(0.45)
    assert found.state(0.6) is State.STABILIZATION, "a third one would be"
    for _ in range(2):
        found.usual_job.learn(0.5)
    assert found.state(0.6) is State.STABLE
    found.outlet.newest = 0
    assert found.state(0.6) is State.STABILIZATION, "what was tentative is to be corrected"
    found.outlet.frontier = 3
    assert found.state(0.6) is State.STABLE, "one bucket is left"


def test_one_that_is_further_behind_than_a_job_takes_buckets_corrects():
    """D31: with long jobs, those of one alone are no delay."""
    found = union()
    found.usual_job.learn(0.5 * MOST_BUCKETS / 2)
    for name in "st":
        stable(found, name, MOST_BUCKETS + 2, 0.5)
    assert found.state(0.6) is State.STABLE
    for name in "st":
        stable(found, name, MOST_BUCKETS + 3, 0.5)
    assert found.state(0.6) is State.STABILIZATION
    found.versions.plan = Plan((0,), MOST_BUCKETS, 1)
    assert found.state(0.6) is State.STABLE, "what it promised to wait for is not its own delay"


def test_one_that_a_promise_holds_up_says_so():
    """Also where nothing is ever tentative: what comes next may never come."""
    found = union(bound=float("inf"))
    list(found.outlet.give_stable([Content(bucket, 1) for bucket in range(4)], 0.4))
    found.versions.plan = Plan((0,), 4, 1)
    for name in "st":
        stable(found, name, 6, 0.5)
    assert found.state(0.6) is State.STABLE, "a bucket or two may wait for a job"
    for name in "st":
        stable(found, name, 9, 0.5)
    assert (found.state(0.6), found.held_up) == (State.UP_FAILURE, True)
    found.outlet.newest = 5
    assert found.state(0.6) is State.UP_FAILURE, "as long as it is held up, nothing is corrected"
    found.versions.plan = Plan((0, 4), None, 1)
    assert (found.state(0.6), found.held_up) == (State.STABILIZATION, False)


def test_a_state_is_noted_with_its_time_and_a_failure_ends_when_all_is_stable():
    found = union()
    found.note_state(0.1)
    assert (found.noted, found.since, found.failing_since) == (State.STABLE, 0.0, None)
    found.processing = True
    for now in (2.0, 3.0):
        found.note_state(now)
        assert (found.noted, found.since, found.failing_since) == (State.FAILURE, 2.0, 2.0)
    found.ports["s"].heard = 3.5
    found.note_state(3.6)
    assert (found.noted, found.since, found.failing_since) == (State.UP_FAILURE, 3.6, 2.0)
    assert found.processing
    found.ports["t"].heard = 3.5
    found.note_state(3.7)
    assert (found.noted, found.since, found.failing_since) == (State.STABLE, 3.7, None)
    assert not found.processing


def test_a_stable_state_is_said_as_noted_until_an_input_is_silent_for_too_long():
    found = union()
    found.ports["s"].heard, found.ports["t"].heard = 2.0, 1.0
    found.note_state(2.0)
    found.outlet.newest = 0
    assert found.state(2.0) is State.STABILIZATION
    assert found.said(1.0 + found.settings.silence) is State.STABLE, "what changes it is noted with the next step"
    assert found.said(1.1 + found.settings.silence) is State.UP_FAILURE
    found.note_state(2.0)
    found.outlet.newest = -1
    assert found.said(2.0) is State.STABLE, "what is not well is looked at each time"


def test_what_is_late_is_late_by_more_than_a_job_takes():
    found = union()
    assert (found.held(1.0, 1.5), found.held(1.0, 0.5)) == (0.5, 0.0)
    found.usual_job.learn(0.25)
    assert found.held(1.0, 1.5) == 0.25


def test_how_long_a_bucket_waits_is_learned_up_to_a_failure():
    found = union()
    for bucket, (arrived, waited) in enumerate([(0.02, 0.9), (0.03, 0.9), (0.0, 1.0), (0.0, 0.5)]):
        found.ports["s"].origin[bucket], found.ports["s"].arrived[bucket] = 0.0, arrived
        found.learn(bucket, waited)
    assert found.usual_waits["s", False].times == [0.9, 0.5]
    assert found.usual_waits["t", False].times == [], "it never came there"
    found.processing = True
    found.learn(3, 0.5)
    assert len(found.usual_waits["s", False].times) == 2


def test_windows_reach_back_and_not_before_the_first_bucket():
    output = OutputSpec("o", {"s": 3}, (frozenset("s"),), ())
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}), SETTINGS).unions["o"]
    stable(found, "s", 8, 0.5)
    assert [found.reads_from("s", bucket) for bucket in (0, 2, 3, 5)] == [0, 0, 1, 3]
    assert [found.coverage(bucket).spans["s"] for bucket in (1, 5)] == [
        ((0, 2, Level.COMPLETE),),
        ((3, 6, Level.COMPLETE),),
    ]
    assert [sorted(found.view(begin, 7)["s"]) for begin in (1, 5)] == [[0, 1, 2, 3, 4, 5, 6], [3, 4, 5, 6]]
    assert len(found.coverages(4, 6, 4)) == 2


def test_a_job_of_a_fold_covers_what_is_folded_since_its_state():
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), (), folds=True)
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}), SETTINGS).unions["o"]
    heard(found, "s", dict.fromkeys((1, 2, 3), 0.5))
    for bucket in (1, 2, 3):
        held = found.ports["s"].tentative[bucket]
        found.ports["s"].tentative[bucket] = replace(held, coverage=Coverage.of("s", bucket, Level.PARTIAL))
    spans = [covered.spans["s"] for covered in found.coverages(2, 4, 2)]
    missing = (0, 1, Level.MISSING)
    assert spans == [(missing, (1, 3, Level.PARTIAL)), (missing, (1, 4, Level.PARTIAL))]
    assert sorted(found.view(2, 4)["s"]) == [1, 2, 3]


def test_who_held_back_all_of_a_failure_guesses_when_it_is_over_what_cannot_be_stable_yet():
    """D41: behind one that corrects."""
    found = union(while_failing=Policy.SUSPEND)
    for name in "st":
        heard(found, name, {0: 1.0})
        found.ports[name].heard = 1.0
    assert to_guess(found, 1.1) == (0, 1)


def test_a_stable_job_ends_before_what_is_lost():
    """D71."""
    found = union()
    for name in "st":
        stable(found, name, 4, 0.5)
    assert found.stable_range == (0, 4) and not found.gives_up
    for lost, end in ((3, 3), (1, 1), (0, 0)):
        found.ports["t"].lost.add(lost)
        assert found.stable_range == (0, end)
    assert found.gives_up and not found.can_be_stable


def test_what_is_asked_of_the_coverage_holds_up_only_what_does_not_have_it():
    """Constraints: emit only if so many of the sources are there."""
    for wanted in (1, 2):
        constraint = AtLeast(wanted, frozenset("st"))
        output = OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), (), (constraint,))
        spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output})
        found = Replica(spec, SETTINGS)
        found.ports["s"].stable[0] = Content(0, 1)
        assert found.unions["o"].allowed(0) is (wanted == 1)


def test_a_guess_of_many_rows_is_made_in_several_jobs(monkeypatch):
    """Or all that is new would wait for one job that is longer than the bound, or does not fit in memory."""
    found = replica()
    for bucket in range(6):
        given(found, "s", bucket, 0.5 * bucket + 0.5)
    union = found.unions["o"]
    assert to_guess(union, 9.0) == (0, 6)
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    assert to_guess(union, 9.0) == (0, 2)
    monkeypatch.setattr(module, "MOST_ROWS", 0)
    assert to_guess(union, 9.0) == (0, 1), "one at least"
