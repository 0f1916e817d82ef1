"""The contract of a connection, over memory and over Flight: one body of tests for both."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Content, Grant, Known, Ping, Stable, Tentative
from auroral.dpc.versions import Decision
from auroral.model.deployment import Endpoint
from auroral.wire import codec, incoming, outgoing, switchboard
from auroral.wire.addresses import AddressBook
from auroral.wire.errors import WireError
from auroral.wire.lanes import Way
from auroral.wire.limits import MOST_FRESH
from auroral.wire.link import Link
from auroral.wire.things import Parted
from wire.hosts import BROKEN, PATIENT, QUICK, Hosts, Node, Scenario, in_order_but_for_breaks, over_both, run

ROWS = pa.table({"v": pa.array(range(1000), pa.int64())})


SLOW_TO_RETRY = replace(QUICK, first_retry=0.6, longest_retry=0.6)
"""Long enough for things to happen between two calls."""


def stable(stream: str, bucket: int, rows: pa.Table = ROWS) -> Stable:
    return Stable(stream, 1, bucket, (Content(bucket, rows.num_rows, rows),))


def tentative(stream: str, bucket: int) -> Tentative:
    return Tentative(stream, 1, bucket, Content(bucket, ROWS.num_rows, ROWS), True, 0.0, NOTHING)


# Order, and whom things reach


@over_both
async def test_messages_come_in_their_order(hosts: Hosts) -> None:
    first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
    for number in range(200):
        first.transport.send("a", "b", Grant(number))
        second.transport.send("b", "a", Grant(number))
    await second.until(lambda: len(second.heard.get("b", [])) == 200)
    await first.until(lambda: len(first.heard.get("a", [])) == 200)
    assert second.numbers("b", "a") == first.numbers("a", "b") == list(range(200))


@pytest.mark.slow
@over_both
async def test_ten_thousand_messages_both_ways(hosts: Hosts) -> None:
    first, second = await hosts.pair(PATIENT)
    for number in range(1, 10_001):
        first.transport.send("a", "b", Grant(number))
        second.transport.send("b", "a", Grant(number))
        if number % 500 == 0:
            await asyncio.sleep(0)
    await second.until(lambda: len(second.heard["b"]) > 10_000)
    await first.until(lambda: len(first.heard["a"]) > 10_000)
    assert second.numbers("b", "a") == first.numbers("a", "b") == list(range(10_001))
    counters = first.counters("n2")
    assert counters.sent[Way.CONTROL] == counters.received[Way.CONTROL] == 10_001
    assert counters.sent_bytes[Way.CONTROL] == 10_001 * 64
    assert not counters.lost and not counters.refused and not counters.dropped and counters.connected == 1


@over_both
async def test_rows_come_as_they_were(hosts: Hosts) -> None:
    first, second = await hosts.pair(PATIENT)
    table = pa.table({"k": pa.array(["x", None, "z"] * 50_000), "v": pa.array(range(150_000), pa.float64())})
    first.transport.send("a", "b", stable("s", 7, table))
    await second.until(lambda: len(second.heard["b"]) == 2)
    _, message = second.heard["b"][1]
    assert isinstance(message, Stable) and message == stable("s", 7, table)
    assert message.contents[0].rows.equals(table)


@over_both
async def test_cores_of_one_node_talk_too(hosts: Hosts) -> None:
    node = await hosts.node("n1", "a", "b")
    for number in range(3):
        node.transport.send("a", "b", Grant(number))
    assert not node.heard, "nothing is delivered within send"
    await node.until(lambda: len(node.heard.get("b", [])) == 3)
    assert node.numbers("b", "a") == [0, 1, 2]
    node.transport.closed("b")
    await node.until(lambda: node.heard.get("a"))
    node.transport.send("a", "b", Grant(9))
    await node.until(lambda: len(node.heard["a"]) == 2)
    assert node.numbers("a", "b") == [BROKEN, BROKEN] and node.numbers("b", "a") == [0, 1, 2]


@over_both
async def test_several_cores_share_one_connection(hosts: Hosts) -> None:
    first, second = await hosts.node("n1", "a1", "a2"), await hosts.node("n2", "b1", "b2")
    for sender in ("a1", "a2"):
        for to in ("b1", "b2"):
            for number in range(3):
                first.transport.send(sender, to, Grant(number))
    await second.until(lambda: sum(map(len, second.heard.values())) == 12)
    assert second.numbers("b2", "a1") == second.numbers("b1", "a2") == [0, 1, 2]
    assert first.counters("n2").connected == 1


@over_both
async def test_a_core_that_is_in_no_book_is_answered_where_it_came_from(hosts: Hosts) -> None:
    first, second = await hosts.node("n1"), await hosts.node("n2", "b")
    hosts.book.locate("n1", None)
    first.transport.opened("client")
    first.transport.send("client", "b", Grant(1))
    await second.until(lambda: second.heard.get("b"))
    second.transport.send("b", "client", Grant(2))
    await first.until(lambda: first.heard.get("client"))
    assert first.numbers("client", "b") == [2]


@over_both
async def test_whoever_is_nowhere_is_told_of_as_a_break(hosts: Hosts) -> None:
    first, _ = await hosts.pair()
    first.transport.send("a", "nobody", Grant(1))
    hosts.book.place("not-there", "n2")
    first.transport.send("a", "not-there", Grant(1))
    hosts.book.place("lost", "n9")
    first.transport.send("a", "lost", Grant(1))
    await first.until(lambda: len(first.heard["a"]) == 4)
    assert set(first.heard["a"][1:]) == {("nobody", BROKEN), ("not-there", BROKEN), ("lost", BROKEN)}
    assert first.counters("n2").lost["nobody there"] == 1


@over_both
async def test_what_can_never_be_sent_is_an_error_of_the_sender(hosts: Hosts) -> None:
    first, _ = await hosts.pair()
    with pytest.raises(WireError, match="'x' does not live here"):
        first.transport.send("x", "b", Grant(1))
    with pytest.raises(WireError, match="rows are a tuple"):
        first.transport.send("a", "b", Stable("s", 1, 1, (Content(1, 1, (1,)),)))
    assert first.counters("n2").connected == 1 and not first.counters("n2").broken


@over_both
async def test_a_wrong_message_breaks_no_connection(hosts: Hosts) -> None:
    """It is refused, counted and said where it is sent, by the checks of whoever would read it."""
    first, second = await hosts.pair()
    for wrong in (
        Ping({}, {"a\tb": 1}),
        Stable("s", 1, 1, (Content(1, 1),), (-995.0,)),
        Known(Decision((0, 26, 26), 1)),
    ):
        with pytest.raises(WireError, match="is not valid here"):
            first.transport.send("a", "b", wrong)
    first.transport.send("a", "b", Grant(1))
    await second.until(lambda: len(second.heard["b"]) == 2)
    assert second.numbers("b", "a") == [0, 1] and not first.counters("n2").broken
    assert first.counters("n2").unsendable == {"Ping": 1, "Stable": 1, "Known": 1}


@over_both
async def test_a_core_with_a_name_that_nobody_would_take(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    with pytest.raises(WireError, match="printable name"):
        first.transport.opened("a\tb")
    first.transport.send("a", "b", Grant(1))
    await second.until(lambda: second.numbers("b", "a") == [0, 1])


@over_both
async def test_stable_buckets_that_fit_in_no_message(hosts: Hosts) -> None:
    """More than may wait in all, and more than goes in one: all of it comes, one part behind the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "ROWS_AT_ONCE", 20_000)
        patch.setattr(codec, "MOST_PAYLOAD", 20_000)
        patch.setattr(switchboard, "MOST_CORRECT", 20_000)
        patch.setattr(outgoing, "MOST_CORRECT", 20_000)
        first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
        many = Stable("s", 1, 5, tuple(Content(bucket, ROWS.num_rows, ROWS) for bucket in range(64)))
        first.transport.send("a", "b", many)
        await second.until(lambda: sum(len(message.contents) for _, message in second.heard.get("b", [])) == 64)
        came = [message for _, message in second.heard["b"]]
        assert [content for message in came for content in message.contents] == list(many.contents)
        assert [message.begin for message in came] == list(range(5, 69, 2))
        assert not first.counters("n2").broken and not first.counters("n2").lost


