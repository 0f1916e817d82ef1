"""What a simulation of the market runs: participants, their contracts, what their clients do, and the failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from auroral.sim.faults import Fault
from auroral.workload.contracts import Contract
from auroral.workload.events import Event
from auroral.workload.records import Added, Agreed, Record
from auroral.workload.settings import Settings
from auroral.workload.values import Task

AT_THE_END = 10.0
"""Seconds that a run goes on when all contracts have been ended and the longest term is over: then everything must be home."""


@dataclass(frozen=True, slots=True)
class MarketScenario:
    seed: int
    settings: Mapping[str, Settings]
    """Of each participant."""
    tasks: Mapping[str, tuple[Task, ...]]
    contracts: tuple[Contract, ...]
    seconds: float
    """Until all contracts are ended."""
    faults: tuple[Fault, ...] = ()
    happens: tuple[tuple[float, str, Event], ...] = ()
    """What clients do and what is measured, by time and participant."""
    lost: float = 0.0
    """The share of messages that never come, come twice, or come up to `later` seconds later, behind others."""
    doubled: float = 0.0
    late: float = 0.0
    later: float = 2.0
    static: bool = False
    """Whether no load changes but by movements, none of which ends before the run does."""
    clocks: Mapping[str, float] = field(default_factory=dict)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self.settings)

    @property
    def links(self) -> list[tuple[str, str]]:
        """Participants with a contract."""
        pairs = (tuple(sorted((one.buyer, one.seller))) for one in self.contracts)
        return [(one, other) for one, other in dict.fromkeys(pairs)]

    @property
    def end(self) -> float:
        terms = [] if self.static else [float(one.duration) for one in self.contracts]
        return self.seconds + max(terms, default=0.0) + AT_THE_END

    def records(self, name: str) -> tuple[Record, ...]:
        """That a participant begins with."""
        mine = [Agreed(one) for one in self.contracts if name in (one.buyer, one.seller)]
        return (*(Added(task) for task in self.tasks[name]), *mine)
