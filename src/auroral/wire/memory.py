"""Nodes within one process and one event loop: the same contract, limits and bytes as between processes, without a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from auroral.wire.addresses import AddressBook
from auroral.wire.errors import Overtaken, WireError, reason_of
from auroral.wire.hello import Hello, Identity
from auroral.wire.incoming import Incoming, Unread
from auroral.wire.lanes import Way
from auroral.wire.limits import MOST_STRANGERS
from auroral.wire.link import Link
from auroral.wire.peers import Peer
from auroral.wire.switchboard import Switchboard
from auroral.wire.things import Beat
from auroral.wire.transport import Deliver, Patience

_AT_ONCE = 32
"""Things that are passed on before others have their turn on the loop."""


@dataclass(slots=True)
class MemoryNetwork:
    """Where nodes find one another."""

    nodes: dict[str, MemoryTransport] = field(default_factory=dict)


class MemoryTransport(Switchboard):
    def __init__(
        self,
        identity: Identity,
        book: AddressBook,
        deliver: Deliver,
        network: MemoryNetwork,
        patience: Patience | None = None,
        weights: Mapping[Way, float] | None = None,
        strangers: int = MOST_STRANGERS,
    ):
        super().__init__(identity, book, deliver, patience, weights, strangers)
        self.network = network

    async def start(self) -> None:
        await super().start()
        self.network.nodes[self.node] = self

    async def stop(self) -> None:
        if self.network.nodes.get(self.node) is self:
            del self.network.nodes[self.node]
        await super().stop()

    def _dial(self, peer: Peer, hello: Hello) -> _Call:
        call = _Call(self, peer, hello)
        self.loop.call_soon(call.ring)
        return call


@dataclass(slots=True, eq=False)
class _Call:
    caller: MemoryTransport
    peer: Peer
    hello: Hello
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True

    def ring(self) -> None:
        """The hello arrives."""
        if self.cancelled:
            return
        called = self.caller.network.nodes.get(self.peer.name)
        try:
            if called is None:
                raise WireError("nobody listens there", self.peer.name)
            answer, link = called.accept(Hello.from_bytes(self.hello.to_bytes()))
        except WireError as error:
            overtaken = isinstance(error, Overtaken)
            self.caller.loop.call_soon(self.caller.not_connected, self.peer, self, str(error), overtaken)
            return
        their_end = _End(called, link)
        called.carried(link, their_end)
        self.caller.loop.call_soon(self._answered, Hello.from_bytes(answer.to_bytes()), their_end)

    def _answered(self, answer: Hello, their_end: _End) -> None:
        link = self.caller.connected(self.peer, self, answer)
        if link is None:
            their_end.broke("the call was given up")
            return
        own_end = _End(self.caller, link)
        own_end.other, their_end.other = their_end, own_end
        self.caller.carried(link, own_end)
        for end in (own_end, their_end):
            end.ready()


class _End:
    """One end of a connection: takes what its link wants to send over to the other end."""

    def __init__(self, board: Switchboard, link: Link):
        self.board, self.link = board, link
        self.incoming = Incoming()
        self.other: _End | None = None
        self.closed = False
        self.said_nothing = True
        self.scheduled = False
        link.outgoing.ready = self.ready

    def ready(self) -> None:
        if not self.scheduled and self.other is not None and not self.closed:
            self.scheduled = True
            self.board.loop.call_soon(self._pass_on)

    def _pass_on(self) -> None:
        self.scheduled = False
        for _ in range(_AT_ONCE):
            try:
                thing = self.link.outgoing.take()
            except Exception as error:  # noqa: BLE001  a message that is lost breaks the connection, whatever the reason
                self.board.ended(self.link, reason_of(error))
                return
            if thing is None or self.other is None:
                return
            self.said_nothing = False
            self.other.came(thing)
        self.ready()

    def came(self, thing: bytes) -> None:
        if self.closed:
            return
        if not self.link.deaf:
            self.link.heard = self.board.loop.time()
        try:
            came = self.incoming.receive(pa.py_buffer(thing))
            arrival = came.read() if isinstance(came, Unread) else came
        except Exception as error:  # noqa: BLE001  a message that is lost breaks the connection, whatever the reason
            self.board.ended(self.link, reason_of(error))
            return
        if arrival is not None:
            self.link.in_line.put(partial(self.board.arrived, self.link, arrival))

    def beat(self) -> None:
        if self.said_nothing and not self.link.outgoing.held:
            self.link.outgoing.say(Beat().to_bytes())
        self.said_nothing = True

    def close(self) -> None:
        self.closed = True
        if self.other is not None and not self.other.closed:
            self.board.loop.call_soon(self.other.broke, "the other side ended it")

    def broke(self, reason: str) -> None:
        if not self.closed:
            self.board.ended(self.link, reason)
