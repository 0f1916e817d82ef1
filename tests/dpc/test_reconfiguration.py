"""Another version of a query, from the same bucket on at all replicas (X9, L58)."""

from __future__ import annotations

from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import (
    Changed,
    Decide,
    Effect,
    Evaluate,
    Evaluated,
    KeepPlan,
    Propose,
    Received,
    Send,
    Started,
    WakeAt,
    Woken,
)
from auroral.dpc.reconfiguration import PATIENCE, PAUSE, Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import UNLIMITED, Settings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import (
    Ack,
    Commit,
    Committed,
    Content,
    Message,
    Ping,
    Pong,
    Prepare,
    Promise,
    Stable,
    Tentative,
    Withdraw,
)
from auroral.dpc.versions import Plan

SETTINGS = Settings(bucket=0.5, bound=3.0)
AHEAD = 6
"""Buckets in which the others can promise."""


def said(effects: list[Effect]) -> list[tuple[str, Message]]:
    return [(e.to, e.message) for e in effects if isinstance(e, Send) and not isinstance(e.message, Ping)]


# The catalog


def catalog(decided: Decide | None = None) -> Reconfiguration:
    found = Reconfiguration(("a", "b"), SETTINGS)
    found.handle(Started(decided=decided), 0.0)
    return found


def test_the_highest_promise_is_where_the_version_begins():
    found = catalog()
    effects = found.handle(Propose(), 1.0)
    assert effects[0] == Decide((0,), True, 0), "what is wanted survives"
    assert said(effects) == [("a", Prepare(1, 1)), ("b", Prepare(1, 1))]
    assert effects.index(Decide((0,), True, 1)) < effects.index(Send("a", Prepare(1, 1)))
    assert said(found.handle(Received("a", Promise(1, 1, 20)), 1.1)) == [("b", Prepare(1, 1))]
    effects = found.handle(Received("b", Promise(1, 1, 17)), 1.2)
    assert effects.index(Decide((0, 20), False, 1)) < effects.index(Send("a", Commit(1, 20)))
    assert Changed(1, 20) in effects
    found.handle(Received("a", Committed(1)), 1.3)
    assert said(found.handle(Woken(), 1.8)) == [("b", Commit(1, 20))], "until it knows"
    found.handle(Received("b", Committed(1)), 1.9)
    assert said(found.handle(Woken(), 2.4)) == []


def test_who_cannot_be_reached_delays_the_change_and_not_the_others():
    found = catalog()
    found.handle(Propose(), 1.0)
    found.handle(Received("a", Promise(1, 1, 20)), 1.1)
    assert said(found.handle(Woken(), 1.1 + PATIENCE)) == [("a", Withdraw(1, 1)), ("b", Withdraw(1, 1))]
    late = found.handle(Received("b", Promise(1, 1, 30)), 5.0)
    assert not [e for e in late if isinstance(e, Changed)], "a is free by then"
    assert said(found.handle(Woken(), 1.1 + PATIENCE + PAUSE)) == [("a", Prepare(1, 2)), ("b", Prepare(1, 2))]


def test_a_catalog_that_comes_back_releases_or_goes_on():
    found = catalog(Decide((0,), True, 4))
    assert said(found.handle(Woken(), 0.1)) == [("a", Prepare(1, 5)), ("b", Prepare(1, 5))], "a number of its own"
    found = catalog(Decide((0, 20), False, 4))
    assert said(found.handle(Woken(), 0.1)) == [("a", Commit(1, 20)), ("b", Commit(1, 20))]


# A replica


def replica(plan: Plan | None = None, recovering: bool = False) -> Replica:
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",))
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}), SETTINGS, recovering)
    found.handle(Started(plan=plan or Plan()), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE)}, {})), 0.0)
    return found


def told(found: Replica, message: Message, now: float) -> list[Effect]:
    return found.handle(Received("catalog", message), now)


def given(found: Replica, begin: int, end: int, now: float) -> list[tuple[int, int, int]]:
    """The jobs that it leads to, each done at once: buckets and version."""
    contents = tuple(Content(bucket, 1) for bucket in range(begin, end))
    effects = found.handle(Received("S", Stable("s", found.ports["s"].numbers["S"], begin, contents)), now)
    return all_done(found, effects, now)


def all_done(found: Replica, effects: list[Effect], now: float) -> list[tuple[int, int, int]]:
    jobs = []
    while made := [e for e in effects if isinstance(e, Evaluate) and not e.tentative]:
        (job,) = made
        jobs.append((job.begin, job.end, job.version))
        contents = tuple(Content(bucket, 1) for bucket in range(job.begin, job.end))
        effects = found.handle(Evaluated(job.job, {"o": contents}), now)
    return jobs


def test_what_is_promised_is_not_passed_and_no_job_is_of_two_versions():
    found = replica()
    assert given(found, 0, 4, 0.5) == [(0, 4, 0)]
    effects = told(found, Prepare(1, 1), 0.6)
    assert effects.index(KeepPlan(Plan((0,), 4 + AHEAD, 1))) < effects.index(Send("catalog", Promise(1, 1, 4 + AHEAD)))
    assert given(found, 4, 20, 0.7) == [(4, 4 + AHEAD, 0)]
    effects = told(found, Commit(1, 13), 0.8)
    assert ("catalog", Committed(1)) in said(effects)
    assert all_done(found, effects, 0.8) == [(10, 13, 0), (13, 20, 1)]