# Who calls


@over_both
async def test_both_call_at_the_same_moment(hosts: Hosts) -> None:
    for number in range(15):
        left, right = f"l{number}", f"r{number}"
        first, second = await hosts.node(left, f"a{number}"), await hosts.node(right, f"b{number}")
        for message in range(5):
            first.transport.send(f"a{number}", f"b{number}", Grant(message))
            second.transport.send(f"b{number}", f"a{number}", Grant(message))
        await second.until(lambda node=second, core=f"b{number}": len(node.heard.get(core, [])) >= 5)
        await first.until(lambda node=first, core=f"a{number}": len(node.heard.get(core, [])) >= 5)
        assert first.numbers(f"a{number}", f"b{number}") == list(range(5))
        assert second.numbers(f"b{number}", f"a{number}") == list(range(5))
        assert first.counters(right).connected == second.counters(left).connected == 1


@over_both
async def test_it_is_tried_again_while_somebody_wants_to_send(hosts: Hosts) -> None:
    first = await hosts.node("n1", "a")
    second = await hosts.node("n2", "b")
    await second.transport.stop()
    first.transport.send("a", "b", Grant(1))
    await first.until(lambda: first.heard.get("a"))
    assert first.numbers("a", "b") == [BROKEN]
    attempts = first.counters("n2").broken.total()
    # Nobody wants anything: nothing is tried.
    peer = first.transport._peer("n2")
    await first.until(lambda: peer.retry is None)
    assert first.counters("n2").broken.total() == attempts
    later = await hosts.node("n2", "b")
    first.transport.send("a", "b", Grant(2))
    await later.until(lambda: later.heard.get("b"))
    assert later.numbers("b", "a") == [2]


