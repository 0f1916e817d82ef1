"""Schedules of the simulator, carried out on real processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from faults.deployment import SITES

from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.processes import Fleet
from auroral.sim.diagrams import Trial
from auroral.sim.failing import random_faults
from auroral.sim.faultkinds import QUIET
from auroral.sim.faults import VERBS, Fault
from auroral.sim.network import SLOWER
from auroral.sim.scenario import CLIENT_HOST

REAL = ("cut", "isolate", "slow", "crash", "unplug", "silence")
"""What can be done to processes from outside, each with its end. Moves and changes have tests of their own."""


def drawn(trial: Trial, seed: int, seconds: float) -> tuple[Fault, ...]:
    """By the simulator's generator, for so long."""
    ends = {VERBS[verb].end for verb in REAL}
    faults = random_faults(Random(seed), replace(trial.calm, seconds=seconds + QUIET))
    return tuple(fault for fault in faults if fault.verb in REAL or fault.verb in ends)


@dataclass(slots=True)
class Happening:
    """A schedule on the processes of a deployment. What is cut off or slow stays so when a process is started again."""

    fleet: Fleet
    cut: Counter[tuple[str, str]] = field(default_factory=Counter)
    """From one to the other, by how many failures."""
    slow: set[frozenset[str]] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    starting: list[threading.Thread] = field(default_factory=list)
    happened: list[Fault] = field(default_factory=list)
    """By the clock: what was to happen takes time, above all to start a process."""

    def carry_out(self, faults: Sequence[Fault], told: Callable[[str], None]) -> None:
        begun = time.monotonic()
        for fault in faults:
            time.sleep(max(0.0, begun + fault.at - time.monotonic()))
            told(f"{time.monotonic() - begun:.1f} s: {fault}")
            places = ["client" if place == CLIENT_HOST else place for place in fault.places]
            if fault.verb in ("crash", "unplug"):
                for place in places:
                    self._be_started(place)
            if fault.verb != "restart":
                self.happened.append(replace(fault, at=time.time()))
            self._happen(fault, places)
        for thread in self.starting:
            thread.join()

    @property
    def _places(self) -> tuple[str, ...]:
        return (*SITES, *self.fleet.deployed.nodes, "client")

    def _happen(self, fault: Fault, places: list[str]) -> None:
        match fault.verb:
            case "cut" | "heal" | "isolate" | "rejoin":
                between = Counter(self._between(fault, places))
                (self.cut.update if fault.verb in ("cut", "isolate") else self.cut.subtract)(between)
                self._tell({place for pair in between for place in pair})
            case "slow" | "quicken":
                self.slow ^= {frozenset(places)}
                self._tell(set(places))
            case "crash":
                for place in places:
                    self.fleet.kill(place)
            case "unplug":
                # Nobody is told: connections stay, and nothing comes.
                for place in places:
                    os.kill(self.fleet.pid(place), signal.SIGSTOP)
                    self.stopped.add(place)
            case "restart":
                for place in places:
                    if place in self.stopped:
                        self.fleet.kill(place)
                        self.stopped.discard(place)
                self.starting.append(threading.Thread(target=self._start, args=(fault, places), name=" ".join(places)))
                self.starting[-1].start()
            case "silence" | "resume":
                self._ask(places[0], {"silence": "pause", "resume": "resume"}[fault.verb])

    def _be_started(self, place: str) -> None:
        """A process that is only just being started has no number yet: on a busy machine that takes longer than in simulation."""
        for thread in self.starting:
            if place in thread.name.split():
                thread.join()

    def _between(self, fault: Fault, places: list[str]) -> Iterator[tuple[str, str]]:
        if len(places) == 2 and fault.verb in ("cut", "heal"):
            yield places[0], places[1]
            if not fault.one_way:
                yield places[1], places[0]
            return
        for one in places:
            for other in self._places:
                if other not in places:
                    yield one, other
                    yield other, one

    def _start(self, fault: Fault, places: list[str]) -> None:
        self.fleet.start(places)
        self.happened.append(replace(fault, at=time.time()))
        self._tell(set(places))

    def _tell(self, places: set[str]) -> None:
        """Who is cut off from whom, by what stands now."""
        for place in places:
            for other in self._places:
                if other == place:
                    continue
                going, coming = self.cut[place, other] > 0, self.cut[other, place] > 0
                if going or coming:
                    self._ask(place, "cut", peer=other, going=going, coming=coming)
                else:
                    self._ask(place, "heal", peer=other)
                self._ask(place, "slow", peer=other, seconds=SLOWER if {place, other} in self.slow else 0)

    def _ask(self, place: str, do: str, **more: object) -> None:
        if place in self.stopped or not self.fleet.lives(place):
            return
        try:
            self.fleet.ask(place, do, **more)
        except NoAnswer:
            # Killed just now; it is told when it is back.
            assert not self.fleet.lives(place), f"{place} lives and does not answer"
