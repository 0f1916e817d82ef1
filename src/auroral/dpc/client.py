"""A client proxy: reads outputs like a node, and passes on every version of a bucket that is better than the last (D73).

Whoever runs it writes down, with each stable bucket that is delivered, that it was; a client that comes back goes on behind it. One
that knows no position begins with the oldest bucket that is kept for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.events import Deliver, Disconnected, Effect, Event, Interrupt, Miss, Received, Send, Started, WakeAt
from auroral.dpc.monitor import Monitor
from auroral.dpc.port import Port
from auroral.dpc.refusing import refusals, strangers
from auroral.dpc.rewiring import can_go_over, go_over, talks_to
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.values import Ack, Confirm, Gap, Message, Ping, Pong, Rewire, Rewired, Stable, Tentative


@dataclass(slots=True)
class Client:
    name: str
    streams: Mapping[str, tuple[str, ...]]
    """The replicas that each stream can be read from."""
    settings: Settings
    ports: dict[str, Port] = field(init=False)
    monitor: Monitor = field(init=False)
    delivered: dict[str, int] = field(init=False)
    """The first bucket of each stream that was not delivered stable."""
    shown: dict[tuple[str, int], int] = field(init=False, default_factory=dict)
    """Hashes of the tentative buckets that were delivered and not yet replaced."""
    correcting: set[str] = field(init=False, default_factory=set)
    """Streams of which some tentative buckets were corrected, and others are still to be."""
    wired: int = field(init=False, default=0)
    """The number of the layout that it was last told of."""
    news: bool = field(init=False, default=False)
    """Whether a replica that is read from said something new."""

    def __post_init__(self) -> None:
        self.ports = {s: Port(s, producers, self.settings, resuming=True) for s, producers in self.streams.items()}
        self.monitor = Monitor(talks_to(self.streams), self.settings)
        self.delivered = dict.fromkeys(self.streams, 0)

    def handle(self, event: Event, now: float) -> list[Effect]:
        return [*self._take(event, now), *self._step(now)]

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Received(sender, message):
                refused = list(refusals(sender, message, (), self.ports))
                yield from refused or self._receive(sender, message, now)
            case Disconnected(peer):
                self.news = True
                self.monitor.lost(peer)
                for port in self.ports.values():
                    port.disconnected(peer)
            case Started(kept):
                for stream, port in self.ports.items():
                    port.heard = now
                    if stream in kept:
                        port.start_at(kept[stream].begin)
                        self.delivered[stream] = kept[stream].begin
            case _:
                pass

    def _receive(self, sender: str, message: Message, now: float) -> Iterator[Effect]:
        match message:
            case Pong(offers, unknown):
                yield from strangers(sender, message, self.ports)
                self.news |= self.monitor.answered(sender, offers)
                for stream, number in unknown.items():
                    if stream in self.ports:
                        yield from self.ports[stream].renew(sender, number, now)
            case Rewire(number, wiring) if number >= self.wired:
                needs = {stream: port.frontier for stream, port in self.ports.items()}
                if can_go_over(self.ports, needs, wiring, self.monitor, now):
                    self.wired = number
                    yield from go_over(self.ports, wiring, self.monitor)
                    self.news = True
                    yield Send(sender, Rewired(number))
            case Stable() | Tentative() | Confirm() | Gap():
                port = self.ports[message.stream]
                yield from port.receive(sender, message, now)
                yield from self._deliver(port)
            case _:
                pass

    def _deliver(self, port: Port) -> Iterator[Effect]:
        stream, done = port.stream, max(self.delivered[port.stream], port.first)
        corrects = any((stream, bucket) in self.shown for bucket in range(done, port.frontier))
        while done < port.frontier:
            begin = done
            while done < port.frontier and done in port.lost:
                self.shown.pop((stream, done), None)
                done += 1
            if begin < done:
                yield Miss(stream, begin, done)
                continue
            self.shown.pop((stream, done), None)
            yield Deliver(stream, done, port.stable[done], True)
            done += 1
        self.delivered[stream] = done
        if not self._left(stream):
            self.correcting.discard(stream)
        elif corrects and self._states(stream) & {State.STABLE, State.STABILIZATION}:
            self.correcting.add(stream)
        for bucket in sorted({*port.tentative, *(b for b in port.stable if b >= done)}):
            best = port.best(bucket)
            # Nothing is to be shown of what is in a gap that is not reached yet.
            if best is not None and self.shown.get((stream, bucket)) != best.hash:
                self.shown[stream, bucket] = best.hash
                yield Deliver(stream, bucket, best, False)
        port.forget(done)

    def _left(self, stream: str) -> bool:
        """Whether something of the stream is to be corrected."""
        return any(shown == stream for shown, _ in self.shown)

    def _interrupted(self) -> Iterator[Effect]:
        """D56: those that gave corrections have failed again."""
        for stream in sorted(self.correcting):
            states = self._states(stream)
            if states and not states & {State.STABLE, State.STABILIZATION}:
                self.correcting.discard(stream)
                yield Interrupt(stream)

    def _states(self, stream: str) -> set[State]:
        """Of those that it is read from."""
        port = self.ports[stream]
        feeds = [feed for feed in (port.curr, port.bck) if feed is not None]
        return {self.monitor.offer(feed.replica, stream).state for feed in feeds}

    def _step(self, now: float) -> Iterator[Effect]:
        peers = self.monitor.due(now)
        for peer in peers:
            read = [port for port in self.ports.values() if peer in port.producers]
            numbers = {port.stream: port.numbers[peer] for port in read if peer in port.numbers}
            acks = {port.stream: Ack(port.frontier, 0.0) for port in read if not port.resuming}
            yield Send(peer, Ping(acks, numbers))
        if peers or self.news:
            for port in self.ports.values():
                yield from port.switch(self.monitor.of(port.stream, port.producers), now)
            self.news = False
            yield from self._interrupted()
        yield WakeAt(self.monitor.next_at)
