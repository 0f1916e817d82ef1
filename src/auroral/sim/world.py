"""Cores, a virtual clock, jobs, and a network between them."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol

from auroral.dpc.events import (
    Cancel,
    Deliver,
    Disconnected,
    Effect,
    Evaluate,
    Evaluated,
    Event,
    Failed,
    Received,
    Send,
    WakeAt,
    Woken,
)
from auroral.dpc.values import Message
from auroral.dpc.versions import NO_CHANGE, Plan
from auroral.sim.disks import Disks
from auroral.sim.network import Network
from auroral.sim.timeline import Timeline


class Core(Protocol):
    def handle(self, event: Event, now: float) -> list[Effect]: ...


Watcher = Callable[[float, str, Effect], None]
Observer = Callable[[float, str, Event, list[Effect]], None]
Evaluation = Callable[[str, Evaluate], Evaluated]


@cache
def _kinds(name: str, *kinds: type) -> int:
    """The same in every process, whatever hashes of strings are there. Nearly all that happens has happened before."""
    return zlib.crc32(" ".join([name, *(kind.__name__ for kind in kinds)]).encode())


def _told(name: str, event: Event, effects: list[Effect]) -> int:
    kinds: list[type] = [type(event), *map(type, effects)]
    found = _kinds(name, *kinds)
    if Deliver in kinds:
        for effect in effects:
            if isinstance(effect, Deliver):
                found = hash((found, effect.bucket, effect.content.hash, effect.stable))
    return found


@dataclass(slots=True)
class World(Timeline):
    seed: int
    evaluation: Evaluation
    """By the core that asks."""
    job_seconds: Callable[[Evaluate], float]
    failing_jobs: float = 0.0
    """The share of jobs that come to nothing."""
    clocks: dict[str, float] = field(default_factory=dict)
    """By host: by how much its clock is ahead. A core goes by it as it was when the core was started: no clock of a process jumps."""
    now: float = 0.0
    cores: dict[str, Core] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)
    """Where each core runs."""
    lives: dict[str, int] = field(default_factory=dict)
    """Of the cores that live, how often each was started."""
    starts: dict[str, int] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    ahead: dict[str, float] = field(default_factory=dict)
    """By core: by how much the clock of its host is ahead."""
    disks: Disks = field(default_factory=Disks)
    watchers: list[Watcher] = field(default_factory=list)
    """Shown every effect but wakes, which say nothing and are a fourth of all."""
    others: list[Watcher] = field(default_factory=list)
    """Shown every effect that is not the world's own to carry out: neither messages, nor wakes, nor jobs."""
    observers: list[Observer] = field(default_factory=list)
    """Shown every event with its effects."""
    network: Network[Message, Event] = field(init=False)
    random: random.Random = field(init=False)
    wakes: dict[str, float] = field(default_factory=dict)
    cancelled: set[tuple[str, int, int]] = field(default_factory=set)
    events: int = 0
    digest: int = 0
    """Of all that happened, and when: two runs of one seed must agree in it."""
    heap: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed + 1)
        self.network = Network(self.seed, self.hosts, self.lives, self.at, self.tell, Received, Disconnected)

    # Cores

    def start(self, name: str, core: Core, host: str, plan: Plan = NO_CHANGE) -> None:
        """With this plan, where none was kept."""
        self.cores[name], self.hosts[name] = core, host
        self.lives[name] = self.starts[name] = self.starts.get(name, 0) + 1
        self.started[name] = self.now
        self.ahead[name] = self.clocks.get(host, 0.0)
        self.wakes.pop(name, None)
        self.network.started(name)
        self.tell(name, self.disks.started(name, plan))

    def crash(self, host: str, told: bool) -> None:
        for name in [name for name, where in self.hosts.items() if where == host and name in self.cores]:
            self.end(name, told)

    def end(self, name: str, told: bool = True) -> None:
        del self.cores[name]
        del self.lives[name]
        self.network.died(name, told)

    def tell(self, name: str, event: Event) -> None:
        core = self.cores.get(name)
        if core is None:
            return
        self.events += 1
        now = self.now
        effects = core.handle(event, now + self.ahead[name])
        self.digest = hash((self.digest, now, _told(name, event, effects)))
        for observer in self.observers:
            observer(now, name, event, effects)
        for effect in effects:
            self._carry_out(name, effect)

    def local(self, core: str) -> float:
        """What the clock of its host shows."""
        return self.now + self.ahead[core]

    def _when(self, core: str, shows: float) -> float:
        """The first moment at which the clock of its host shows that much: a sum that is rounded down would be too early for ever."""
        ahead = self.ahead[core]
        found = shows - ahead
        while found + ahead < shows:
            found = math.nextafter(found, math.inf)
        return found

    def _carry_out(self, name: str, effect: Effect) -> None:
        if isinstance(effect, WakeAt):
            if self.wakes.get(name) != effect.time:
                self.wakes[name] = effect.time
                self.at(self._when(name, effect.time), partial(self._wake, name, effect.time, self.lives[name]))
            return
        for watcher in self.watchers:
            watcher(self.now, name, effect)
        if isinstance(effect, Send):
            self.network.send(name, effect.to, effect.message)
        elif isinstance(effect, Evaluate):
            self._begin(name, effect)
        elif isinstance(effect, Cancel):
            self.cancelled.add((name, self.lives[name], effect.job))
        else:
            self.disks.carry_out(name, effect)
            for other in self.others:
                other(self.now, name, effect)

    def _wake(self, name: str, time: float, life: int) -> None:
        if self.wakes.get(name) == time and self.lives.get(name) == life:
            del self.wakes[name]
            self.tell(name, Woken())

    # Jobs

    def _begin(self, name: str, job: Evaluate) -> None:
        ended: Evaluated | Failed = self.evaluation(name, job)
        if self.random.random() < self.failing_jobs:
            ended = Failed(job.job, "the executor was lost")
        self.at(self.now + self.job_seconds(job), partial(self._end, name, self.lives[name], ended))

    def _end(self, name: str, life: int, ended: Evaluated | Failed) -> None:
        if self.lives.get(name) != life:
            return
        # The result of a job that is cancelled may be under way already.
        if (name, life, ended.job) not in self.cancelled or self.random.random() < 0.5:
            self.tell(name, ended)
