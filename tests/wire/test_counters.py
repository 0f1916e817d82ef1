"""What strangers say does not fill the memory: neither counters, nor peers, nor connections."""

from __future__ import annotations

import pytest

from auroral.dpc.values import Grant
from auroral.wire.counters import MOST_REASONS, OTHERS, Counters, Reasons
from auroral.wire.errors import WireError
from auroral.wire.hello import Hello, Identity
from auroral.wire.known import STRANGERS
from auroral.wire.limits import MOST_STRANGERS
from wire.hosts import BROKEN, BUCKET, Hosts, Node, over_both


def call(node: Node, name: str, to: str = "n1", bucket: int = BUCKET, certified: str | None = None) -> None:
    node.transport.accept(Hello(Identity.of(name, bucket), to, 1), certified)


class TestReasons:
    def test_no_more_than_so_many_are_told_apart(self) -> None:
        reasons = Reasons()
        for number in range(10 * MOST_REASONS):
            reasons[f"reason {number}"] += 2
        reasons["reason 1"] += 5
        assert reasons.total() == 20 * MOST_REASONS + 5 and len(reasons) == MOST_REASONS + 1
        assert reasons["reason 1"] == 7 and reasons[OTHERS] == 18 * MOST_REASONS

    def test_those_of_one_peer_are_added_to_those_of_another(self) -> None:
        mine, theirs = Counters(connected=1), Counters(connected=2)
        mine.broken["x"] += 1
        theirs.broken["x"] += 2
        theirs.refused["y"] += 1
        mine.absorb(theirs)
        assert mine.broken == {"x": 3} and mine.refused == {"y": 1} and mine.connected == 3


@over_both
async def test_refusals_of_strangers_are_counted_by_their_kind(hosts: Hosts) -> None:
    node = await hosts.node("n1", "a")
    for number in range(1, 300):
        for wrong in ({"to": f"n{number}'s"}, {"to": f'"{number}"'}, {"bucket": number}):
            with pytest.raises(WireError):
                call(node, f"x{number}", **({"to": "n1"} | wrong))  # type: ignore[arg-type]
    refused = node.counters(STRANGERS).refused
    assert refused.total() == 3 * 299 and len(refused) <= 4
    assert set(node.transport.counters) == {STRANGERS}


@over_both
async def test_strangers_are_not_remembered_when_they_are_gone(hosts: Hosts) -> None:
    node = await hosts.node("n1", "a")
    for number in range(50):
        call(node, f"x{number}")
        link = node.transport._peer(f"x{number}").link
        assert link is not None
        node.transport.ended(link, f"broken: {number}")
        # What comes late of it disturbs nobody.
        node.transport.ended(link, "again")
    assert set(node.transport.counters) == {STRANGERS}
    assert node.counters(STRANGERS).connected == node.counters(STRANGERS).broken.total() == 50


@over_both
async def test_those_that_are_in_the_book_or_certified_are(hosts: Hosts) -> None:
    node = await hosts.node("n1", "a")
    hosts.book.place("b", "n2")
    for name, certified in (("n2", None), ("n3", "n3")):
        call(node, name, certified=certified)
        link = node.transport._peer(name).link
        assert link is not None
        node.transport.ended(link, "broken")
    assert set(node.transport.counters) == {"n2", "n3"}


@over_both
async def test_connections_of_strangers_are_limited(hosts: Hosts) -> None:
    node, other = await hosts.node("n1", "a", strangers=3), await hosts.node("n2", "b")
    for number in range(3):
        call(node, f"x{number}")
    with pytest.raises(WireError, match="3 connections of nodes that are in no book"):
        call(node, "x9")
    # One that has a connection may make it anew, and those in the book are not held up.
    call(node, "x1")
    assert node.transport._peer("x1").link is not None
    other.transport.send("b", "a", Grant(1))
    await node.until(lambda: node.numbers("a", "b") == [1])
    assert BROKEN not in other.numbers("b", "a") and "x9" not in node.transport.counters


@over_both
async def test_who_has_many_clients_lets_them_in(hosts: Hosts) -> None:
    """Without certificates, every client is a stranger."""
    node = await hosts.node("n1", "a", strangers=MOST_STRANGERS + 10)
    for number in range(MOST_STRANGERS + 10):
        call(node, f"x{number}")
    with pytest.raises(WireError, match="at most 266"):
        call(node, "x-1")
