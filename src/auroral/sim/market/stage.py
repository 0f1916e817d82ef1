"""Participants, a virtual clock, and a network between them that loses, delays and doubles what they say."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from auroral.sim.faults import OF_CLOCKS, Fault
from auroral.sim.market.scenario import MarketScenario
from auroral.sim.network import Network
from auroral.sim.timeline import Timeline
from auroral.workload.events import Cancelled, Effect, Event, Received, Send, Started, WakeAt, Woken, Write
from auroral.workload.messages import Message
from auroral.workload.participant import Participant
from auroral.workload.records import Record

Watcher = Callable[[float, str, Event, list[Effect]], None]


@dataclass(slots=True)
class Market(Timeline):
    scenario: MarketScenario
    now: float = 0.0
    cores: dict[str, Participant] = field(default_factory=dict)
    """Those that live."""
    lives: dict[str, int] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    clocks: dict[str, float] = field(default_factory=dict)
    ahead: dict[str, float] = field(default_factory=dict)
    """By how much the clock of each is ahead, as it was when it was started."""
    written: dict[str, list[Record]] = field(default_factory=dict)
    wakes: dict[str, float] = field(default_factory=dict)
    watchers: list[Watcher] = field(default_factory=list)
    network: Network[Message, Event] = field(init=False)
    random: random.Random = field(init=False)
    events: int = 0
    digest: int = 0
    heap: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        scenario = self.scenario
        self.random = random.Random(scenario.seed + 1)
        hosts = {name: name for name in scenario.hosts}
        self.network = Network(scenario.seed, hosts, self.lives, self.at, self.tell, Received, lambda _: Woken())
        self.clocks = dict(scenario.clocks)
        for name in scenario.hosts:
            self.written[name] = list(scenario.records(name))
            self.at(0.0, partial(self.start, name))
        for fault in scenario.faults:
            self.at(fault.at, partial(self.happen, fault))
        for time, name, event in scenario.happens:
            self.at(time, partial(self._happens, name, event))
        if not scenario.static:
            for one in scenario.contracts:
                for name in (one.buyer, one.seller):
                    self.at(scenario.seconds, partial(self.tell, name, Cancelled(one.buyer, one.seller)))

    def start(self, name: str) -> None:
        if name in self.cores:
            return
        self.cores[name] = Participant(name, self.scenario.settings[name])
        self.lives[name] = self.starts[name] = self.starts.get(name, 0) + 1
        self.ahead[name] = self.clocks.get(name, 0.0)
        self.wakes.pop(name, None)
        self.network.started(name)
        self.tell(name, Started(tuple(self.written[name])))

    def _happens(self, name: str, event: Event) -> None:
        """A client of one that is down waits until it is back."""
        if name in self.cores:
            self.tell(name, event)
        else:
            self.at(self.now + 0.5, partial(self._happens, name, event))

    def tell(self, name: str, event: Event) -> None:
        core = self.cores.get(name)
        if core is None:
            return
        self.events += 1
        effects = core.handle(event, self.local(name))
        told = " ".join([name, type(event).__name__, *(type(effect).__name__ for effect in effects)])
        self.digest = hash((self.digest, self.now, zlib.crc32(told.encode())))
        for effect in effects:
            if isinstance(effect, Write):
                self.written[name].append(effect.record)
        for watcher in self.watchers:
            watcher(self.now, name, event, effects)
        for effect in effects:
            match effect:
                case Send(to, message):
                    self._send(name, to, message)
                case WakeAt(time):
                    self.wakes[name] = time
                    self.at(time - self.ahead[name], partial(self._wake, name, time, self.lives[name]))

    def local(self, name: str) -> float:
        return self.now + self.ahead[name]

    def _wake(self, name: str, time: float, life: int) -> None:
        if self.wakes.get(name) == time and self.lives.get(name) == life:
            if self.local(name) < time:
                # The difference of two clocks was rounded down.
                self.at(self.now + 1e-9, partial(self._wake, name, time, life))
                return
            del self.wakes[name]
            self.tell(name, Woken())

    def _send(self, name: str, to: str, message: Message) -> None:
        scenario = self.scenario
        if self.now >= scenario.seconds:
            self.network.send(name, to, message)
            return
        if self.random.random() < scenario.lost:
            return
        copies = 1 + (self.random.random() < scenario.doubled)
        for _ in range(copies):
            if self.random.random() < scenario.late:
                wait = self.random.uniform(0, scenario.later)
                self.at(self.now + wait, partial(self.network.send, name, to, message))
            else:
                self.network.send(name, to, message)

    def happen(self, fault: Fault) -> None:
        if fault.verb in ("crash", "unplug"):
            for name in fault.places:
                if name in self.cores:
                    del self.cores[name]
                    del self.lives[name]
                    self.network.died(name, told=fault.verb == "crash")
        elif fault.verb == "restart":
            for name in fault.places:
                self.start(name)
        elif fault.verb in OF_CLOCKS:
            step = float(fault.places[1]) * (1 if fault.verb == "forward" else -1)
            self.clocks[fault.places[0]] = self.clocks.get(fault.places[0], 0.0) + step
        else:
            self.network.disturb(fault)
