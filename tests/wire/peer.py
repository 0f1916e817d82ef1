"""A node in a process of its own, for tests that kill it: core `b` on node n2 answers every grant with the same grant.

python peer.py PARENT_PORT PORT: says its port on a line, then lives until it is killed.
"""

from __future__ import annotations

import asyncio
import sys

from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Grant
from auroral.model.deployment import Endpoint
from auroral.wire.addresses import AddressBook
from auroral.wire.flight import FlightTransport
from auroral.wire.hello import Identity
from auroral.wire.transport import Patience

BUCKET = 500_000


async def live(parent: int, port: int) -> None:
    book = AddressBook({"n1": Endpoint("127.0.0.1", parent)}, {"a": "n1", "b": "n2"})

    def answer(core: str, event: Received | Disconnected) -> None:
        if isinstance(event, Received) and isinstance(event.message, Grant):
            transport.send(core, event.sender, event.message)

    patience = Patience(silence=1.0, beat=0.05, connect=2.0, first_retry=0.01, longest_retry=0.1, nobody=0.01)
    listen = Endpoint("127.0.0.1", port)
    transport = FlightTransport(Identity.of("n2", BUCKET), book, answer, listen, patience=patience)
    await transport.start()
    transport.opened("b")
    sys.stdout.write(f"{transport.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(live(int(sys.argv[1]), int(sys.argv[2])))
