"""Buffers with a limit: what is lost is declared, or nothing is made that cannot be kept (D69-D72)."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.client import Client
from auroral.dpc.events import (
    Deliver,
    Effect,
    Evaluated,
    Kept,
    Logged,
    Miss,
    Pause,
    Received,
    Report,
    Send,
    Started,
    Truncate,
)
from auroral.dpc.outlet import Outlet
from auroral.dpc.port import Port
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings, WhenFull
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import LOST, Ack, Content, Gap, Hashes, Message, Ping, Pong, Stable, Subscribe

LOSING = Settings(bucket=0.5, bound=3.0, most_kept=4)
BLOCKING = replace(LOSING, when_full=WhenFull.BLOCK)


def rows(*hashes: int) -> tuple[Content, ...]:
    return tuple(Content(hash, 1) for hash in hashes)


def sent(effects: list[Effect]) -> list[Message]:
    return [e.message for e in effects if isinstance(e, Send) and not isinstance(e.message, Ping)]


def test_the_oldest_is_lost_and_counted_and_who_asks_for_it_is_told():
    found = Outlet("s", ("a",), LOSING)
    effects = list(found.give_stable(rows(0, 1, 2, 3, 4, 5), 0.0))
    assert Report("lost from a full buffer", "s", 2) in effects and Truncate("s", 2) in effects
    asked = Subscribe("s", 1, Lane.BOTH, 0, False)
    assert list(found.subscribe("a", asked, 0.0)) == [Report("asked for what is not kept", "s")], "another may have it"
    assert sent(list(found.subscribe("a", replace(asked, number=2, gaps=True), 0.0))) == [
        Gap("s", 2, 0, 2),
        Stable("s", 2, 2, rows(2, 3, 4, 5)),
    ]


def test_a_gap_in_what_is_kept_is_said_as_one():
    found = Outlet("s", ("a",), LOSING)
    list(found.give_stable([*rows(0), LOST, LOST, *rows(3)], 0.0))
    assert sent(list(found.subscribe("a", Subscribe("s", 1, Lane.BOTH, 0, False), 0.0))) == [
        Stable("s", 1, 0, rows(0)),
        Gap("s", 1, 1, 3),
        Stable("s", 1, 3, rows(3)),
    ]


def subscribed(found: Port, offers: dict[str, Offer]) -> list[Message]:
    return sent(list(found.switch(offers, 1.0)))


def test_a_gap_is_taken_only_where_nobody_has_the_bucket():
    """The one that lost least is read."""
    short, shorter = Offer(State.STABLE, True, 20, 5), Offer(State.STABLE, True, 20, 9)
    whole, gone = Offer(State.STABLE, True, 20, 0), Offer(State.FAILURE)
    assert subscribed(Port("s", ("a", "b"), LOSING), {"a": short, "b": whole}) == [
        Subscribe("s", 1, Lane.BOTH, 0, False)
    ]
    lossy = Subscribe("s", 1, Lane.BOTH, 0, False, gaps=True)
    assert subscribed(Port("s", ("a", "b"), LOSING), {"a": short, "b": shorter}) == [lossy]
    assert subscribed(Port("s", ("a", "b"), LOSING), {"a": gone, "b": shorter}) == [lossy]
    unbounded = replace(LOSING, most_kept=None)
    assert subscribed(Port("s", ("a", "b"), unbounded), {"a": gone, "b": short}) == [], "a may come back with it"
    assert subscribed(Port("s", ("a", "b"), unbounded), {"a": shorter, "b": short}) == [lossy]


def test_a_subscription_that_cannot_be_served_any_more_is_made_anew():
    found = Port("s", ("a",), LOSING)
    assert subscribed(found, {"a": Offer(State.STABLE, True, 3, 0)}) == [Subscribe("s", 1, Lane.BOTH, 0, False)]
    short = {"a": Offer(State.STABLE, True, 20, 5)}
    assert subscribed(found, short) == [Subscribe("s", 2, Lane.BOTH, 0, False, gaps=True)]
    assert subscribed(found, short) == []


def replica(settings: Settings) -> Replica:
    """A union of two sources, in windows of two buckets."""
    output = OutputSpec("o", {"s": 2, "t": 2}, (frozenset("st"),), ("reader",))
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output})
    found = Replica(spec, settings)
    found.handle(Started(), 0.0)
    for source, stream in (("S", "s"), ("T", "t")):
        found.handle(Received(source, Pong({stream: Offer(State.STABLE)}, {})), 0.0)
    return found


def test_what_is_computed_from_a_gap_is_in_a_gap():
    found = replica(LOSING)
    found.handle(Received("T", Stable("t", 1, 0, rows(0, 1, 2, 3))), 0.1)
    found.handle(Received("S", Stable("s", 1, 0, rows(0))), 0.1)
    found.handle(Evaluated(1, {"o": rows(30)}), 0.2)
    effects = found.handle(Received("S", Gap("s", 1, 1, 3)), 0.3)
    assert Report("gap", "s", 2) in effects
    assert found.outlets["o"].kept == {0: Content(30, 1), 1: LOST, 2: LOST, 3: LOST}
    effects = found.handle(Received("S", Stable("s", 1, 3, rows(3, 4))), 0.4)
    found.handle(Received("T", Stable("t", 1, 4, rows(4))), 0.5)
    (job,) = found.jobs.running.values()
    assert (job.begin, job.end) == (4, 5)


def test_an_input_is_not_kept_without_end_for_another_that_is_away():
    """D71: and what only the lost bucket needs is not asked for any more."""
    found = replica(LOSING)
    found.handle(Received("S", Stable("s", 1, 0, rows(0, 1, 2, 3))), 0.1)
    assert found.outlets["o"].frontier == 0
    found.handle(Received("S", Stable("s", 1, 4, rows(4, 5))), 0.2)
    assert found.outlets["o"].kept == {0: LOST, 1: LOST}
    assert found.comparisons["o"].tell("other") == Hashes(0, (-1, -1)), (
        "what is behind the gap is compared all the same"
    )
    assert found.ports["t"].frontier == 1
    found.handle(Received("T", Stable("t", 1, 0, rows(0, 1, 2, 3, 4, 5))), 0.3)
    (job,) = found.jobs.running.values()
    assert (job.begin, job.end) == (2, 6)


def test_nothing_is_made_final_that_there_is_no_room_for():
    """D72."""
    found = replica(BLOCKING)

    def made_final() -> list[tuple[int, int]]:
        return [(job.begin, job.end) for job in found.jobs.running.values() if not job.tentative]

    for source in "ST":
        found.handle(Received(source, Stable(source.lower(), 1, 0, rows(*range(9)))), 0.1)
    assert made_final() == [(0, 4)]
    found.handle(Evaluated(1, {"o": rows(30, 31, 32, 33)}), 0.2)
    assert made_final() == []
    found.handle(Received("reader", Ping({"o": Ack(3, 0.0)}, {})), 0.4)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 9, 0)}, {})), 0.5)
    assert made_final() == [(4, 7)]


def test_a_full_source_takes_nothing_in():
    source = Source("s", ("a",), BLOCKING)
    source.handle(Started({"s": Kept(0, rows(0, 1, 2))}), 0.0)
    assert source.handle(Logged(3, *rows(3), True), 0.1) == [Pause("s", True)]
    assert Pause("s", False) in source.handle(Received("a", Ping({"s": Ack(1, 0.0)}, {})), 0.2)


def test_a_client_is_told_what_it_will_never_get():
    found = Client("c", {"o": ("a",)}, LOSING)
    found.handle(Started({"o": Kept(0)}), 0.0)
    found.handle(Received("a", Pong({"o": Offer(State.STABLE, True, 9, 5)}, {})), 0.1)
    effects = found.handle(Received("a", Gap("o", 1, 0, 5)), 0.2)
    assert [e for e in effects if isinstance(e, Miss)] == [Miss("o", 0, 5)]
    effects = found.handle(Received("a", Stable("o", 1, 5, rows(5))), 0.3)
    assert [e for e in effects if isinstance(e, Deliver)] == [Deliver("o", 5, *rows(5), True)]


def test_who_does_not_know_yet_where_to_begin_gives_nothing_up():
    output = OutputSpec("o", {"s": 2, "t": 2}, (frozenset("st"),), ("reader",))
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output})
    found = Replica(spec, LOSING, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 30, 20)}, {})), 0.1)
    found.handle(Received("S", Stable("s", 1, 20, rows(*range(20, 30)))), 0.2)
    assert found.outlets["o"].kept == {} and found.ports["s"].frontier == 30


def test_what_lies_behind_a_gap_is_made_at_once():
    """Before the gap is forgotten, which is with a heartbeat."""
    found = replica(LOSING)
    found.handle(Received("T", Stable("t", 1, 0, rows(0, 1, 2, 3, 4))), 0.1)
    found.handle(Received("S", Gap("s", 1, 0, 3)), 0.3)
    assert found.outlets["o"].frontier == 4 and found.ports["s"].lost == {0, 1, 2}
    found.handle(Received("S", Stable("s", 1, 3, rows(3, 4))), 0.31)
    (job,) = found.jobs.running.values()
    assert (job.begin, job.end) == (4, 5)
