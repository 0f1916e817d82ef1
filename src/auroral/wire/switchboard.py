"""What every transport does, however it carries bytes: who is connected, what goes where, and what breaks.

A transport of a kind (`memory`, `flight`) says how a connection is tried (`_dial`), and asks here whether one that comes is taken
(`accept`).

Who dials. Either side does when one of its cores wants to send. If both do at once, the connection of the node whose name comes first
holds: it refuses the other's, and the other gives its own up when it takes the first one's. Each attempt has a number. A hello whose number
was already known when the connection was made is of an attempt that was overtaken, and is refused; a later one is of a peer that has lost
the connection without this side having heard of it, and takes its place.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from functools import partial

from auroral.dpc.values import Message
from auroral.wire.addresses import AddressBook
from auroral.wire.codec import Encoded, encode_all
from auroral.wire.counters import Counters
from auroral.wire.errors import Overtaken, WireError
from auroral.wire.fields import text
from auroral.wire.hello import Hello, Identity, check_hello
from auroral.wire.incoming import Arrival, Came
from auroral.wire.lanes import WEIGHTS, Way, stream_of, way_of
from auroral.wire.limits import MOST_CORRECT, MOST_STRANGERS
from auroral.wire.link import Link, Pair, Pipe
from auroral.wire.living import Living
from auroral.wire.outgoing import Outgoing
from auroral.wire.peers import Dial, Peer, Waiting
from auroral.wire.things import Cores, Parted, Taken
from auroral.wire.transport import Deliver, Patience, Transport

_log = logging.getLogger(__name__)
_SAID = re.compile(r"(['\"]).*?\1|\d+")
STRANGERS = "(strangers)"
"""The peer that refusals of unknown callers are counted with: a name that anybody can claim must not fill the memory."""


class Switchboard(Transport):
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
        self.strangers = strangers
        self.loop: asyncio.AbstractEventLoop
        self.running = False
        self._cores = Living(deliver)
        self._peers: dict[str, Peer] = {}
        self._here: dict[Pair, None] = {}
        """Cores of this node that talked to each other."""
        self._watch: asyncio.TimerHandle | None = None
        self._looked = 0.0

    # Its life

    @property
    def node(self) -> str:
        return self.identity.node

    @property
    def counters(self) -> Mapping[str, Counters]:
        return {name: peer.counters for name, peer in self._peers.items()}

    async def start(self) -> None:
        self.loop = self._cores.loop = asyncio.get_running_loop()
        self.running = True
        self._looked = self.loop.time()
        self.book.watchers.append(self._moved)
        self._look_after()

    async def stop(self) -> None:
        self.running = False
        if self._moved in self.book.watchers:
            self.book.watchers.remove(self._moved)
        if self._watch is not None:
            self._watch.cancel()
        self._cores.stop()
        for peer in self._peers.values():
            peer.hang_up()
            peer.take_waiting()
            if peer.link is not None:
                link, peer.link = peer.link, None
                link.close()

    # Cores

    def opened(self, core: str) -> None:
        text(core, "core")
        if core in self._cores.lives:
            self.closed(core)
        self._announce(core, self._cores.begin(core))

    def closed(self, core: str) -> None:
        if not self._cores.end(core):
            return
        for pair in [pair for pair in self._here if core in pair]:
            del self._here[pair]
            if pair[0] != core:
                self._cores.part(pair[0], core)
        for peer in self._peers.values():
            for one in peer.take_waiting():
                if one.sender != core:
                    peer.wait(one)
            if peer.link is not None:
                peer.link.forget(sender=core)
                peer.link.over(core)
        self._announce(core, None)

    def _announce(self, core: str, life: int | None) -> None:
        for peer in self._peers.values():
            if peer.link is not None:
                peer.link.say(Cores(((core, life),)))

    def _moved(self, core: str) -> None:
        """The book says that a core is elsewhere: whoever talked to it where it was, or wanted to, hears of a break."""
        now_at = self.book.cores.get(core)
        for peer in self._peers.values():
            if now_at is not None and peer.name != now_at:
                if peer.link is not None:
                    talked = [here for here, there in peer.link.talked if there == core]
                    self._part(peer.link, core)
                    for here in talked:
                        peer.link.unhear(core, here)
                for one in peer.lose_waiting("moved", to=core):
                    self._cores.part(one.sender, core)

    def _part(self, link: Link, core: str) -> None:
        for here, there in link.talked:
            if there == core:
                self._cores.part(here, core)
        link.forget(to=core)

    # What goes

    def send(self, sender: str, to: str, message: Message) -> None:
        life = self._cores.lives.get(sender)
        if life is None:
            allowed = ", ".join(self._cores.lives) or "no core lives here"
            raise WireError(f"{sender!r} does not live here", self.node, allowed, "say that it is opened first")
        at = self._node_of(to)
        if at == self.node:
            self._send_here(sender, to, message)
            return
        peer = None if at is None else self._peer(at)
        one = Waiting(sender, life, to, message, self._encoded(peer, sender, to, message))
        if self._cores.parting(sender, to):
            if peer is not None:
                peer.counters.lost["sent before a break was heard of"] += 1
        elif peer is None or (peer.link is None and peer.name not in self.book.nodes):
            self._nobody(peer, sender, to)
        elif peer.link is not None and peer.link.introduced:
            self._send_over(peer, peer.link, one)
        else:
            self._wait(peer, one)

    def _encoded(self, peer: Peer | None, sender: str, to: str, message: Message) -> tuple[Encoded, ...]:
        try:
            return encode_all(message)
        except WireError as error:
            if peer is not None:
                peer.counters.unsendable[type(message).__name__] += 1
            _log.warning("%s cannot send a message of %s to %s: %s", self.node, sender, to, error)
            raise

    def _node_of(self, core: str) -> str | None:
        if core in self._cores.lives:
            return self.node
        if (known := self.book.cores.get(core)) is not None:
            return known
        return next((p.name for p in self._peers.values() if p.link is not None and core in p.link.cores), None)

    def _send_here(self, sender: str, to: str, message: Message) -> None:
        if to not in self._cores.lives:
            self._nobody(None, sender, to)
        elif not self._cores.parting(sender, to):
            self._here[sender, to] = self._here[to, sender] = None
            self._cores.receive(to, sender, message)

    def _send_over(self, peer: Peer, link: Link, one: Waiting) -> None:
        if one.to in link.cores:
            link.send(one.sender, one.life, one.to, way_of(one.message), stream_of(one.message), one.encoded)
        else:
            self._nobody(peer, one.sender, one.to)

    def _nobody(self, peer: Peer | None, sender: str, to: str) -> None:
        """As for a connection to a process that is not there: the sender hears of it, a little later. What it sent before and still waits
        is lost too: it must not come behind that."""
        if peer is not None:
            peer.counters.lost["nobody there"] += 1
        for other in self._peers.values():
            other.lose_waiting("nobody there", sender=sender, to=to)
        self._cores.part_later(sender, to, self.patience.nobody)

    def _wait(self, peer: Peer, one: Waiting) -> None:
        full = peer.waiting_bytes > MOST_CORRECT
        peer.wait(one)
        if full:
            self._lose_waiting(peer, "too much waited for a connection")
        elif peer.link is None and peer.dial is None and peer.retry is None:
            self._call(peer)

    def _lose_waiting(self, peer: Peer, reason: str) -> None:
        for one in peer.lose_waiting(reason):
            self._cores.part(one.sender, one.to)

    def backlog(self, sender: str) -> Mapping[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for peer in self._peers.values():
            if peer.link is not None:
                found |= peer.link.backlog(sender)
        return found

    # Calls

    def _peer(self, name: str) -> Peer:
        if name not in self._peers:
            self._peers[name] = Peer(name)
        return self._peers[name]

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
        _log.info("%s does not reach %s: %s", self.node, peer.name, reason)
        self._not_connected(peer, reason)

    def _not_connected(self, peer: Peer, reason: str) -> None:
        peer.counters.broken[_short(reason)] += 1
        self._lose_waiting(peer, "not connected")
        self._call_again(peer)

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
        self._peer(caller).counters.refused[_kind(error.problem.what)] += 1
        _log.warning("%s refuses a connection: %s", self.node, error)

    def _accept(self, hello: Hello, certified: str | None) -> tuple[Hello, Link]:
        name = hello.identity.node
        if not self.running:
            raise WireError("the node stops", self.node)
        if certified is not None and certified != name:
            raise WireError(f"the certificate of {certified!r} comes with the name {name!r}", "hello", certified)
        check_hello(self.identity, hello)
        self._check_room(name, certified)
        peer = self._peer(name)
        peer.certified = peer.certified or certified is not None
        if peer.cut:
            raise WireError("the link is cut", name)
        if peer.link is not None:
            known = peer.link.their
            if known.identity.life == hello.identity.life and hello.attempt <= known.attempt:
                raise Overtaken("the attempt was overtaken", name)
            self._break(peer, peer.link, "the peer connects anew")
            peer = self._peer(name)
        elif peer.dial is not None and self.node < name:
            raise Overtaken("both called, and this side's call holds", name)
        return Hello(self.identity, name, peer.attempt), self._linked(peer, hello)

    def _check_room(self, name: str, certified: str | None) -> None:
        known = self._peers.get(name)
        if certified is not None or self._in_book(name) or (known is not None and known.link is not None):
            return
        in_book = {*self.book.nodes, *self.book.cores.values()}
        linked = [peer for peer in self._peers.values() if peer.link is not None]
        strangers = sum(not peer.certified and peer.name not in in_book for peer in linked)
        if strangers >= self.strangers:
            raise WireError(
                f"there are {strangers} connections of nodes that are in no book",
                name,
                f"at most {self.strangers}",
                "put the node into the address book, use certificates, or let more in (`strangers` of the transport)",
            )

    def _in_book(self, name: str) -> bool:
        return name in self.book.nodes or name in self.book.cores.values()

    def _is_stranger(self, peer: Peer) -> bool:
        """Whether anybody could have claimed its name, and nobody here has done anything to it."""
        return not (peer.certified or self._in_book(peer.name) or peer.cut or peer.delay or peer.name == STRANGERS)

    # Connections

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
        peer.counters.broken[_short(reason)] += 1
        for pair in link.talked:
            self._cores.part(*pair)
        self._lose_waiting(peer, "the connection broke")
        if self._is_stranger(peer):
            # It is never called, and calls under another name when it likes.
            del self._peers[peer.name]
            self._peer(STRANGERS).counters.absorb(peer.counters)
        elif self.loop.time() - link.since > self.patience.longest_retry:
            peer.failures = 0
        else:
            # One that breaks as soon as it is made is not tried again without a pause.
            self._call_again(peer)

    def _look_after(self) -> None:
        """Links that have been silent for too long break. What this loop was too busy to hear was not silence."""
        now = self.loop.time()
        busy = max(0.0, now - self._looked - self.patience.beat)
        self._looked = now
        for peer in list(self._peers.values()):
            if (link := peer.link) is not None:
                link.heard = min(now, link.heard + busy)
                if link.pipe is not None:
                    link.pipe.beat()
                if now - link.heard > self.patience.silence:
                    self._break(peer, link, f"silent for {self.patience.silence:g} s")
        self._watch = self.loop.call_later(self.patience.beat, self._look_after)

    # What comes

    def arrived(self, link: Link, arrival: Arrival) -> None:
        if (peer := self._peer_of(link)) is None:
            return
        match arrival:
            case Taken(channel, size):
                link.outgoing.taken(channel, size)
            case Cores():
                self._introduced(peer, link, arrival)
            case Came():
                self._came(peer, link, arrival)
            case Parted():
                self._parted(link, arrival)
        self._cores.drain()

    def _introduced(self, peer: Peer, link: Link, said: Cores) -> None:
        try:
            ended = link.introduce(said)
        except WireError as error:
            self._break(peer, link, str(error))
            return
        for core in ended:
            self._part(link, core)
            link.over(core)
        if link.introduced:
            for one in peer.take_waiting():
                self._send_over(peer, link, one)

    def _came(self, peer: Peer, link: Link, came: Came) -> None:
        channel, refused = came.channel, peer.counters.refused
        if self._cores.lives.get(channel.to) != channel.to_life:
            refused["for a core that ended"] += 1
        elif link.cores.get(channel.sender) != channel.sender_life:
            refused["from a core that does not live there"] += 1
        elif self.book.cores.get(channel.sender, peer.name) != peer.name:
            refused["from a core that lives elsewhere"] += 1
            link.unhear(channel.sender, channel.to)
        elif not link.hears(channel):
            refused["sent before a break was heard of"] += 1
        else:
            peer.counters.receives(channel.way, came.size)
            link.talked[channel.to, channel.sender] = None
            self._cores.receive(channel.to, channel.sender, came.message, partial(link.taken, came))
            return
        link.taken(came)

    def _parted(self, link: Link, said: Parted) -> None:
        here, there = (said.to, said.sender) if said.answer else (said.sender, said.to)
        link.parted(said, here in self._cores.lives and there in link.cores)
        if said.answer:
            return
        if (said.sender, said.to) in link.talked:
            # Not at once: whoever speaks again as soon as it hears of it would do nothing else.
            self._cores.part_later(said.sender, said.to, self.patience.nobody)
        link.forget(sender=said.sender, to=said.to)
        link.say(Parted(said.sender, said.to, link.last_channel, answer=True))

    # What is done to connections

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


def _kind(reason: str) -> str:
    """To count by, without what strangers can say at will: names and numbers."""
    return _short(_SAID.sub("…", reason))


def _short(reason: str) -> str:
    """To count by: addresses and the like are in the log."""
    return reason.splitlines()[0][:120] if reason else "unknown"
