"""A source: what is logged is sent, and kept until nobody needs it (D74, D75)."""

from __future__ import annotations

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import Disconnected, Kept, Logged, Received, Send, Started, Truncate
from auroral.dpc.layout import Wiring
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import (
    Ack,
    Content,
    Ping,
    Pong,
    Release,
    Rewire,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
)

SETTINGS = Settings(bucket=0.5, bound=3.0)
ROWS, MORE = Content(10, 1), Content(11, 2)


def source() -> Source:
    found = Source("s", ("a",), SETTINGS)
    assert found.handle(Started(), 0.0) == []
    found.handle(Received("a", Subscribe("s", 1, Lane.BOTH, 0, False)), 0.1)
    return found


def test_parts_of_a_bucket_are_sent_as_they_are_logged():
    found = source()
    part = Tentative("s", 1, 0, ROWS, False, 0.0, Coverage.of(["s"], 0, Level.PARTIAL))
    assert found.handle(Logged(0, ROWS, False), 0.2) == [Send("a", part)]
    assert found.handle(Logged(0, MORE, True), 0.5) == [Send("a", Stable("s", 1, 0, (MORE,)))]


def test_a_heartbeat_is_answered_and_forgets_what_nobody_needs():
    """D69."""
    found = source()
    found.handle(Logged(0, ROWS, True), 0.5)
    ping = Ping({"s": Ack(1, 0.0)}, {"s": 1})
    assert found.handle(Received("a", ping), 0.6) == [
        Truncate("s", 1),
        Send("a", Pong({"s": Offer(State.STABLE, True, 1, 1)}, {})),
    ]
    found.handle(Disconnected("a"), 0.7)
    assert found.handle(Received("a", ping), 0.8) == [Send("a", Pong({"s": Offer(State.STABLE, True, 1, 1)}, {"s": 1}))]
    assert found.handle(Logged(1, MORE, True), 1.0) == [], "nobody is subscribed"


def test_readers_ask_again_and_leave():
    found = source()
    found.handle(Logged(0, ROWS, True), 0.5)
    assert found.handle(Received("a", Want("s", 1, 0)), 0.5) == [Send("a", Stable("s", 1, 0, (ROWS,)))]
    assert found.handle(Received("a", Release()), 0.5) == [], "that is said between replicas"
    found.handle(Received("a", Unsubscribe("s", 1)), 0.6)
    assert found.handle(Logged(1, MORE, True), 1.0) == []


def test_another_stream_of_the_disk_is_not_its_own():
    found = Source("s", ("a",), SETTINGS)
    found.handle(Started({"t": Kept(4, (ROWS,))}), 3.0)
    assert (found.outlet.frontier, found.born) == (0, 3.0)


def test_what_nobody_reads_is_not_kept_until_somebody_does():
    """No heartbeat would ever say that it is not needed; and a later version of a query may read it."""
    found = Source("s", (), SETTINGS)
    found.handle(Started(), 0.0)
    for bucket in range(3):
        found.handle(Logged(bucket, Content(bucket, 1), True), 0.1)
    assert (found.outlet.kept_from, found.outlet.frontier) == (3, 3)
    found.handle(Received("catalog", Rewire(1, Wiring(readers={"s": ("q@a",)}))), 0.2)
    found.handle(Logged(3, Content(3, 1), True), 0.3)
    assert list(found.outlet.kept) == [3]
