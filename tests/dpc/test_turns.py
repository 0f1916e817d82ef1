"""When a replica corrects: at once if it can answer in time all the while, else when it is its turn (D57, D58)."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.events import Disconnected, Effect, Evaluate, Evaluated, Received, Send, Started
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import Ask, Content, Grant, Pong, Refuse, Release, Stable

SETTINGS = Settings(bucket=0.5, bound=3.0, hop=0.25)
TURN = Ask | Grant | Refuse | Release


def correcting(job: float, settings: Settings = SETTINGS) -> Replica:
    """It gave out three tentative buckets; a job takes so long."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ())
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, ("q2",)), settings)
    found.handle(Started(), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE)}, {})), 0.0)
    found.usual_job.learn(job)
    found.outlets["o"].newest, found.unions["o"].processing = 2, True
    return found


def given(found: Replica) -> list[Effect]:
    return found.handle(Received("S", Stable("s", 1, 0, (Content(0, 1), Content(1, 1)))), 0.5)


def said(effects: list[Effect]) -> list[Send]:
    return [e for e in effects if isinstance(e, Send) and isinstance(e.message, TURN)]


def jobs(effects: list[Effect]) -> list[Evaluate]:
    return [e for e in effects if isinstance(e, Evaluate)]


def test_who_can_stay_fresh_begins_at_once():
    found = correcting(1.84)
    assert found.turns.fresh
    effects = given(found)
    assert (len(jobs(effects)), said(effects)) == (1, [])
    assert said(found.handle(Received("q2", Ask(1, 5.0)), 0.6)) == [Send("q2", Grant(1))], "both can"


def test_who_cannot_asks_for_a_turn_and_gives_it_back():
    """The bound has no room for a job, a message, another replica and what those behind it take."""
    found = correcting(1.86)
    assert not found.turns.fresh and not found.offers(0.0)["o"].fresh
    effects = given(found)
    assert (jobs(effects), said(effects)) == ([], [Send("q2", Ask(1, 5.0))])
    (job,) = jobs(found.handle(Received("q2", Grant(1)), 0.6))
    assert (job.begin, job.end, job.tentative) == (0, 2, False)
    assert said(found.handle(Received("q2", Ask(7, 5.0)), 0.7)) == [Send("q2", Refuse(7))], "it corrects"
    result = Evaluated(job.job, {"o": (Content(0, 1), Content(1, 1))})
    assert said(found.handle(result, 0.8)) == [Send("q2", Release())]
    assert said(found.handle(Received("q2", Ask(8, 5.0)), 0.9)) == [Send("q2", Grant(8))]
    assert list(found.turns.stagger.promised) == ["q2"]
    found.handle(Received("q2", Release()), 1.0)
    assert found.turns.stagger.promised == {}


def test_who_waits_for_its_turn_is_read_for_what_is_new_and_who_has_it_for_corrections():
    """D57: the thesis' UP_FAILURE until it is authorised. Were all of them in STABILIZATION, nobody would be read for what is new."""
    found = correcting(1.86)
    given(found)
    assert found.offers(0.5)["o"].state is State.UP_FAILURE
    (job,) = jobs(found.handle(Received("q2", Grant(1)), 0.6))
    assert found.offers(0.6)["o"].state is State.STABILIZATION
    found.handle(Evaluated(job.job, {"o": (Content(0, 1), Content(1, 1))}), 0.65)
    assert found.offers(0.65)["o"].state is State.UP_FAILURE, "it gave the turn back, and one bucket is left"
    fresh = correcting(1.84)
    given(fresh)
    assert fresh.offers(0.5)["o"].state is State.STABILIZATION, "it keeps answering by itself"


def test_who_waits_for_its_turn_does_with_what_is_new_as_in_a_failure():
    """D41: so does who reads from it, which sees a failure."""
    settings = replace(SETTINGS, while_correcting=Policy.SUSPEND)
    waiting, alone = correcting(1.86, settings), correcting(1.86, settings)
    alone.handle(Disconnected("q2"), 0.1)
    more = Received("S", Stable("s", 1, 2, tuple(Content(n, 1) for n in range(2, 8))))
    begun = [jobs([*given(found), *found.handle(more, 0.6)]) for found in (waiting, alone)]
    assert [[(job.begin, job.tentative) for job in each] for each in begun] == [[(3, True)], [(0, False)]]


def test_a_refusal_ends_the_turn():
    found = correcting(1.86)
    given(found)
    stagger = found.turns.stagger
    stagger.granted = ("q2", 1.0)
    found.handle(Received("q2", Refuse(1)), 0.6)
    assert stagger.granted is None


def test_who_reaches_no_other_goes_ahead():
    found = correcting(1.86)
    found.handle(Disconnected("q2"), 0.1)
    effects = given(found)
    assert (len(jobs(effects)), said(effects)) == (1, [])


def test_who_corrects_nothing_needs_no_turn():
    found = correcting(1.86)
    found.unions["o"].processing = False
    effects = given(found)
    assert (len(jobs(effects)), said(effects)) == (1, [])
    assert said(found.handle(Received("q2", Ask(1, 5.0)), 0.6)) == [Send("q2", Grant(1))], "nothing waits for that"
