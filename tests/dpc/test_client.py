"""A client is given each version of a bucket once, and what is stable in order (D73)."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.client import Client
from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import Deliver, Disconnected, Effect, Kept, Miss, Received, Send, Started, WakeAt, Woken
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import Ack, Content, Gap, Message, Ping, Pong, Stable, Subscribe, Tentative

SETTINGS = Settings(bucket=0.5, bound=3.0)
OFFER = Pong({"o": Offer(State.STABLE, True, 9, 2)}, {})


def rows(*hashes: int) -> tuple[Content, ...]:
    return tuple(Content(hash, 1) for hash in hashes)


def client(*producers: str) -> Client:
    """It was given all before bucket 7."""
    found = Client("c", {"o": producers}, SETTINGS)
    found.handle(Started({"o": Kept(7)}), 0.0)
    for producer in producers:
        found.handle(Received(producer, OFFER), 0.1)
    return found


def given(found: Client, message: Message, now: float) -> list[Effect]:
    return [e for e in found.handle(Received("a", message), now) if isinstance(e, Deliver | Miss)]


def guess(bucket: int, hash: int) -> Tentative:
    return Tentative("o", 1, bucket, Content(hash, 1), True, 0.0, NOTHING)


def test_each_version_is_given_once_and_what_is_stable_in_order():
    found = client("a")
    assert given(found, guess(8, 28), 0.2) == [Deliver("o", 8, *rows(28), False)]
    assert given(found, guess(8, 28), 0.3) == []
    assert given(found, guess(8, 29), 0.4) == [Deliver("o", 8, *rows(29), False)]
    ahead = Stable("o", 1, 9, rows(19))
    assert given(found, ahead, 0.5) == [Deliver("o", 9, *rows(19), False)], "what lies before it may still change"
    assert given(found, Stable("o", 1, 7, rows(17, 18)), 0.6) == [
        Deliver("o", 7, *rows(17), True),
        Deliver("o", 8, *rows(18), True),
        Deliver("o", 9, *rows(19), True),
    ]
    assert (found.shown, found.delivered, found.ports["o"].stable) == ({}, {"o": 10}, {}), "nothing is held for longer"


def test_what_is_stable_between_two_gaps_is_given_between_them():
    found = client("a")
    given(found, guess(8, 28), 0.2)
    given(found, Stable("o", 1, 9, rows(19)), 0.2)
    assert given(found, Gap("o", 1, 7, 9), 0.3) == [Miss("o", 7, 9), Deliver("o", 9, *rows(19), True)]
    assert given(found, Gap("o", 1, 10, 11), 0.4) == [Miss("o", 10, 11)]
    assert found.shown == {}


def test_it_says_what_it_needs_and_which_subscriptions_it_thinks_hold():
    found = client("a", "b")
    given(found, Stable("o", 1, 7, rows(17)), 0.2)
    effects = found.handle(Woken(), 1.0)
    assert [e for e in effects if isinstance(e, Send)] == [
        Send("a", Ping({"o": Ack(8, 0.0)}, {"o": 1})),
        Send("b", Ping({"o": Ack(8, 0.0)}, {})),
    ]
    assert WakeAt(1.1) in effects


def test_a_subscription_that_is_not_known_is_made_again():
    found = client("a")
    effects = found.handle(Received("a", replace(OFFER, unknown={"o": 1})), 0.2)
    assert Send("a", Subscribe("o", 2, Lane.BOTH, 7, False)) in effects


def test_where_the_connection_breaks_another_replica_is_read():
    found = client("a", "b")
    effects = found.handle(Disconnected("a"), 0.2)
    assert Send("b", Subscribe("o", 2, Lane.BOTH, 7, False)) in effects
    assert not found.monitor.reached("a") and found.ports["o"].numbers == {"b": 2}


def test_silence_is_counted_from_when_it_began_to_live():
    found = Client("c", {"o": ("a",)}, SETTINGS)
    found.handle(Started(), 50.0)
    assert found.ports["o"].heard == 50.0 and found.ports["o"].resuming
