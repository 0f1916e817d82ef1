"""What offers are worth to a reader (D35)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.dpc.events import Effect, Send
from auroral.dpc.judging import Judge
from auroral.dpc.monitor import UNREACHED
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


def test_one_that_failed_and_has_stable_buckets_gives_nothing_new():
    assert worth(Offer(State.FAILURE, True, 20), 19) == Offer(State.STABILIZATION, False, 20)
    assert worth(Offer(State.UP_FAILURE, True, 90), 0) == Offer(State.UP_FAILURE, True, 90), (
        "only a stable one is split"
    )


def test_one_that_lacks_the_next_bucket_or_does_not_send_it_is_of_no_use():
    """D27, D71: unless what it lacks is lost for good."""
    offers = {"a": Offer(State.STABLE, True, 9, 6), "b": Offer(State.STABLE, True, 9, 5)}
    judge = Judge(SETTINGS, 5, True)
    states = {
        lossy: [offer.state for offer in judge.judged(offers, stalled, lossy).values()]
        for stalled, lossy in (((), ()), ((), ("a",)), (("b",), ("a", "b")))
    }
    assert states == {
        (): [State.FAILURE, State.STABLE],
        ("a",): [State.STABLE, State.STABLE],
        ("a", "b"): [State.STABLE, State.FAILURE],
    }
    anywhere = Judge(SETTINGS, None, True)
    assert [offer.state for offer in anywhere.judged(offers, (), ()).values()] == [State.FAILURE, State.STABLE], (
        "who is to be told where to begin asks one that has most"
    )
    assert anywhere.least_lossy(offers) == set()


def test_a_gap_is_taken_from_those_that_lost_least():
    short, shorter, whole = (Offer(State.STABLE, True, 20, kept) for kept in (5, 9, 3))
    bounded = replace(SETTINGS, most_kept=4)
    for settings, offers, least in (
        (bounded, {"a": short, "b": short, "c": shorter}, {"a", "b"}),
        (bounded, {"a": short, "b": whole}, set()),
        (bounded, {"a": short, "b": UNREACHED}, {"a"}),
        (SETTINGS, {"a": short, "b": UNREACHED}, set()),
        (SETTINGS, {"a": short, "b": shorter}, {"a"}),
        (bounded, {"a": UNREACHED}, set()),
    ):
        assert Judge(settings, 3, True).least_lossy(offers) == least
        assert Judge(settings, 3, False).least_lossy(offers) == set(), "who recovers begins later instead"
