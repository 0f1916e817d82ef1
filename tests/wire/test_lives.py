"""Lives of cores: who is told when one ends or moves, and what of an earlier life is heard."""

from __future__ import annotations

import pytest

from auroral.dpc.values import Grant
from auroral.wire.addresses import AddressBook
from auroral.wire.link import Link
from auroral.wire.things import Parted
from wire.frames import stable
from wire.hosts import BROKEN, Hosts, Node, over_both


@over_both
async def test_when_a_core_ends_those_it_talked_with_are_told(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    other = await hosts.node("n3", "c")
    other.transport.send("c", "a", Grant(1))
    await first.until(lambda: len(first.heard["a"]) == 2)
    first.transport.closed("a")
    await second.until(lambda: len(second.heard["b"]) == 2)
    await other.until(lambda: other.heard.get("c"))
    assert second.heard["b"][-1] == ("a", BROKEN) and other.heard["c"] == [("a", BROKEN)]
    second.transport.send("b", "a", Grant(2))
    await second.until(lambda: len(second.heard["b"]) == 3)
    assert second.heard["b"][-1] == ("a", BROKEN) and len(first.heard["a"]) == 2


@over_both
async def test_a_new_life_of_a_core_hears_nothing_that_was_sent_to_the_last_one(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    first.transport.opened("a2")
    for round_ in range(1, 20):
        for number in range(10):
            first.transport.send("a", "b", Grant(100 * round_ + number))
            first.transport.send("a", "b", stable("s", 100 * round_ + number))
        second.heard.clear()
        second.transport.closed("b")
        second.transport.opened("b")
        # Sent by somebody who knows that the last one is over, until there is a new one.
        await first.until(lambda: first.heard["a"][-1] == ("b", BROKEN))
        known = Grant(100 * round_ + 50)
        await second.until(lambda known=known: second.heard.get("b") or first.transport.send("a", "b", known))
        assert set(second.heard["b"]) == {("a", known)}
        first.heard["a"].append(("b", "next round"))
    assert first.counters("n2").connected == 1


@over_both
async def test_nothing_comes_of_an_earlier_life_of_the_sender(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    first.transport.send("a", "b", Grant(1))
    first.transport.closed("a")
    first.transport.opened("a")
    first.transport.send("a", "b", Grant(2))
    await second.until(lambda: second.heard["b"][-1] == ("a", Grant(2)))
    assert [n for n in second.numbers("b", "a") if n != 1] == [0, BROKEN, 2]


@over_both
async def test_a_core_that_the_book_places_elsewhere_is_not_heard_where_it_was(hosts: Hosts) -> None:
    """And is told so, whenever it speaks: it might wait for an answer for ever."""
    first, second = await hosts.pair()
    third = await hosts.node("n3")
    hosts.book.place("b", "n3")
    await first.until(lambda: first.numbers("a", "b") == [0, BROKEN])
    await second.until(lambda: second.numbers("b", "a") == [0, BROKEN])
    for times in (1, 2):
        second.transport.send("b", "a", Grant(times))
        await second.until(lambda times=times: second.numbers("b", "a") == [0, BROKEN, *[BROKEN] * times])
        assert first.counters("n2").refused["from a core that lives elsewhere"] == times
    third.transport.opened("b")
    first.transport.send("a", "b", Grant(2))
    await third.until(lambda: third.heard.get("b"))
    third.transport.send("b", "a", Grant(3))
    await first.until(lambda: len(first.heard["a"]) == 3)
    assert first.numbers("a", "b") == [0, BROKEN, 3] and third.numbers("b", "a") == [2]
    assert first.counters("n2").connected == 1 and not first.counters("n2").broken


async def with_an_old_book(hosts: Hosts) -> tuple[Node, Node, AddressBook]:
    """Nodes n1 with core a and n2 with cores b and other; n1's own book, which is given, says that b is elsewhere."""
    first = await hosts.node("n1", "a")
    old, hosts.book = hosts.book, AddressBook()
    old.place("b", "n9")
    hosts.book.place("a", "n1")
    hosts.book.locate("n1", old.nodes["n1"])
    second = await hosts.node("n2", "b", "other")
    old.locate("n2", hosts.book.nodes["n2"])
    return first, second, old


@over_both
async def test_a_reader_with_an_old_book_tells_who_speaks(hosts: Hosts) -> None:
    first, second, old = await with_an_old_book(hosts)
    for number in range(1, 4):
        second.transport.send("b", "a", Grant(number))
        second.transport.send("b", "a", stable("s", number))
    second.transport.send("other", "a", Grant(1))
    await second.until(lambda: second.numbers("b", "a") == [BROKEN])
    await first.until(lambda: first.numbers("a", "other") == [1])
    old.place("b", "n2")
    for number in (4, 5):
        second.transport.send("b", "a", Grant(number))
    await first.until(lambda: first.numbers("a", "b") == [4, 5])
    assert second.numbers("b", "a") == [BROKEN] and "other" not in second.heard
    assert not second.counters("n1").broken


@over_both
async def test_a_peer_that_parts_cores_that_nobody_knows_fills_no_memory(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    ours, theirs = first.transport._peer("n2").link, second.transport._peer("n1").link
    assert ours is not None and theirs is not None
    for number in range(100):
        for sender, to in ((f"x{number}", f"y{number}"), ("b", f"y{number}"), (f"x{number}", "a")):
            ours.say(Parted(sender, to, 1))
    ours.say(Parted("b", "a", ours.last_channel))
    await second.until(lambda: ("a", BROKEN) in second.heard["b"])
    assert theirs.unheard == {("a", "b"): ours.last_channel}
    second.transport.closed("b")
    assert not theirs.unheard
    second.transport.opened("b")
    await first.until(lambda: first.numbers("a", "b") == [0, BROKEN] and "b" in ours.cores)
    first.transport.send("a", "b", Grant(7))
    await second.until(lambda: second.numbers("b", "a") == [0, BROKEN, 7])
    assert not first.counters("n2").broken


@over_both
async def test_what_is_under_way_while_the_book_becomes_right_is_of_before_the_break(hosts: Hosts) -> None:
    first, second, old = await with_an_old_book(hosts)
    plain = Link.unhear

    def unhear(link: Link, sender: str, to: str) -> None:
        plain(link, sender, to)
        old.place("b", "n2")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Link, "unhear", unhear)
        for number in range(1, 6):
            second.transport.send("b", "a", Grant(number))
            second.transport.send("b", "a", stable("s", number))
        await second.until(lambda: second.numbers("b", "a") == [BROKEN])
    second.transport.send("b", "a", Grant(9))
    await first.until(lambda: first.heard.get("a"))
    assert first.numbers("a", "b") == [9]
    refused = first.counters("n2").refused
    assert refused["from a core that lives elsewhere"] == 1 and refused["sent before a break was heard of"] >= 4
