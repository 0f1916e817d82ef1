"""Send to admit: from when a source is told that a bucket is logged to when the replica in another process has taken it in.

Both run as in a deployment: cores on a host, over Flight, with their subscriptions, heartbeats and acknowledgements; the bucket is in the replica's buffer when its core
has handled it, and its SUnion may use it. Nothing is written to disk on the way, and jobs take no time: neither is part of a hop. Clocks of two processes on
one machine are the same (CLOCK_MONOTONIC).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import pyarrow as pa

from auroral.dpc.events import Disconnected, Effect, Evaluate, Evaluated, Event, Logged, Received, Started
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content, Stable
from auroral.model.deployment import Endpoint
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.host import Host
from auroral.wire.addresses import AddressBook
from auroral.wire.flight import FlightTransport
from auroral.wire.hello import Identity

BUCKET = 500_000
SOURCE, REPLICA = "s@near", "q@far"
SETTINGS = Settings(bucket=BUCKET / 1e6, bound=float("inf"))
WARM = 20
WITHIN = 30.0
"""Seconds in which a bucket must have come."""
PLACES = {SOURCE: "near", REPLICA: "far"}


class Nothing:
    """Jobs that give empty buckets at once."""

    def run(self, asked: Evaluate) -> Evaluated:
        empty = tuple(Content(0, 0) for _ in range(asked.begin, asked.end))
        return Evaluated(asked.job, dict.fromkeys(asked.outputs, empty))

    def cancel(self, asked: Evaluate) -> None:
        pass


def hosted(node: str, book: AddressBook) -> tuple[Host, FlightTransport]:
    def told(core: str, event: Received | Disconnected) -> None:
        host.tell(core, event)

    transport = FlightTransport(Identity.of(node, BUCKET), book, told)
    host = Host(Clock(), transport)
    return host, transport


async def measured(tables: Mapping[str, Sequence[pa.Table]]) -> dict[str, list[float]]:
    """Seconds for each of these buckets, one at a time."""
    book = AddressBook({}, PLACES)
    host, transport = hosted("near", book)
    await transport.start()
    command = [sys.executable, "-m", "bench.admitting", str(transport.port)]
    child = await asyncio.to_thread(subprocess.Popen, command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        book.locate("far", Endpoint("127.0.0.1", int(await asyncio.to_thread(child.stdout.readline))))
        host.start(SOURCE, Source("s", (REPLICA,), SETTINGS), Started())
        bucket, found = 0, dict[str, list[float]]()
        for name, rows in tables.items():
            found[name] = []
            for number, table in enumerate([*[rows[0]] * WARM, *rows]):
                content = Content(bucket + 1, table.num_rows, table)
                begun = time.monotonic()
                host.tell(SOURCE, Logged(bucket, content, closed=True))
                async with asyncio.timeout(WITHIN):
                    line = await asyncio.to_thread(child.stdout.readline)
                admitted, at = line.split()
                assert int(admitted) == bucket + 1, (
                    f"bucket {bucket} was logged, and the replica has all before {admitted}"
                )
                if number >= WARM:
                    found[name].append(float(at) - begun)
                bucket += 1
        return found
    finally:
        await host.stop()
        await transport.stop()
        child.kill()
        child.wait()
        child.stdout.close()


async def _far(near_port: int) -> None:
    book = AddressBook({"near": Endpoint("127.0.0.1", near_port)}, PLACES)
    host, transport = hosted("far", book)
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ())
    replica = Replica(ReplicaSpec(REPLICA, {"s": (SOURCE,)}, {"s": ("s",)}, {"o": output}), SETTINGS)

    def handled(_: str, event: Event, __: Sequence[Effect]) -> None:
        if isinstance(event, Received) and isinstance(event.message, Stable):
            print(replica.ports["s"].frontier, time.monotonic(), flush=True)

    host.observed.append(handled)
    await transport.start()
    print(transport.port, flush=True)
    host.start(REPLICA, replica, Started(), jobs=Nothing())
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_far(int(sys.argv[1])))