@over_both
async def test_a_node_that_loses_its_address_while_it_is_called_again(hosts: Hosts) -> None:
    """Whoever waits for it is told, and nothing that was sent before comes when it has one again."""
    first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
    await second.transport.stop()
    first.transport.send("a", "b", Grant(1))
    await first.until(lambda: first.numbers("a", "b") == [BROKEN])
    first.transport.send("a", "b", Grant(2))
    assert first.transport._peer("n2").retry is not None and first.transport._peer("n2").waiting
    hosts.book.locate("n2", None)
    await first.until(lambda: first.numbers("a", "b") == [BROKEN, BROKEN])
    assert first.counters("n2").broken["no address"] == 1 and first.transport._peer("n2").retry is None
    again = await hosts.node("n2", "b")
    first.transport.send("a", "b", Grant(4))
    await again.until(lambda: again.heard.get("b"))
    assert again.numbers("b", "a") == [4]


@over_both
async def test_nothing_that_waited_comes_behind_a_break_that_its_sender_heard_of(hosts: Hosts) -> None:
    first, second = await hosts.node("n1", "a", patience=SLOW_TO_RETRY), await hosts.node("n2", "b")
    there = hosts.book.nodes["n2"]
    await second.transport.stop()
    first.transport.send("a", "b", Grant(1))
    await first.until(lambda: first.numbers("a", "b") == [BROKEN])
    again = await hosts.node("n2", "b", port=there.port)
    # It waits for the next call; the one behind it has nowhere to go.
    first.transport.send("a", "b", Grant(2))
    hosts.book.locate("n2", None)
    first.transport.send("a", "b", Grant(3))
    await first.until(lambda: first.numbers("a", "b") == [BROKEN, BROKEN])
    hosts.book.locate("n2", there)
    first.transport.send("a", "b", Grant(4))
    await again.until(lambda: again.heard.get("b"))
    await asyncio.sleep(0)
    assert again.numbers("b", "a") == [4]
    assert first.counters("n2").lost["nobody there"] == 2


@over_both
async def test_what_waits_for_a_core_that_moves_is_lost_and_its_sender_told(hosts: Hosts) -> None:
    """It must not reach the life that was left, behind what is sent to the new one."""
    first = await hosts.node("n1", "a", patience=SLOW_TO_RETRY)
    second, third = await hosts.node("n2", "b"), await hosts.node("n3")
    there = hosts.book.nodes["n2"]
    await second.transport.stop()
    first.transport.send("a", "b", Grant(1))
    await first.until(lambda: first.numbers("a", "b") == [BROKEN])
    again = await hosts.node("n2", "b", "other", port=there.port)
    first.transport.send("a", "b", Grant(2))
    first.transport.send("a", "other", Grant(1))
    third.transport.opened("b")
    hosts.book.place("b", "n3")
    await first.until(lambda: first.numbers("a", "b") == [BROKEN, BROKEN])
    first.transport.send("a", "b", Grant(3))
    await third.until(lambda: third.heard.get("b"))
    await again.until(lambda: again.heard.get("other"))
    assert third.numbers("b", "a") == [3] and not again.heard.get("b")


