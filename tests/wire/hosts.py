"""Nodes for tests, over memory or over Flight, and what their cores heard."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Grant, Message
from auroral.model.deployment import Endpoint
from auroral.wire.addresses import AddressBook
from auroral.wire.certificates import Certificates
from auroral.wire.flight import FlightTransport
from auroral.wire.hello import Identity
from auroral.wire.limits import MOST_STRANGERS
from auroral.wire.memory import MemoryNetwork, MemoryTransport
from auroral.wire.switchboard import Switchboard
from auroral.wire.transport import Patience

QUICK = Patience(silence=1.0, beat=0.05, connect=2.0, first_retry=0.01, longest_retry=0.1, nobody=0.01)
PATIENT = replace(QUICK, silence=20.0)
"""Where much is moved: on a busy machine a thread may wait for its turn."""
BUCKET = 500_000
BROKEN = "broken"
AT_MOST = 15.0
"""Seconds that anything is waited for, on a machine that has other things to do."""


@dataclass(slots=True)
class Node:
    transport: Switchboard
    heard: dict[str, list[tuple[str, Message | str]]] = field(default_factory=dict)
    """By core: who said what, or that the connection to it is BROKEN."""
    when: list[float] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    taking: Callable[[str, Received | Disconnected], Awaitable[None] | None] = lambda *_: None
    """What `deliver` gives back."""

    def deliver(self, core: str, event: Received | Disconnected) -> Awaitable[None] | None:
        said = (event.sender, event.message) if isinstance(event, Received) else (event.peer, BROKEN)
        self.heard.setdefault(core, []).append(said)
        self.when.append(asyncio.get_running_loop().time())
        self.changed.set()
        return self.taking(core, event)

    def numbers(self, core: str, sender: str) -> list[int | str]:
        """What it heard of a peer: numbers of grants, and breaks."""
        said = [what for who, what in self.heard.get(core, []) if who == sender]
        return [what.number if isinstance(what, Grant) else what for what in said]

    async def until(self, found: Callable[[], Any]) -> None:
        async with asyncio.timeout(AT_MOST):
            while not found():
                self.changed.clear()
                # What is waited for may also be a counter, which nobody reports.
                try:
                    await asyncio.wait_for(self.changed.wait(), 0.02)
                except TimeoutError:
                    continue

    def counters(self, peer: str) -> Any:
        return self.transport._peer(peer).counters


@dataclass(slots=True)
class Hosts:
    kind: str
    book: AddressBook = field(default_factory=AddressBook)
    network: MemoryNetwork = field(default_factory=MemoryNetwork)
    nodes: list[Node] = field(default_factory=list)

    async def node(
        self,
        name: str,
        *cores: str,
        patience: Patience = QUICK,
        bucket: int = BUCKET,
        certificates: Certificates | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        fingerprint: str = "",
        strangers: int = MOST_STRANGERS,
    ) -> Node:
        identity = Identity.of(name, bucket, fingerprint)
        node = Node.__new__(Node)
        transport: Switchboard
        if self.kind == "memory":
            transport = MemoryTransport(
                identity, self.book, lambda c, e: node.deliver(c, e), self.network, patience, strangers=strangers
            )
        else:
            listen = Endpoint(host, port)
            transport = FlightTransport(
                identity,
                self.book,
                lambda c, e: node.deliver(c, e),
                listen,
                certificates,
                patience,
                strangers=strangers,
            )
        node.__init__(transport)  # type: ignore[misc]
        await transport.start()
        self.book.locate(name, Endpoint(host, getattr(transport, "port", 1)))
        for core in cores:
            self.book.place(core, name)
            transport.opened(core)
        self.nodes.append(node)
        return node

    async def pair(self, patience: Patience = QUICK) -> tuple[Node, Node]:
        """Nodes n1 and n2 with cores a and b, which have talked to each other."""
        first, second = await self.node("n1", "a", patience=patience), await self.node("n2", "b", patience=patience)
        first.transport.send("a", "b", Grant(0))
        await second.until(lambda: second.heard.get("b"))
        second.transport.send("b", "a", Grant(0))
        await first.until(lambda: first.heard.get("a"))
        return first, second

    async def stop(self) -> None:
        for node in self.nodes:
            await node.transport.stop()


Scenario = Callable[..., Awaitable[None]]


def run(kind: str, scenario: Scenario, *arguments: object) -> None:
    async def whole() -> None:
        hosts = Hosts(kind)
        try:
            async with asyncio.timeout(2 * AT_MOST):
                await scenario(hosts, *arguments)
        finally:
            await hosts.stop()

    asyncio.run(whole())


def over_both(scenario: Scenario) -> Callable[[str], None]:
    """One test body, over memory and over Flight."""

    @pytest.mark.parametrize("kind", ["memory", "flight"])
    def test(kind: str) -> None:
        run(kind, scenario)

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test


def over_flight(scenario: Scenario) -> Callable[[], None]:
    @functools.wraps(scenario, assigned=("__name__", "__doc__"), updated=())
    def test() -> None:
        run("flight", scenario)

    del test.__wrapped__  # type: ignore[attr-defined]
    return test


def in_order_but_for_breaks(numbers: list[int | str]) -> bool:
    """Between two breaks nothing is missing, twice, or in another order; behind one, only later numbers come."""
    last, since_break = -1, True
    for number in numbers:
        if isinstance(number, str):
            since_break = True
        else:
            if number <= last or (number != last + 1 and not since_break):
                return False
            last, since_break = number, False
    return True
