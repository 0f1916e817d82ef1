"""A client proxy: reads outputs like a node, and passes on every version of a bucket that is better than the last (D73)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.events import Deliver, Disconnected, Effect, Event, Received, Send, Started, WakeAt
from auroral.dpc.monitor import Monitor
from auroral.dpc.port import Port
from auroral.dpc.settings import Settings
from auroral.dpc.values import Ack, Confirm, Ping, Pong, Stable, Tentative


@dataclass(slots=True)
class Client:
    name: str
    streams: Mapping[str, tuple[str, ...]]
    """The replicas that each stream can be read from."""
    settings: Settings
    begin: Mapping[str, int] = field(default_factory=dict)
    """The first bucket of each stream that is wanted: one that comes back goes on where it was."""
    ports: dict[str, Port] = field(init=False)
    monitor: Monitor = field(init=False)
    delivered: dict[str, int] = field(init=False)
    """The first bucket of each stream that was not delivered stable."""
    shown: dict[tuple[str, int], int] = field(init=False, default_factory=dict)
    """Hashes of the tentative buckets that were delivered and not yet replaced."""

    def __post_init__(self) -> None:
        self.ports = {stream: Port(stream, producers, self.settings) for stream, producers in self.streams.items()}
        self.monitor = Monitor(tuple(dict.fromkeys(p for ps in self.streams.values() for p in ps)), self.settings)
        self.delivered = {stream: self.begin.get(stream, 0) for stream in self.streams}
        for stream, port in self.ports.items():
            port.first = port.frontier = self.delivered[stream]

    def handle(self, event: Event, now: float) -> list[Effect]:
        return [*self._take(event, now), *self._step(now)]

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Received(sender, Pong(offers, unknown)):
                self.monitor.answered(sender, offers)
                for stream, number in unknown.items():
                    yield from self.ports[stream].renew(sender, number)
            case Received(sender, Stable() | Tentative() | Confirm() as message):
                port = self.ports[message.stream]
                yield from port.receive(sender, message, now)
                yield from self._deliver(port)
            case Disconnected(peer):
                self.monitor.lost(peer)
                for port in self.ports.values():
                    port.lost(peer)
            case Started():
                for port in self.ports.values():
                    port.heard = now
            case _:
                pass

    def _deliver(self, port: Port) -> Iterator[Effect]:
        stream, done = port.stream, self.delivered[port.stream]
        while done < port.frontier:
            content = port.stable[done]
            self.shown.pop((stream, done), None)
            yield Deliver(stream, done, content, True)
            done += 1
        self.delivered[stream] = done
        for bucket in sorted({*port.tentative, *(b for b in port.stable if b >= done)}):
            best = port.best(bucket)
            assert best is not None
            if self.shown.get((stream, bucket)) != best.hash:
                self.shown[stream, bucket] = best.hash
                yield Deliver(stream, bucket, best, False)
        port.forget(done)

    def _step(self, now: float) -> Iterator[Effect]:
        for peer in self.monitor.due(now):
            read = [port for port in self.ports.values() if peer in port.producers]
            numbers = {port.stream: port.numbers[peer] for port in read if peer in port.numbers}
            yield Send(peer, Ping({port.stream: Ack(port.frontier, 0.0) for port in read}, numbers))
        for port in self.ports.values():
            yield from port.switch(self.monitor.of(port.stream, port.producers))
        yield WakeAt(self.monitor.next_at)
