"""Nodes in processes of their own: one Flight port a node, one connection a pair of nodes.

A connection is one `DoExchange`, of whoever called (`switchboard`). The caller's hello is the descriptor, the first thing that comes
back is the answer; from then on each side writes and reads things (`things`) as application metadata. With certificates, both ends prove
who they are before a byte of this is read.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow.flight as fl

from auroral.model.deployment import LOCAL_HOST, Endpoint
from auroral.wire.addresses import AddressBook
from auroral.wire.certificates import Certificates
from auroral.wire.errors import Overtaken, WireError, reason_of
from auroral.wire.exchange import BROKEN, Exchange
from auroral.wire.hello import Hello, Identity
from auroral.wire.lanes import Way
from auroral.wire.limits import MIB, MOST_STRANGERS
from auroral.wire.names import Names
from auroral.wire.peers import Peer
from auroral.wire.posting import ask_loop, post
from auroral.wire.sockets import Ends, connections, grpc_address, plain, sever, sever_all
from auroral.wire.switchboard import Switchboard
from auroral.wire.transport import Deliver, Patience

_REFUSED = "refused"
_EACH_WAIT = 0.02
_MOST_TRIED = 4
"""Addresses of a name. They share the time that a connection may take."""


class FlightTransport(Switchboard):
    """`listen` with port 0 takes a free one, which `port` says once it is started. Without `certificates` anybody who reaches the port can
    speak: for one machine, or a network where all are trusted."""

    def __init__(
        self,
        identity: Identity,
        book: AddressBook,
        deliver: Deliver,
        listen: Endpoint | None = None,
        certificates: Certificates | None = None,
        patience: Patience | None = None,
        weights: Mapping[Way, float] | None = None,
        strangers: int = MOST_STRANGERS,
    ):
        super().__init__(identity, book, deliver, patience, weights, strangers)
        self.host, self.port = (listen.host, listen.port) if listen is not None else (LOCAL_HOST, 0)
        self.certificates = certificates
        self._server: _Server | None = None
        self.names = Names()
        self._calls: set[_Call] = set()
        """Those that have a thread."""
        self._aside = concurrent.futures.ThreadPoolExecutor(1, f"wire-{identity.node}-aside")

    async def start(self) -> None:
        await super().start()
        try:
            self._server = await asyncio.to_thread(_Server, self)
        except BROKEN as error:
            await super().stop()
            raise WireError(
                f"cannot listen: {str(error)[:200]}",
                f"{self.host}:{self.port}",
                "an address of this machine and a free port, and certificates that belong together",
            ) from error
        self.port = self._server.port

    async def stop(self) -> None:
        await super().stop()
        for call in list(self._calls):
            while call.thread.is_alive():
                call.cancel()
                await asyncio.to_thread(call.thread.join, _EACH_WAIT)
        if self._server is not None:
            server, self._server = self._server, None
            stopping = asyncio.ensure_future(asyncio.to_thread(server.shutdown))
            # It waits for every call to end, and a peer that stands still ends none: neither do strangers who say nothing.
            while not stopping.done():
                sever(local=self.port)
                await asyncio.wait([stopping], timeout=_EACH_WAIT)
            await stopping
        await asyncio.to_thread(self._aside.shutdown, cancel_futures=True)

    def aside(self, step: Callable[[], None]) -> None:
        """Large messages are written and read one after the other, beside all others. Not any more once it stops."""
        with suppress(RuntimeError):
            self._aside.submit(step)

    def _dial(self, peer: Peer, hello: Hello) -> _Call:
        return _Call(self, peer, hello, self.book.nodes[peer.name])

    def call_began(self, call: _Call) -> None:
        self._calls.add(call)

    def call_ended(self, call: _Call) -> None:
        self._calls.discard(call)

    @property
    def _scheme(self) -> str:
        return "grpc" if self.certificates is None else "grpc+tls"

    def uri(self, endpoint: Endpoint) -> str:
        return f"{self._scheme}://{endpoint}"


class _Call:
    """An attempt to connect, in a thread that then reads what comes. The name of the peer's host is asked for before: a call can be given up
    at any time, that cannot."""

    def __init__(self, transport: FlightTransport, peer: Peer, hello: Hello, endpoint: Endpoint):
        self.transport, self.peer, self.hello, self.endpoint = transport, peer, hello, endpoint
        self.cancelled = False
        self._client: Any = None
        self._reader: Any = None
        self._writer: Any = None
        self._severed: Callable[[], int] | None = None
        self._deadline = transport.loop.call_later(transport.patience.connect, self._overdue)
        name = f"wire-{transport.node}-from-{peer.name}"
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._hosts: tuple[str, ...] = ()
        transport.names.ask(endpoint.host.strip("[]"), transport.loop, self._named)

    def cancel(self) -> None:
        """From any thread. A read comes back when it is cancelled, a write only when the connection is gone."""
        self.cancelled = True
        if (reader := self._reader) is not None:
            reader.cancel()
        if (severed := self._severed) is not None:
            severed()

    # By the loop

    def _overdue(self) -> None:
        """Whoever waits for the connection is told at once, wherever the call stands."""
        self.cancel()
        reason = f"it took longer than {self.transport.patience.connect:g} s"
        self.transport.not_connected(self.peer, self, reason)

    def _named(self, hosts: tuple[str, ...]) -> None:
        if self.cancelled:
            return
        if not hosts:
            self._deadline.cancel()
            unknown = WireError(f"nobody knows an address of {self.endpoint.host!r}", self.peer.name)
            self.transport.not_connected(self.peer, self, str(unknown))
            return
        self._hosts = hosts[:_MOST_TRIED]
        self.transport.call_began(self)
        self.thread.start()

    def _connected(self, answer: Hello) -> Exchange | None:
        self._deadline.cancel()
        link = self.transport.connected(self.peer, self, answer)
        if link is None:
            return None
        exchange = Exchange(self.transport, link, self._reader, self._writer, self.cancel, self.transport.aside)
        self.transport.carried(link, exchange)
        return exchange

    def _ended(self) -> None:
        self._deadline.cancel()
        self.transport.call_ended(self)

    # By its thread

    def _run(self) -> None:
        transport = self.transport
        try:
            answer = self._reach()
            exchange = ask_loop(transport.loop, partial(self._connected, answer), transport.patience.connect)
            if exchange is not None:
                exchange.run()
        except Exception as error:  # noqa: BLE001  whatever it was, whoever waits for the connection is told
            usual = isinstance(error, (WireError, *BROKEN))
            reason = (str(error) or "the other side ended it") if usual else reason_of(error)
            post(transport.loop, transport.not_connected, self.peer, self, reason, isinstance(error, Overtaken))
        finally:
            self._close()
            post(transport.loop, self._ended)

    def _reach(self) -> Hello:
        """What is answered at the first address where somebody is."""
        for host in self._hosts[:-1]:
            try:
                return self._call(host)
            except BROKEN:
                self._close()
        return self._call(self._hosts[-1])

    def _call(self, host: str) -> Hello:
        port = self.endpoint.port
        if self.cancelled:
            raise WireError("it was given up", self.peer.name)
        before = connections(port)
        literal = Endpoint(f"[{host}]" if ":" in host else host, port)
        self._client = fl.FlightClient(self.transport.uri(literal), **self._options())
        self._writer, self._reader = self._client.do_exchange(fl.FlightDescriptor.for_command(self.hello.to_bytes()))
        if self.cancelled:
            raise WireError("it took too long, or was given up", self.peer.name)
        answer = _answer(self._reader.read_chunk())
        self._severed = partial(sever_all, self._found(host, answer.seen_as, connections(port) - before))
        return answer

    def _close(self) -> None:
        """Can be cancelled until it is done."""
        for one in (self._writer, self._client):
            if one is not None:
                # It is broken already. That it is closed keeps Arrow from saying so on standard error.
                with suppress(*BROKEN):
                    one.close()
        self._client = self._reader = self._writer = None
        # Another connection may have its address by now.
        self._severed = None

    def _options(self) -> dict[str, Any]:
        connect = int(1000 * self.transport.patience.connect / len(self._hosts))
        options: dict[str, Any] = {
            "generic_options": [
                # Each attempt is one of its own, and takes no longer than it may.
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.initial_reconnect_backoff_ms", connect),
                ("grpc.min_reconnect_backoff_ms", connect),
                ("grpc.max_reconnect_backoff_ms", connect),
                # Nodes reach one another themselves, whatever the environment says of the web.
                ("grpc.enable_http_proxy", 0),
                ("grpc.max_receive_message_length", MIB),
            ]
        }
        if (tls := self.transport.certificates) is not None:
            # The name of the node is what its certificate must say, wherever it runs.
            options |= tls.of_caller(self.peer.name)
        return options

    def _found(self, host: str, seen_as: str, appeared: set[Ends]) -> set[Ends]:
        """This connection, and no other one to a node with the same port: it has come since the call began, and is known by the address that
        the peer sees, unless that was changed on the way."""
        seen = grpc_address(seen_as)
        there = {ends for ends in appeared if ends[1][0] == plain(host)}
        # Some addresses stand for others, as 0.0.0.0 does for this machine.
        known = {ends for ends in there or appeared if ends[0] == seen} or there
        if not known:
            raise WireError(
                "the connection is not found among those of this process: nothing could end it", self.peer.name
            )
        return known


class _Server(fl.FlightServerBase):  # type: ignore[misc]
    """Takes exchanges, and nothing else that Flight knows."""

    def __init__(self, transport: FlightTransport):
        self.transport = transport
        secure = {} if transport.certificates is None else transport.certificates.of_server
        super().__init__(transport.uri(Endpoint(transport.host, transport.port)), **secure)

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """In a thread of gRPC's, for as long as the connection lasts."""
        transport = self.transport
        patience = transport.patience.connect
        try:
            hello = Hello.from_bytes(descriptor.command or b"", f"hello from {context.peer()}")
        except WireError as error:
            post(transport.loop, transport.refused, error)
            _refuse(writer, error)
            return
        try:
            taken = ask_loop(transport.loop, partial(self._accept, context, hello, reader, writer), patience)
        except WireError as error:
            _refuse(writer, error)
            return
        answer, exchange = taken
        with suppress(*BROKEN):
            writer.write_metadata(answer.seen(context.peer()).to_bytes())
        exchange.run()

    def _accept(self, context: Any, hello: Hello, reader: Any, writer: Any) -> tuple[Hello, Exchange]:
        certified = None if self.transport.certificates is None else context.peer_identity().decode(errors="replace")
        if (address := grpc_address(context.peer())) is None:
            error = WireError("the address of the caller is unknown", "connection", "TCP over IPv4 or IPv6")
            self.transport.refused(error)
            raise error
        answer, link = self.transport.accept(hello, certified)
        end = partial(sever, local=self.port, remote=address)
        exchange = Exchange(self.transport, link, reader, writer, end, self.transport.aside)
        self.transport.carried(link, exchange)
        return answer, exchange


def _refuse(writer: Any, error: WireError) -> None:
    with suppress(*BROKEN):
        writer.write_metadata(json.dumps([_REFUSED, isinstance(error, Overtaken), str(error)[:1000]]).encode())


def _answer(chunk: Any) -> Hello:
    """The hello of the other side; WireError where it refused."""
    data = b"" if chunk.app_metadata is None else chunk.app_metadata.to_pybytes()
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    if type(said) is list and len(said) == 3 and said[0] == _REFUSED:
        raise (Overtaken if said[1] is True else WireError)(f"refused: {str(said[2])[:1000]}")
    return Hello.from_bytes(data, "answer")