def test_the_same_answer_for_the_same_attempt_and_none_for_an_old_one():
    found = replica()
    given(found, 0, 4, 0.5)
    told(found, Prepare(1, 2), 0.6)
    given(found, 4, 6, 0.7)
    assert said(told(found, Prepare(1, 2), 0.8)) == [("catalog", Promise(1, 2, 4 + AHEAD))]
    assert said(told(found, Prepare(1, 1), 0.9)) == []
    told(found, Withdraw(1, 1), 1.0)
    assert found.versions.plan.limit == 4 + AHEAD, "that was of an earlier attempt"
    told(found, Withdraw(1, 2), 1.0)
    assert found.versions.plan.limit == UNLIMITED
    assert said(told(found, Prepare(1, 3), 1.1)) == [("catalog", Promise(1, 3, 6 + AHEAD))]


def test_who_was_told_before_says_so_again():
    found = replica()
    told(found, Commit(1, 5), 0.1)
    assert said(told(found, Commit(1, 5), 0.2)) == [("catalog", Committed(1))]
    assert found.versions.plan == Plan((0, 5))
    assert said(told(found, Prepare(1, 9), 0.3)) == [], "that is past"


def test_what_readers_have_from_others_counts():
    """Another replica may have given them more."""
    found = replica()
    found.handle(Received("r", Ping({"o": Ack(40, 0.0)}, {})), 0.1)
    assert said(told(found, Prepare(1, 1), 0.2)) == [("catalog", Promise(1, 1, 40 + AHEAD))]


def test_a_promise_outlives_a_crash_and_who_recovers_makes_none():
    found = replica(Plan((0,), 3, 1))
    assert given(found, 0, 9, 0.5) == [(0, 3, 0)]
    assert said(told(replica(recovering=True), Prepare(1, 1), 0.6)) == []


def test_who_asks_again_soon_is_woken_for_it():
    assert catalog().handle(Woken(), 1.0)[-1] == WakeAt(1.5)


def test_a_promise_of_another_attempt_or_of_a_stranger_does_not_count():
    found = catalog(Decide((0, 9), True, 4))
    assert said(found.handle(Woken(), 0.1)) == [("a", Prepare(2, 5)), ("b", Prepare(2, 5))]
    for sender, promise in (("a", Promise(1, 5, 30)), ("a", Promise(2, 4, 30)), ("x", Promise(2, 5, 30))):
        found.handle(Received(sender, promise), 0.2)
    assert found.promises == {}
    found.handle(Received("a", Promise(2, 5, 30)), 0.3)
    effects = found.handle(Received("b", Promise(2, 5, 31)), 0.4)
    assert Changed(2, 31) in effects and found.starts == (0, 9, 31)
    assert said(effects) == [(to, commit) for to in "ab" for commit in (Commit(1, 9), Commit(2, 31))]
    found.handle(Received("a", Committed(1)), 0.5)
    assert "a" not in found.told, "it does not know all yet"


def test_nothing_is_said_where_nothing_is_wanted():
    found = catalog()
    assert said(found.handle(Woken(), 50.0)) == []


def test_an_attempt_ends_when_patience_does_and_the_next_waits_for_the_pause():
    found = catalog()
    found.handle(Propose(), 1.0)
    assert said(found.handle(Woken(), 0.9 + PATIENCE))[0] == ("a", Prepare(1, 1))
    assert said(found.handle(Woken(), 1.0 + PATIENCE))[0] == ("a", Withdraw(1, 1))
    assert said(found.handle(Woken(), 0.9 + PATIENCE + PAUSE))[0] == ("a", Withdraw(1, 1))
    assert said(found.handle(Woken(), 1.0 + PATIENCE + PAUSE))[0] == ("a", Prepare(1, 2))


def test_what_changes_nothing_is_not_written_down():
    found = replica()
    told(found, Prepare(1, 2), 0.1)
    for message in (Prepare(1, 2), Prepare(2, 3), Withdraw(2, 5), Commit(3, 9)):
        assert not [e for e in told(found, message, 0.2) if isinstance(e, KeepPlan)]
    assert found.versions.plan == Plan((0,), AHEAD, 2)
    assert KeepPlan(Plan((0,), None, 3)) in told(found, Withdraw(1, 3), 0.3)
    assert said(told(found, Prepare(1, 3), 0.4)) == [("catalog", Promise(1, 3, AHEAD))], "asked for after all"
    assert KeepPlan(Plan((0, 8))) in told(found, Commit(1, 8), 0.5)
    assert said(told(found, Commit(3, 9), 0.6)) == [], "one is missing between"


def test_what_is_just_being_made_stable_counts():
    found = replica()
    contents = tuple(Content(bucket, 1) for bucket in range(3))
    found.handle(Received("S", Stable("s", 1, 0, contents)), 0.5)
    assert said(told(found, Prepare(1, 1), 0.6)) == [("catalog", Promise(1, 1, 3 + AHEAD))]


def test_a_guess_is_of_one_version_too():
    found = replica(Plan((0, 5)))
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.1)
    for bucket in range(8):
        guess = Tentative("s", 1, bucket, Content(bucket, 1), True, 0.0, NOTHING)
        found.handle(Received("S", guess), 0.5)
    (first,) = found.jobs.running.values()
    found.handle(Evaluated(1, {"o": (Content(0, 1),)}), 0.6)
    (job,) = found.jobs.running.values()
    assert [(first.begin, first.end), (job.begin, job.end)] == [(0, 1), (1, 5)]
    (effect,) = [e for e in found.handle(Evaluated(2, {"o": contents(4)}), 0.7) if isinstance(e, Evaluate)]
    assert (effect.begin, effect.end, effect.version, effect.tentative) == (5, 8, 1, True)


def contents(count: int) -> tuple[Content, ...]:
    return tuple(Content(number, 1) for number in range(count))
