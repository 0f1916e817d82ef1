"""Corrections that another failure ends (D56)."""

from __future__ import annotations

from auroral.dpc.client import Client
from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import Deliver, Effect, Interrupt, Kept, Received, Send, Started
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Offer
from auroral.dpc.tuples import TupleType, TupleView
from auroral.dpc.values import Content, Gap, Message, Pong, Stable, Subscribe, Tentative


class Reading:
    """A client that reads one stream from one replica."""

    def __init__(self) -> None:
        self.client = Client("c", {"o": ("q",)}, Settings(bucket=0.5, bound=3.0))
        self.now, self.number = 0.0, 0
        self.take(self.client.handle(Started({"o": Kept(0)}), 0.0))

    def take(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, Subscribe):
                self.number = effect.message.number
        return [effect for effect in effects if isinstance(effect, Deliver | Interrupt)]

    def hears(self, message: Message) -> list[Effect]:
        self.now += 0.1
        return self.take(self.client.handle(Received("q", message), self.now))

    def is_in(self, state: State) -> list[Effect]:
        return self.hears(Pong({"o": Offer(state, fresh=True)}, {}))

    def tentative(self, bucket: int) -> list[Effect]:
        return self.hears(Tentative("o", self.number, bucket, Content(50 + bucket, 1), True, 0.0, NOTHING))

    def stable(self, bucket: int) -> list[Effect]:
        return self.hears(Stable("o", self.number, bucket, (Content(bucket, 1),)))


def failing() -> Reading:
    found = Reading()
    found.is_in(State.STABLE)
    found.stable(0)
    found.is_in(State.UP_FAILURE)
    for bucket in (1, 2, 3):
        found.tentative(bucket)
    return found


def test_a_failure_while_another_is_corrected_ends_the_corrections():
    """D56."""
    found = failing()
    found.is_in(State.STABILIZATION)
    found.stable(1)
    assert found.is_in(State.UP_FAILURE) == [Interrupt("o")]
    assert found.is_in(State.UP_FAILURE) == [], "once"


def test_corrections_that_have_not_begun_or_are_done_are_not_interrupted():
    """D56."""
    found = failing()
    found.is_in(State.STABILIZATION)
    assert found.is_in(State.UP_FAILURE) == []
    found.is_in(State.STABILIZATION)
    for bucket in (1, 2, 3):
        found.stable(bucket)
    assert found.is_in(State.UP_FAILURE) == []


def test_the_tuples_of_an_interrupted_correction():
    """D56: REC_DONE between the last stable tuple and the first tentative one of the next failure."""
    view = TupleView()
    shown = [
        *view.tentative(0, ("a",)),
        *view.tentative(1, ("b",)),
        *view.stable(0, ("A",)),
        *view.interrupted(),
        *view.tentative(2, ("c",)),
        *view.stable(1, ("B",)),
        *view.stable(2, ("C",)),
    ]
    assert [found.type for found in shown if found.type is not TupleType.BOUNDARY] == [
        TupleType.TENTATIVE,
        TupleType.TENTATIVE,
        TupleType.UNDO,
        TupleType.INSERTION,
        TupleType.REC_DONE,
        TupleType.TENTATIVE,
        TupleType.UNDO,
        TupleType.INSERTION,
        TupleType.INSERTION,
        TupleType.REC_DONE,
    ]


def test_a_gap_that_is_not_reached_yet_shows_nothing():
    found = Reading()
    found.is_in(State.STABLE)
    assert found.hears(Gap("o", found.number, 2, 3)) == []
    assert [type(effect) for effect in found.stable(0)] == [Deliver]


def test_one_failure_interrupts_once_though_some_of_it_is_corrected():
    """D56, D81: who fails gives what it has that is final, too."""
    found = failing()
    found.is_in(State.STABILIZATION)
    found.stable(1)
    said = [
        *found.is_in(State.UP_FAILURE),
        *found.stable(2),
        *found.is_in(State.UP_FAILURE),
        *found.is_in(State.FAILURE),
    ]
    assert [effect for effect in said if isinstance(effect, Interrupt)] == [Interrupt("o")]
