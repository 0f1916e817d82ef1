"""Another version of a query, from the same bucket on at all replicas (X9, L58)."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.changing import PATIENCE, PAUSE
from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import (
    Changed,
    Effect,
    Evaluate,
    Evaluated,
    GiveUp,
    KeepLayout,
    KeepPlan,
    MoveTo,
    Propose,
    Received,
    Report,
    Send,
    Started,
    WakeAt,
    Woken,
)
from auroral.dpc.layout import Layout, Topology, Wanted
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import UNLIMITED, Settings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import (
    Ack,
    Content,
    Decided,
    Known,
    Message,
    Ping,
    Pong,
    Prepare,
    Promise,
    Rewired,
    Stable,
    Tentative,
)
from auroral.dpc.versions import Decision, Plan

SETTINGS = Settings(bucket=0.5, bound=3.0)
AHEAD = 6
"""Buckets in which the others can promise."""


def said(effects: list[Effect]) -> list[tuple[str, Message]]:
    return [(e.to, e.message) for e in effects if isinstance(e, Send) and not isinstance(e.message, Ping)]


# The catalog

TOPOLOGY = Topology({"q": ("s",)}, {"q": ("o",)}, {"s": "S"}, {"client": ("o",)})
BEFORE = Layout({"q": ("a", "b")})


def catalog(layout: Layout | None = None) -> Reconfiguration:
    """Everyone knows the layout."""
    found = Reconfiguration(TOPOLOGY, BEFORE)
    found.handle(Started(layout=layout), 0.0)
    for core in [*found.untold]:
        found.handle(Received(core, Rewired(found.layout.number)), 0.0)
    return found


def changing(starts: tuple[int, ...], attempt: int, query: str | None = "q") -> Layout:
    return replace(BEFORE, changing=query, versions={"q": Decision(starts, attempt)})


def kept(effects: list[Effect]) -> list[tuple[str | None, Decision]]:
    return [(e.layout.changing, e.layout.decision("q")) for e in effects if isinstance(e, KeepLayout)]


def asked(effects: list[Effect]) -> list[tuple[str, Message]]:
    return [(to, message) for to, message in said(effects) if isinstance(message, Prepare)]


def decided(effects: list[Effect]) -> list[tuple[str, Decision]]:
    return [(to, message.decision) for to, message in said(effects) if isinstance(message, Decided)]


def both(message: Message) -> list[tuple[str, Message]]:
    return [("a", message), ("b", message)]


def test_the_highest_promise_is_where_the_version_begins():
    found = catalog()
    effects = found.handle(Propose("q"), 1.0)
    assert next(e.layout.wanted for e in effects if isinstance(e, KeepLayout)) == (Wanted("q"),), "it survives"
    assert asked(effects) == both(Prepare(1, 1))
    last = max(place for place, effect in enumerate(effects) if isinstance(effect, KeepLayout))
    assert kept(effects)[-1] == ("q", Decision((0,), 1)) and last < effects.index(Send("a", Prepare(1, 1)))
    assert asked(found.handle(Received("a", Promise(1, 1, 20)), 1.6)) == [("b", Prepare(1, 1))]
    effects = found.handle(Received("b", Promise(1, 1, 17)), 1.7)
    assert kept(effects) == [(None, Decision((0, 20), 1))]
    assert isinstance(effects[0], KeepLayout) and Changed("q", 1, 20) in effects
    assert decided(effects) == [("a", Decision((0, 20), 1)), ("b", Decision((0, 20), 1))]
    found.handle(Received("a", Known(Decision((0, 20), 1))), 1.8)
    assert said(found.handle(Woken(), 2.3)) == [("b", Decided(Decision((0, 20), 1)))], "until it knows"
    found.handle(Received("b", Known(Decision((0, 20), 1))), 2.4)
    assert said(found.handle(Woken(), 2.9)) == []


def test_what_was_promised_in_the_attempt_under_way_is_not_called_void():
    found = catalog()
    effects = found.handle(Propose("q"), 1.0)
    assert decided(effects) == [("a", Decision((0,), 0)), ("b", Decision((0,), 0))]
    assert decided(found.handle(Woken(), 1.5)) == decided(effects)


def test_who_cannot_be_reached_delays_the_change_and_not_the_others():
    found = catalog()
    found.handle(Propose("q"), 1.0)
    found.handle(Received("a", Promise(1, 1, 20)), 1.1)
    effects = found.handle(Woken(), 1.0 + PATIENCE)
    assert decided(effects) == [("a", Decision((0,), 1)), ("b", Decision((0,), 1))] and not asked(effects)
    late = found.handle(Received("b", Promise(1, 1, 30)), 5.0)
    assert not [e for e in late if isinstance(e, Changed)], "a is free by then"
    assert not asked(found.handle(Woken(), 0.9 + PATIENCE + PAUSE))
    effects = found.handle(Woken(), 1.0 + PATIENCE + PAUSE)
    assert asked(effects) == both(Prepare(1, 2)) and kept(effects) == [("q", Decision((0,), 2))]


def test_a_catalog_that_comes_back_releases_or_goes_on():
    found = catalog(changing((0,), 4))
    effects = found.handle(Woken(), 0.6)
    assert asked(effects) == both(Prepare(1, 5)), "a number of its own"
    assert decided(effects) == [("a", Decision((0,), 4)), ("b", Decision((0,), 4))], "what it began is void"
    found = catalog(changing((0, 20), 4, None))
    assert decided(found.handle(Woken(), 0.6)) == [("a", Decision((0, 20), 4)), ("b", Decision((0, 20), 4))]


def test_a_promise_of_another_attempt_or_of_a_stranger_does_not_count():
    found = catalog(changing((0, 9), 4))
    assert asked(found.handle(Woken(), 0.6)) == both(Prepare(2, 5))
    for sender, promise in (("a", Promise(1, 5, 30)), ("a", Promise(2, 4, 30)), ("x", Promise(2, 5, 30))):
        found.handle(Received(sender, promise), 0.7)
    assert found.change is not None and found.change.promises == {}
    found.handle(Received("a", Promise(2, 5, 30)), 0.8)
    effects = found.handle(Received("b", Promise(2, 5, 31)), 0.9)
    assert Changed("q", 2, 31) in effects and found.layout.decision("q") == Decision((0, 9, 31), 5)


def test_changes_and_moves_take_turns():
    """A new replica begins with what is decided: none is asked whose place another takes."""
    found = catalog()
    found.handle(Propose("q"), 1.0)
    found.handle(MoveTo("q", "a", "c"), 1.1)
    found.handle(Propose("q"), 1.2)
    assert found.layout.moving is None and found.layout.wanted == (Wanted("q", "a", "c"), Wanted("q"))
    for replica in "ab":
        found.handle(Received(replica, Promise(1, 1, 20)), 1.3)
    found.handle(Woken(), 1.8)
    assert found.layout.moving == "q" and found.change is None
    for _ in range(4):
        for core in [*found.untold]:
            found.handle(Received(core, Rewired(found.layout.number)), 2.0)
        found.handle(Received("c", Pong({}, {})), 2.1)
    assert found.layout.members["q"] == ("c", "b") and found.change is not None
    assert found.change.replicas == ("c", "b") and found.layout.decision("q").starts == (0, 20)


def test_a_change_that_waits_in_vain_can_be_given_up():
    found = catalog()
    found.handle(Propose("q"), 1.0)
    found.handle(Received("a", Promise(1, 1, 20)), 1.1)
    effects = found.handle(GiveUp("q"), 1.2)
    assert kept(effects) == [(None, Decision((0,), 1))] and found.change is None
    assert ("a", Decision((0,), 1)) in decided(effects), "it need not wait for it"
    assert not asked(found.handle(Woken(), 20.0))
    found.handle(Propose("q"), 21.0)
    assert asked(found.handle(Woken(), 21.5)) == both(Prepare(1, 2))


def test_what_is_not_there_cannot_be_changed():
    (refused,) = [effect for effect in catalog().handle(Propose("x"), 1.0) if isinstance(effect, Report)]
    assert refused.kind == "refused" and "x" in refused.detail


def test_nothing_is_said_where_nothing_is_wanted():
    assert said(catalog().handle(Woken(), 50.0)) == []


def test_who_asks_again_soon_is_woken_for_it():
    assert catalog().handle(Woken(), 1.0)[-1] == WakeAt(1.5)


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
    effects = told(found, Decided(Decision((0, 13), 1)), 0.8)
    assert ("catalog", Known(Decision((0, 13), 1))) in said(effects)
    assert all_done(found, effects, 0.8) == [(10, 13, 0), (13, 20, 1)]


def test_the_same_answer_for_the_same_attempt_and_none_for_an_old_one():
    found = replica()
    given(found, 0, 4, 0.5)
    told(found, Prepare(1, 2), 0.6)
    given(found, 4, 6, 0.7)
    assert said(told(found, Prepare(1, 2), 0.8)) == [("catalog", Promise(1, 2, 4 + AHEAD))]
    assert said(told(found, Prepare(1, 1), 0.9)) == []
    told(found, Decided(Decision((0,), 1)), 1.0)
    assert found.versions.plan.limit == 4 + AHEAD, "that was of an earlier attempt"
    told(found, Decided(Decision((0,), 2)), 1.0)
    assert found.versions.plan.limit == UNLIMITED
    assert said(told(found, Prepare(1, 3), 1.1)) == [("catalog", Promise(1, 3, 6 + AHEAD))]


def test_versions_begin_one_behind_the_other():
    """Nothing may have become stable since the last change: an input is away."""
    found = replica(Plan((0, 30)))
    assert said(told(found, Prepare(2, 1), 0.1)) == [("catalog", Promise(2, 1, 31))]


def test_what_readers_have_from_others_counts():
    """Another replica may have given them more."""
    found = replica()
    found.handle(Received("r", Ping({"o": Ack(40, 0.0)}, {})), 0.1)
    assert said(told(found, Prepare(1, 1), 0.2)) == [("catalog", Promise(1, 1, 40 + AHEAD))]


def test_a_promise_outlives_a_crash_and_who_recovers_makes_none():
    found = replica(Plan((0,), 3, 1))
    assert given(found, 0, 9, 0.5) == [(0, 3, 0)]
    assert said(told(replica(recovering=True), Prepare(1, 1), 0.6)) == []


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


def test_who_was_told_before_says_so_again():
    found, decision = replica(), Decision((0, 5), 3)
    for _ in range(2):
        assert said(told(found, Decided(decision), 0.1)) == [("catalog", Known(decision))]
    assert found.versions.plan == Plan((0, 5), None, 3)
    for late in (Prepare(1, 9), Prepare(2, 3), Prepare(3, 9)):
        assert said(told(found, late, 0.3)) == [], "that is past, void, or one is missing between"


def test_what_changes_nothing_is_not_written_down():
    found = replica()
    told(found, Prepare(1, 2), 0.1)
    for message in (Prepare(1, 2), Prepare(2, 3), Decided(Decision((0,), 1))):
        assert not [e for e in told(found, message, 0.2) if isinstance(e, KeepPlan)]
    assert found.versions.plan == Plan((0,), AHEAD, 2)
    assert KeepPlan(Plan((0,), None, 3)) in told(found, Decided(Decision((0,), 3)), 0.3)
    assert said(told(found, Prepare(1, 3), 0.4)) == [], "that is void"
    assert KeepPlan(Plan((0, 8), None, 4)) in told(found, Decided(Decision((0, 8), 4)), 0.5)
    assert not [e for e in told(found, Decided(Decision((0,), 9)), 0.6) if isinstance(e, KeepPlan)], "it knows more"
