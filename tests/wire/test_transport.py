"""The contract of a connection, over memory and over Flight: one body of tests for both."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pyarrow as pa
import pytest

from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Content, Grant, Known, Ping, Stable
from auroral.dpc.versions import Decision
from auroral.wire import codec, outgoing, switchboard
from auroral.wire.errors import WireError
from auroral.wire.lanes import Way
from wire.frames import ROWS, stable
from wire.hosts import BROKEN, PATIENT, QUICK, Hosts, Scenario, over_both

SLOW_TO_RETRY = replace(QUICK, first_retry=0.6, longest_retry=0.6)
"""Long enough for things to happen between two calls."""


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


# Stopping


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
