"""What offers are worth to a reader (D35)."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Effect, Send
from auroral.dpc.judging import Judge
from auroral.dpc.port import Port
from auroral.dpc.settings import Settings, WrongSettings
from auroral.dpc.states import State
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import Content, Message, Stable, Subscribe, Unsubscribe

SETTINGS = Settings(bucket=0.5, bound=3.0, long_replay=5.0)


def worth(offer: Offer, position: int | None) -> Offer:
    return Judge(SETTINGS, position, True).judged({"a": offer}, (), ())["a"]


@pytest.mark.parametrize(("position", "state"), [(10, State.STABLE), (9, State.STABILIZATION), (None, State.STABLE)])
def test_a_long_replay_counts_as_a_correction(position: int | None, state: State):
    """P3: more than five seconds of the stream, which are ten buckets."""
    assert worth(Offer(State.STABLE, False, 20), position) == Offer(state, state is State.STABILIZATION, 20)


def messages(effects: list[Effect]) -> list[Message]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_what_is_new_does_not_wait_behind_a_long_replay():
    """D35: a stable replica is attached for the corrections, and is the only one again when they have come."""
    found = Port("s", ("a", "b"), SETTINGS)
    both = {"a": Offer(State.STABLE, True, 40), "b": Offer(State.STABLE, True, 40)}
    assert messages(list(found.switch(both, 1.0))) == [
        Subscribe("s", 1, Lane.FRESH, 0, False),
        Subscribe("s", 2, Lane.CORRECT, 0, False),
    ]
    assert (found.numbers, found.lanes) == ({"a": 1, "b": 2}, {"a": Lane.FRESH, "b": Lane.CORRECT})
    list(found.receive("b", Stable("s", 2, 0, tuple(Content(b, 1) for b in range(35))), 1.1))
    assert messages(list(found.switch(both, 1.2))) == [
        Unsubscribe("s", 2),
        Subscribe("s", 3, Lane.BOTH, 35, False),
    ]


def test_one_replica_alone_gives_both_in_one():
    found = Port("s", ("a",), SETTINGS)
    effects = list(found.switch({"a": Offer(State.STABLE, True, 40)}, 1.0))
    assert messages(effects) == [Subscribe("s", 1, Lane.BOTH, 0, False)]


def test_a_share_that_is_over_before_a_failure_is_noticed_is_refused():
    """L1."""
    assert Settings(bucket=0.5, bound=3.0, share=1.0).share == 1.0
    with pytest.raises(WrongSettings, match="before a failure is noticed"):
        Settings(bucket=0.5, bound=3.0, share=0.9)


@pytest.mark.parametrize(
    ("position", "state"), [(19, State.STABILIZATION), (None, State.STABILIZATION), (20, State.FAILURE)]
)
def test_one_that_failed_is_asked_for_what_it_has(position: int | None, state: State):
    """Also by a reader that is to be told where to begin."""
    assert worth(Offer(State.FAILURE, True, 20), position).state is state
