"""Cores, a virtual clock and a network between them."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from auroral.dpc.events import (
    Cancel,
    Changed,
    Disconnected,
    Effect,
    Evaluate,
    Evaluated,
    Event,
    Pause,
    Received,
    Report,
    Send,
    WakeAt,
    Woken,
)
from auroral.dpc.values import Message
from auroral.sim.disks import Disks


class Core(Protocol):
    def handle(self, event: Event, now: float) -> list[Effect]: ...


Watcher = Callable[[float, str, Effect], None]
Observer = Callable[[float, str, Event, list[Effect]], None]
Evaluation = Callable[[Evaluate], Evaluated]


@dataclass(slots=True)
class Connection:
    """One direction between two cores. Nothing is reordered; what is sent into a cut waits, and is lost when the connection breaks."""

    latest: float = 0.0
    waiting: list[Message] = field(default_factory=list)
    life: int = 0


@dataclass(slots=True)
class World:
    seed: int
    evaluation: Mapping[str, Evaluation]
    """By core."""
    job_seconds: Callable[[Evaluate], float]
    latency: float = 0.005
    jitter: float = 0.005
    reset_after: float = 1.0
    """A connection that gets nothing through for so long breaks."""
    heard_within: float = 0.3
    """In which each side hears of it."""
    now: float = 0.0
    cores: dict[str, Core] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)
    """Where each core runs."""
    disks: Disks = field(default_factory=Disks)
    watchers: list[Watcher] = field(default_factory=list)
    """Shown every effect."""
    observers: list[Observer] = field(default_factory=list)
    """Shown every event with its effects."""
    random: random.Random = field(init=False)
    cuts: set[frozenset[str]] = field(default_factory=set)
    connections: dict[tuple[str, str], Connection] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    wakes: dict[str, float] = field(default_factory=dict)
    cancelled: set[tuple[str, int, int]] = field(default_factory=set)
    events: int = 0
    _heap: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (max(time, self.now), self._count, action))

    def run(self, until: float) -> None:
        while self._heap and self._heap[0][0] <= until:
            self.now, _, action = heapq.heappop(self._heap)
            action()
        self.now = until

    # Cores

    def start(self, name: str, core: Core, host: str) -> None:
        self.cores[name], self.hosts[name] = core, host
        self.lives[name] = self.lives.get(name, 0) + 1
        self.started[name] = self.now
        self.wakes.pop(name, None)
        self.tell(name, self.disks.started(name))

    def crash(self, host: str) -> None:
        for name in [name for name, where in self.hosts.items() if where == host and name in self.cores]:
            del self.cores[name]
            for pair in [pair for pair in self.connections if name in pair]:
                self._break(pair)

    def tell(self, name: str, event: Event) -> None:
        core = self.cores.get(name)
        if core is None:
            return
        self.events += 1
        effects = core.handle(event, self.now)
        for observer in self.observers:
            observer(self.now, name, event, effects)
        for effect in effects:
            self._carry_out(name, effect)

    def _carry_out(self, name: str, effect: Effect) -> None:
        for watcher in self.watchers:
            watcher(self.now, name, effect)
        life = self.lives[name]
        match effect:
            case Send(to, message):
                self._send(name, to, message)
            case WakeAt(time):
                if self.wakes.get(name) != time:
                    self.wakes[name] = time
                    self.at(time, lambda: self._wake(name, time, life))
            case Evaluate():
                result = self.evaluation[name](effect)
                self.at(self.now + self.job_seconds(effect), lambda: self._evaluated(name, life, result))
            case Cancel(job):
                self.cancelled.add((name, life, job))
            case Pause() | Report() | Changed():
                pass
            case _:
                self.disks.carry_out(name, effect)

    def _wake(self, name: str, time: float, life: int) -> None:
        if self.wakes.get(name) == time and self.lives[name] == life:
            del self.wakes[name]
            self.tell(name, Woken())

    def _evaluated(self, name: str, life: int, result: Evaluated) -> None:
        if self.lives[name] == life and (name, life, result.job) not in self.cancelled:
            self.tell(name, result)

    # Network

    def _send(self, sender: str, to: str, message: Message) -> None:
        pair = (sender, to)
        connection = self.connections.setdefault(pair, Connection())
        if to not in self.cores:
            self.at(self.now + self.latency, lambda: self._break(pair))
        else:
            connection.latest = max(connection.latest, self.now + self.latency + self.random.random() * self.jitter)
            life = connection.life
            self.at(connection.latest, lambda: self._arrive(pair, life, message))

    def _arrive(self, pair: tuple[str, str], life: int, message: Message) -> None:
        connection = self.connections[pair]
        if connection.life != life:
            return
        if self._cut(pair):
            if not connection.waiting:
                self.at(self.now + self.reset_after, lambda: self._time_out(pair, life))
            connection.waiting.append(message)
        else:
            self.tell(pair[1], Received(pair[0], message))

    def _time_out(self, pair: tuple[str, str], life: int) -> None:
        if self.connections[pair].life == life and self.connections[pair].waiting and self._cut(pair):
            self._break(pair)

    def _break(self, pair: tuple[str, str]) -> None:
        """Both directions end, and both sides hear of it, one after the other."""
        for direction in (pair, pair[::-1]):
            if (connection := self.connections.get(direction)) is not None:
                connection.life += 1
                connection.waiting.clear()
        one, other = pair
        lives = {name: self.lives.get(name) for name in pair}
        for name, peer in ((one, other), (other, one)):
            heard = self.now + self.random.random() * self.heard_within
            self.at(heard, partial(self._lose, name, peer, lives[name]))

    def _lose(self, name: str, peer: str, life: int | None) -> None:
        if self.lives.get(name) == life:
            self.tell(name, Disconnected(peer))

    def _cut(self, pair: tuple[str, str]) -> bool:
        one, other = (self.hosts[name] for name in pair)
        return frozenset({one, other}) in self.cuts or frozenset({one}) in self.cuts or frozenset({other}) in self.cuts

    def cut(self, *hosts: str) -> None:
        """Between two hosts, or one host and all others."""
        self.cuts.add(frozenset(hosts))

    def heal(self, *hosts: str) -> None:
        self.cuts.discard(frozenset(hosts))
        for pair, connection in list(self.connections.items()):
            if connection.waiting and not self._cut(pair):
                # At once, before anything that is still under way.
                waiting, connection.waiting = connection.waiting, []
                for message in waiting:
                    self.tell(pair[1], Received(pair[0], message))
