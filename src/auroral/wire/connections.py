"""Connections of a node, however they carry bytes: who calls, who is taken, what breaks, and what is done to them on purpose.

A transport of a kind (`memory`, `flight`) says how a connection is tried (`_dial`), and asks here whether one that comes is taken
(`accept`). What is said over them is the matter of the `switchboard`.

Who dials. Either side does when one of its cores wants to send. If both do at once, the connection of the node whose name comes first
holds: it refuses the other's, and the other gives its own up when it takes the first one's. Each attempt has a number. A hello whose number
was already known when the connection was made is of an attempt that was overtaken, and is refused; a later one is of a peer that has lost
the connection without this side having heard of it, and takes its place.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from auroral.wire.addresses import AddressBook
from auroral.wire.counters import Counters, kind_of, short
from auroral.wire.errors import CutOff, Overtaken, WireError
from auroral.wire.hello import Hello, Identity, check_hello
from auroral.wire.known import STRANGERS, Known
from auroral.wire.lanes import WEIGHTS, Way
from auroral.wire.limits import MOST_STRANGERS
from auroral.wire.link import Link, Pipe
from auroral.wire.living import Living
from auroral.wire.outgoing import Outgoing
from auroral.wire.peers import Dial, Peer
from auroral.wire.things import Cores
from auroral.wire.transport import Deliver, Patience, Transport

_log = logging.getLogger(__name__)


class Connections(Transport):
    def __init__(
        self,
        identity: Identity,
        book: AddressBook,
        deliver: Deliver,
        patience: Patience | None = None,
        weights: Mapping[Way, float] | None = None,
        strangers: int = MOST_STRANGERS,
    ):
        """`strangers`: connections of nodes that are neither in the book nor certified. Without certificates, all clients are among them."""
        self.identity = identity
        self.book = book
        self.patience = patience or Patience()
        self.weights = dict(weights or WEIGHTS)
        self.loop: asyncio.AbstractEventLoop
        self.running = False
        self._cores = Living(deliver)
        self._peers = Known(book, strangers)
        self.told_refused: Callable[[str, str], None] | None = None
        """Told of every caller that was refused: the kind of reason, and the reason."""
        self._watch: asyncio.TimerHandle | None = None
        self._looked = 0.0

    # Their life

    @property
    def node(self) -> str:
        return self.identity.node

    @property
    def counters(self) -> Mapping[str, Counters]:
        return {peer.name: peer.counters for peer in self._peers}

    async def start(self) -> None:
        self.loop = self._cores.loop = asyncio.get_running_loop()
        self.running = True
        self._looked = self.loop.time()
        self._look_after()

    async def stop(self) -> None:
        self.running = False
        if self._watch is not None:
            self._watch.cancel()
        self._cores.stop()
        for peer in self._peers:
            peer.hang_up()
            peer.take_waiting()
            if peer.link is not None:
                link, peer.link = peer.link, None
                link.close()

    def _look_after(self) -> None:
        """Links that have been silent for too long break. What this loop was too busy to hear was not silence."""
        now = self.loop.time()
        busy = max(0.0, now - self._looked - self.patience.beat)
        self._looked = now
        for peer in list(self._peers):
            if (link := peer.link) is not None:
                link.heard = min(now, link.heard + busy)
                if link.pipe is not None:
                    link.pipe.beat()
                if now - link.heard > self.patience.silence:
                    self._break(peer, link, f"silent for {self.patience.silence:g} s")
        self._watch = self.loop.call_later(self.patience.beat, self._look_after)

    # Those that are made from here

    def _peer(self, name: str) -> Peer:
        return self._peers.named(name)

    def _call(self, peer: Peer) -> None:
        """Try to connect, unless somebody else has called meanwhile, or nobody wants to send any more."""
        peer.retry = None
        if not self.running or peer.link is not None or peer.dial is not None or not peer.waiting:
            return
        if peer.cut:
            self._not_connected(peer, "cut")
            return
        if peer.name not in self.book.nodes:
            # Nobody can say when it has one again: whoever sends then is who calls.
            peer.counters.broken["no address"] += 1
            self._lose_waiting(peer, "not connected")
            return
        peer.attempt += 1
        peer.dial = self._dial(peer, Hello(self.identity, peer.name, peer.attempt))

    def _call_again(self, peer: Peer) -> None:
        if peer.retry is None:
            peer.retry = self.loop.call_later(peer.pause(self.patience), self._call, peer)

    def _dial(self, peer: Peer, hello: Hello) -> Dial:
        """Must end in `connected` or in `not_connected`, later."""
        raise NotImplementedError

    def connected(self, peer: Peer, dial: Dial, answer: Hello) -> Link | None:
        """The peer took the connection. None where it is not wanted any more."""
        if not self.running or peer.dial is not dial:
            return None
        try:
            check_hello(self.identity, answer)
            if answer.identity.node != peer.name:
                raise WireError(f"{answer.identity.node!r} answers for {peer.name!r}", "hello")
        except WireError as error:
            self.not_connected(peer, dial, str(error))
            return None
        # It has become the connection, and is not hung up.
        peer.dial = None
        return self._linked(peer, answer)

    def not_connected(self, peer: Peer, dial: Dial, reason: str, overtaken: bool = False) -> None:
        if not self.running or peer.dial is not dial:
            return
        peer.dial = None
        if overtaken:
            # The peer's own call is on its way: what waits goes over that one.
            self._call_again(peer)
            return
        # The first of many, and now and then: who is away for days fills no disk with it.
        often = logging.INFO if peer.failures == 0 or peer.failures % 600 == 0 else logging.DEBUG
        _log.log(often, "%s does not reach %s: %s", self.node, peer.name, reason)
        self._not_connected(peer, reason)

    def _not_connected(self, peer: Peer, reason: str) -> None:
        peer.counters.broken[short(reason)] += 1
        self._lose_waiting(peer, "not connected")
        self._call_again(peer)

    def _lose_waiting(self, peer: Peer, reason: str) -> None:
        for one in peer.lose_waiting(reason):
            self._cores.part(one.sender, one.to)

    # Those that come

    def accept(self, hello: Hello, certified: str | None = None) -> tuple[Hello, Link]:
        """A peer calls: what to answer, and the link. WireError where it is refused, which is logged and counted."""
        try:
            return self._accept(hello, certified)
        except Overtaken:
            raise
        except WireError as error:
            known = certified in (None, hello.identity.node) and hello.identity.node in self._peers
            self.refused(error, hello.identity.node if known else STRANGERS)
            raise

    def refused(self, error: WireError, caller: str = STRANGERS) -> None:
        kind = kind_of(error.problem.what)
        self._peer(caller).counters.refused[kind] += 1
        _log.warning("%s refuses a connection: %s", self.node, error)
        if self.told_refused is not None and not isinstance(error, CutOff):
            self.told_refused(kind, str(error))

    def _accept(self, hello: Hello, certified: str | None) -> tuple[Hello, Link]:
        name = hello.identity.node
        if not self.running:
            raise WireError("the node stops", self.node)
        if certified is not None and certified != name:
            raise WireError(f"the certificate of {certified!r} comes with the name {name!r}", "hello", certified)
        if self.book.closed and name not in self.book:
            raise WireError(f"{name!r} is nobody of this deployment", "hello", "those in the address book")
        check_hello(self.identity, hello)
        self._peers.check_room(name, certified)
        peer = self._peer(name)
        peer.certified = peer.certified or certified is not None
        if peer.cut:
            raise CutOff("the link is cut", name)
        if peer.link is not None:
            known = peer.link.their
            if known.identity.life == hello.identity.life and hello.attempt <= known.attempt:
                raise Overtaken("the attempt was overtaken", name)
            self._break(peer, peer.link, "the peer connects anew")
            peer = self._peer(name)
        elif peer.dial is not None and self.node < name:
            raise Overtaken("both called, and this side's call holds", name)
        return Hello(self.identity, name, peer.attempt), self._linked(peer, hello)

    # Those that are there

    def _linked(self, peer: Peer, their: Hello) -> Link:
        link = Link(peer.name, their, self.loop, peer.counters, Outgoing(self.weights))
        link.broken = partial(self._break_soon, peer, link)
        peer.hang_up()
        peer.link = link
        peer.counters.connected += 1
        self._cut(peer)
        self._slow(link, peer.delay)
        for some in Cores.all(self._cores.lives):
            link.say(some)
        _log.info("%s is connected with %s", self.node, peer.name)
        return link

    def carried(self, link: Link, pipe: Pipe) -> None:
        """What the link says goes out from now on."""
        link.pipe = pipe
        if self._peer_of(link) is None:
            link.close()

    def ended(self, link: Link, reason: str) -> None:
        """By the other side, or by the network."""
        if (peer := self._peer_of(link)) is not None:
            self._break(peer, link, reason)

    def _peer_of(self, link: Link) -> Peer | None:
        """None of a link that is over."""
        peer = self._peers.get(link.peer)
        return peer if peer is not None and peer.link is link else None

    def _break_soon(self, peer: Peer, link: Link, reason: str) -> None:
        self.loop.call_soon(self._break, peer, link, reason)

    def _break(self, peer: Peer, link: Link, reason: str) -> None:
        if peer.link is not link:
            return
        peer.link = None
        link.close()
        if not self.running:
            return
        _log.info("%s lost the connection with %s: %s", self.node, peer.name, reason)
        peer.counters.broken[short(reason)] += 1
        for pair in link.talked:
            self._cores.part(*pair)
        self._lose_waiting(peer, "the connection broke")
        if self._peers.is_stranger(peer):
            # It is never called, and calls under another name when it likes.
            self._peers.forget(peer)
        elif self.loop.time() - link.since > self.patience.longest_retry:
            peer.failures = 0
        else:
            # One that breaks as soon as it is made is not tried again without a pause.
            self._call_again(peer)

    # What is done to them

    def refuse(self, node: str, *, going: bool = True, coming: bool = True) -> None:
        peer = self._peer(node)
        peer.cut_going, peer.cut_coming = peer.cut_going or going, peer.cut_coming or coming
        if peer.dial is not None:
            peer.hang_up()
            self._not_connected(peer, "cut")
        self._cut(peer)

    def allow(self, node: str) -> None:
        peer = self._peer(node)
        peer.cut_going = peer.cut_coming = False
        self._cut(peer)

    def _cut(self, peer: Peer) -> None:
        if (link := peer.link) is not None:
            link.outgoing.hold(peer.cut_going)
            if link.deaf and not peer.cut_coming:
                link.heard = self.loop.time()
            link.deaf = peer.cut_coming
            link.in_line.open(not peer.cut_coming)

    def slow(self, node: str, seconds: float) -> None:
        peer = self._peer(node)
        peer.delay = seconds
        if peer.link is not None:
            self._slow(peer.link, seconds)

    def _slow(self, link: Link, seconds: float) -> None:
        link.out_line.delay = link.in_line.delay = seconds