@over_both
async def test_another_bucket_interval_is_refused(hosts: Hosts) -> None:
    first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b", bucket=1_000_000)
    first.transport.send("a", "b", Grant(1))
    await first.until(lambda: first.heard.get("a"))
    assert first.numbers("a", "b") == [BROKEN] and not second.heard
    (said,) = first.counters("n2").broken
    assert "its bucket interval is 500000 us, the one here 1000000 us" in said
    assert second.counters("(strangers)").refused.total() == 1


@over_both
async def test_another_engine_is_refused(hosts: Hosts) -> None:
    first = await hosts.node("n1", "a", fingerprint="spark 4.3")
    second = await hosts.node("n2", "b", fingerprint="spark 4.4")
    third = await hosts.node("n3", "c")
    first.transport.send("a", "b", Grant(1))
    first.transport.send("a", "c", Grant(1))
    await first.until(lambda: first.heard.get("a"))
    await third.until(lambda: third.heard.get("c"))
    assert first.numbers("a", "b") == [BROKEN] and not second.heard


# Breaks


@over_both
async def test_a_short_cut_loses_nothing_and_nobody_is_told(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    first.transport.refuse("n2")
    for number in (1, 2):
        first.transport.send("a", "b", Grant(number))
        second.transport.send("b", "a", Grant(number))
    first.transport.allow("n2")
    await second.until(lambda: len(second.heard["b"]) == 3)
    await first.until(lambda: len(first.heard["a"]) == 3)
    assert second.numbers("b", "a") == first.numbers("a", "b") == [0, 1, 2]
    assert first.counters("n2").connected == 1


def cut(going: bool, coming: bool) -> Scenario:
    async def scenario(hosts: Hosts) -> None:
        first, second = await hosts.pair()
        first.transport.refuse("n2", going=going, coming=coming)
        for number in range(1, 6):
            first.transport.send("a", "b", Grant(number))
            second.transport.send("b", "a", Grant(number))
        await first.until(lambda: BROKEN in first.numbers("a", "b"))
        await second.until(lambda: BROKEN in second.numbers("b", "a"))
        if going:
            assert second.numbers("b", "a")[:2] == [0, BROKEN]
        if coming:
            assert first.numbers("a", "b")[:2] == [0, BROKEN]
        # While it is cut, whoever sends is told so.
        before = len(first.heard["a"])
        first.transport.send("a", "b", Grant(50))
        await first.until(lambda: len(first.heard["a"]) > before)
        assert first.heard["a"][-1] == ("b", BROKEN)
        first.transport.allow("n2")
        second.transport.send("b", "a", Grant(100))
        await first.until(lambda: ("b", Grant(100)) in first.heard["a"] or second.transport.send("b", "a", Grant(100)))
        first.transport.send("a", "b", Grant(101))
        await second.until(lambda: ("a", Grant(101)) in second.heard["b"])
        assert Grant(50) not in [message for _, message in second.heard["b"]]

    return scenario


test_a_cut = pytest.mark.slow(over_both(cut(going=True, coming=True)))
test_a_cut_of_what_goes = pytest.mark.slow(over_both(cut(going=True, coming=False)))
test_a_cut_of_what_comes = pytest.mark.slow(over_both(cut(going=False, coming=True)))


@over_both
async def test_a_slow_link_delays_and_keeps_the_order(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    loop = asyncio.get_running_loop()
    first.transport.slow("n2", 0.15)
    begun = loop.time()
    for number in (1, 2, 3):
        first.transport.send("a", "b", Grant(number))
    first.transport.send("a", "b", stable("s", 4))
    await second.until(lambda: len(second.heard["b"]) == 5)
    assert min(second.when[-4:]) - begun >= 0.14
    second.transport.send("b", "a", Grant(1))
    begun = loop.time()
    await first.until(lambda: len(first.heard["a"]) == 2)
    assert first.when[-1] - begun >= 0.14
    # What is sent when it is quick again does not overtake what is still under way.
    first.transport.send("a", "b", Grant(4))
    first.transport.slow("n2", 0.0)
    first.transport.send("a", "b", Grant(5))
    await second.until(lambda: len(second.heard["b"]) == 7)
    assert [n for n in second.numbers("b", "a") if isinstance(n, int)] == [0, 1, 2, 3, 4, 5]
    assert not first.counters("n2").broken


@over_both
async def test_a_node_that_comes_back_gets_nothing_of_its_earlier_life(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    for number in range(1, 50):
        first.transport.send("a", "b", Grant(number))
    await second.transport.stop()
    await first.until(lambda: BROKEN in first.numbers("a", "b"))
    again = await hosts.node("n2", "b")
    first.transport.send("a", "b", Grant(100))
    await again.until(lambda: again.heard.get("b"))
    assert again.numbers("b", "a") == [100]
    assert first.numbers("a", "b") == [0, BROKEN]


@over_both
async def test_a_node_that_comes_back_before_its_peer_has_noticed(hosts: Hosts) -> None:
    """It calls with another life: what was there is over, and its peer is told."""
    first, second = await hosts.pair()
    first.transport.refuse("n2", going=True, coming=True)
    await second.transport.stop()
    again = await hosts.node("n2", "b")
    first.transport.allow("n2")
    again.transport.send("b", "a", Grant(7))
    await first.until(lambda: 7 in first.numbers("a", "b") or again.transport.send("b", "a", Grant(7)))
    assert first.numbers("a", "b")[:3] == [0, BROKEN, 7]


# Lives of cores


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


# Lanes


def slow_for(node: Node, stream: str) -> asyncio.Event:
    """Frames of the stream are not taken before the event."""
    allowed = asyncio.Event()

    async def taking() -> None:
        await allowed.wait()

    def take(_: str, event: Received | Disconnected) -> object:
        slow = isinstance(event, Received) and getattr(event.message, "stream", "") == stream
        return taking() if slow else None

    node.taking = take  # type: ignore[assignment]
    return allowed


def buckets(node: Node, stream: str) -> list[int]:
    said = [message for _, message in node.heard["b"] if getattr(message, "stream", "") == stream]
    return [message.begin if isinstance(message, Stable) else message.bucket for message in said]  # type: ignore[union-attr]


@over_both
async def test_a_slow_reader_of_one_stream_holds_up_no_other(hosts: Hosts) -> None:
    first, second = await hosts.pair(PATIENT)
    allowed = slow_for(second, "slow")
    rows = pa.table({"v": pa.array(range(200_000), pa.int64())})
    for bucket in range(12):
        first.transport.send("a", "b", stable("slow", bucket, rows))
    for bucket in range(12):
        first.transport.send("a", "b", stable("quick", bucket, rows))
    first.transport.send("a", "b", Grant(1))
    await second.until(lambda: len(buckets(second, "quick")) == 12)
    await first.until(lambda: set(first.transport.backlog("a")) == {("b", "slow")})
    # A window was sent, and the rest is kept here, for the host to see.
    assert len(buckets(second, "slow")) < 12
    assert first.transport.backlog("a")["b", "slow"] > 12 * rows.nbytes
    allowed.set()
    await second.until(lambda: len(buckets(second, "slow")) == 12)
    await first.until(lambda: not first.transport.backlog("a"))
    assert buckets(second, "slow") == buckets(second, "quick") == list(range(12))
    assert second.numbers("b", "a").count(BROKEN) == 0


@over_both
async def test_old_tentative_frames_are_dropped_for_a_slow_reader_and_counted(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    first.transport.refuse("n2", going=True, coming=False)
    for bucket in range(3 * MOST_FRESH):
        first.transport.send("a", "b", tentative("s", bucket))
    for bucket in range(5):
        first.transport.send("a", "b", stable("s", bucket))
    first.transport.allow("n2")
    await second.until(lambda: len(buckets(second, "s")) >= MOST_FRESH + 5)
    came = [message.bucket for _, message in second.heard["b"] if isinstance(message, Tentative)]
    dropped = first.counters("n2").dropped["s"]
    assert came == list(range(dropped, 3 * MOST_FRESH)) and dropped == 2 * MOST_FRESH
    assert [message.begin for _, message in second.heard["b"] if isinstance(message, Stable)] == list(range(5))
    assert first.counters("n2").sent[Way.FRESH] == 3 * MOST_FRESH
    assert second.counters("n1").received[Way.FRESH] == MOST_FRESH


@pytest.mark.slow
@over_both
async def test_a_large_frame_does_not_hold_up_heartbeats(hosts: Hosts) -> None:
    """50 MB: several get through before it has. `bench` measures how long one takes."""
    first, second = await hosts.pair(PATIENT)
    large = pa.table({"v": np.arange(6_500_000)})
    first.transport.send("a", "b", stable("s", 1, large))
    number = 0
    while len(buckets(second, "s")) == 0:
        number += 1
        first.transport.send("a", "b", Grant(number))
        await second.until(lambda number=number: ("a", Grant(number)) in second.heard["b"][-3:])
    assert number > 3
    assert not first.counters("n2").broken


# What fails here


LARGE_ROWS = pa.table({"v": pa.array(range(200_000), pa.int64())})
"""More than is written and read by the threads that send and receive."""


def failing(patch: pytest.MonkeyPatch, of: type, name: str, when: int) -> None:
    """The call of this number fails, as if there were no memory for it."""
    plain, calls = getattr(of, name), []

    def call(self: object) -> object:
        calls.append(self)
        if len(calls) == when:
            raise MemoryError("none left")
        return plain(self)

    patch.setattr(of, name, call)


@pytest.mark.parametrize("rows", [ROWS, LARGE_ROWS], ids=["small", "large"])
@pytest.mark.parametrize(("of", "name"), [(codec.Encoded, "body"), (incoming.Unread, "read")])
@pytest.mark.parametrize("kind", ["memory", "flight"])
def test_a_message_that_cannot_be_handled_breaks_the_connection(
    kind: str, of: type, name: str, rows: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides are told, and nothing that was sent behind it comes before that."""

    async def scenario(hosts: Hosts) -> None:
        first, second = await hosts.pair(PATIENT)
        with monkeypatch.context() as patch:
            failing(patch, of, name, 2)
            for bucket in range(5):
                first.transport.send("a", "b", stable("s", bucket, rows))
            await first.until(lambda: BROKEN in first.numbers("a", "b"))
            await second.until(lambda: BROKEN in second.numbers("b", "a"))
        assert buckets(second, "s") in ([], [0])
        reasons = [*first.counters("n2").broken, *second.counters("n1").broken]
        assert any("MemoryError" in reason for reason in reasons), reasons
        first.transport.send("a", "b", stable("s", 9, rows))
        await second.until(lambda: 9 in buckets(second, "s"))

    run(kind, scenario)


@over_both
async def test_a_control_message_that_cannot_be_written_breaks_the_connection(hosts: Hosts) -> None:
    first, second = await hosts.pair(PATIENT)
    with pytest.MonkeyPatch.context() as patch:
        failing(patch, codec.Encoded, "body", 1)
        first.transport.send("a", "b", Grant(1))
        first.transport.send("a", "b", Grant(2))
        await first.until(lambda: BROKEN in first.numbers("a", "b"))
        await second.until(lambda: BROKEN in second.numbers("b", "a"))
    assert second.numbers("b", "a") == [0, BROKEN]


# Stopping, and whatever happens


@pytest.mark.slow
@over_both
async def test_a_loop_that_was_busy_does_not_take_its_peers_for_dead(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    time.sleep(1.5 * QUICK.silence)  # The loop, and all on it, stand still.
    first.transport.send("a", "b", Grant(1))
    await second.until(lambda: len(second.heard["b"]) == 2)
    assert second.numbers("b", "a") == [0, 1] and not first.counters("n2").broken


@over_both
async def test_nothing_is_delivered_behind_a_stop(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    for number in range(1, 100):
        second.transport.send("b", "a", Grant(number))
    await first.transport.stop()
    before = len(first.heard["a"])
    await second.until(lambda: BROKEN in second.numbers("b", "a"))
    await first.transport.stop()
    assert len(first.heard["a"]) == before


@over_both
async def test_an_error_of_one_core_does_not_keep_others_from_hearing(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))

    def fail(core: str, event: Received | Disconnected) -> None:
        if event == Received("a", Grant(1)):
            raise ZeroDivisionError

    second.taking = fail
    for number in (1, 2, 3):
        first.transport.send("a", "b", Grant(number))
    await second.until(lambda: second.numbers("b", "a") == [0, 1, 2, 3])
    assert [type(error) for error in errors] == [ZeroDivisionError]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["memory", "flight"])
def test_whatever_happens_the_contract_holds(kind: str, seed: int) -> None:
    run(kind, anything, random.Random(seed))


async def anything(hosts: Hosts, chance: random.Random) -> None:
    """Cuts, heals, restarts of cores and nodes, a book that is wrong for a while, while all send numbers to all."""
    names = ["n1", "n2", "n3"]
    nodes = {name: await hosts.node(name, f"c-{name}") for name in names}
    cores = {f"c-{name}": name for name in names}
    sent: dict[tuple[str, str], int] = dict.fromkeys(((a, b) for a in cores for b in cores if a != b), -1)
    logs: dict[tuple[str, str], list[list[int | str]]] = {pair: [[]] for pair in sent}

    def finish_life(core: str) -> None:
        """What a life of a core heard is judged by itself."""
        node = nodes[cores[core]]
        for other in cores:
            if other != core:
                logs[core, other].append(node.numbers(core, other))
        node.heard.pop(core, None)

    def right(name: str) -> None:
        hosts.book.place(f"c-{name}", name)
        hosts.book.locate(name, Endpoint("127.0.0.1", getattr(nodes[name].transport, "port", 1)))

    for _ in range(120):
        for sender, to in sent:
            for _ in range(chance.randint(0, 3)):
                sent[sender, to] += 1
                nodes[cores[sender]].transport.send(sender, to, Grant(sent[sender, to]))
        name, other = chance.sample(names, 2)
        match chance.randrange(40):
            case 0 | 1:
                nodes[name].transport.refuse(other, going=chance.random() < 0.7, coming=chance.random() < 0.7)
            case 2 | 3 | 4 | 5:
                nodes[name].transport.allow(other)
            case 6 | 7:
                finish_life(f"c-{name}")
                nodes[name].transport.closed(f"c-{name}")
                nodes[name].transport.opened(f"c-{name}")
            case 8:
                finish_life(f"c-{name}")
                await nodes[name].transport.stop()
                nodes[name] = await hosts.node(name, f"c-{name}")
            case 9:
                nodes[name].transport.slow(other, chance.choice((0.0, 0.01)))
            case 10 | 11:
                hosts.book.place(f"c-{name}", chance.choice((other, "nowhere")))
            case 12:
                hosts.book.locate(name, None)
            case 13 | 14 | 15 | 16:
                right(name)
            case _:
                pass
        await asyncio.sleep(chance.choice((0, 0.001, 0.01)))
    for name in names:
        right(name)
        for other in names:
            if name != other:
                nodes[name].transport.allow(other)
    # In the end all reach all.
    for sender, to in sent:
        there = nodes[cores[to]]

        def reached(sender: str = sender, to: str = to, there: Node = there) -> bool:
            sent[sender, to] += 1
            nodes[cores[sender]].transport.send(sender, to, Grant(sent[sender, to]))
            numbers = [number for number in there.numbers(to, sender) if isinstance(number, int)]
            return bool(numbers) and numbers[-1] > sent[sender, to] - 5

        await there.until(reached)
    for core in cores:
        finish_life(core)
    heard = 0
    for pair, lives in logs.items():
        for numbers in lives:
            assert in_order_but_for_breaks(numbers), (pair, numbers)
            heard += len(numbers)
        together = [number for life in lives for number in life if isinstance(number, int)]
        assert together == sorted(set(together)), pair
    assert heard > 100


def test_the_order_checker_notices() -> None:
    assert in_order_but_for_breaks([0, 1, 2, BROKEN, 5, 6])
    for wrong in ([0, 2], [0, 0], [1, 0], [0, 1, BROKEN, 1], [0, BROKEN, 3, 5]):
        assert not in_order_but_for_breaks(wrong)
