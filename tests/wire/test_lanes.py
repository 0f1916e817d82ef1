"""Frames and what fails among them: a slow reader, a large frame, a message that cannot be handled."""

from __future__ import annotations

import asyncio

import numpy as np
import pyarrow as pa
import pytest

from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Grant, Stable, Tentative
from auroral.wire import codec, incoming
from auroral.wire.lanes import Way
from auroral.wire.limits import MOST_FRESH
from wire.frames import ROWS, stable, tentative
from wire.hosts import BROKEN, PATIENT, Hosts, Node, over_both, run


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
