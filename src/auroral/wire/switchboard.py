"""What every transport does, however it carries bytes: which cores live here, whom they talk to, and what of it goes where.

Connections are looked after by the class below this one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

from auroral.dpc.values import Message
from auroral.wire.addresses import AddressBook
from auroral.wire.codec import Encoded, encode_all
from auroral.wire.connections import Connections
from auroral.wire.errors import WireError
from auroral.wire.fields import text
from auroral.wire.hello import Identity
from auroral.wire.incoming import Arrival, Came
from auroral.wire.lanes import Way, stream_of, way_of
from auroral.wire.limits import MOST_CORRECT, MOST_STRANGERS
from auroral.wire.link import Link, Pair
from auroral.wire.peers import Peer, Waiting
from auroral.wire.things import Cores, Parted, Taken
from auroral.wire.transport import Deliver, Patience

_log = logging.getLogger(__name__)


class Switchboard(Connections):
    def __init__(
        self,
        identity: Identity,
        book: AddressBook,
        deliver: Deliver,
        patience: Patience | None = None,
        weights: Mapping[Way, float] | None = None,
        strangers: int = MOST_STRANGERS,
    ):
        super().__init__(identity, book, deliver, patience, weights, strangers)
        self._here: dict[Pair, None] = {}
        """Cores of this node that talked to each other."""

    async def start(self) -> None:
        await super().start()
        self.book.watchers.append(self._moved)

    async def stop(self) -> None:
        if self._moved in self.book.watchers:
            self.book.watchers.remove(self._moved)
        await super().stop()

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
        for peer in self._peers:
            for one in peer.take_waiting():
                if one.sender != core:
                    peer.wait(one)
            if peer.link is not None:
                peer.link.forget(sender=core)
                peer.link.over(core)
        self._announce(core, None)

    def _announce(self, core: str, life: int | None) -> None:
        for peer in self._peers:
            if peer.link is not None:
                peer.link.say(Cores(((core, life),)))

    def _moved(self, core: str) -> None:
        """The book says that a core is elsewhere: whoever talked to it where it was, or wanted to, hears of a break."""
        now_at = self.book.cores.get(core)
        for peer in self._peers:
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
        return next((p.name for p in self._peers if p.link is not None and core in p.link.cores), None)

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
        for other in self._peers:
            other.lose_waiting("nobody there", sender=sender, to=to)
        self._cores.part_later(sender, to, self.patience.nobody)

    def _wait(self, peer: Peer, one: Waiting) -> None:
        full = peer.waiting_bytes > MOST_CORRECT
        peer.wait(one)
        if full:
            self._lose_waiting(peer, "too much waited for a connection")
        elif peer.link is None and peer.dial is None and peer.retry is None:
            self._call(peer)

    def backlog(self, sender: str) -> Mapping[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for peer in self._peers:
            if peer.link is not None:
                found |= peer.link.backlog(sender)
        return found

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
