"""Markets run to their end and judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from auroral.sim.campaign import Tally
from auroral.sim.faults import shortened, text
from auroral.sim.market.invariants import INVARIANTS
from auroral.sim.market.randomly import random_market
from auroral.sim.market.scenario import MarketScenario
from auroral.sim.market.stage import Market, Watcher
from auroral.workload.events import Effect, Event, Write
from auroral.workload.records import Borrowed


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    faults: str
    fault_count: int
    violations: tuple[str, ...]
    events: int
    digest: int
    """The same in every run of the same scenario."""
    movements: int
    tasks: int
    """That moved."""
    paid: float

    def __str__(self) -> str:
        said = [f"seed {self.seed}: {len(self.violations)} violations", *self.violations[:5]]
        return "\n  ".join([*said, f"schedule: {self.faults}"])


def simulate(scenario: MarketScenario, *watchers: Watcher) -> Outcome:
    """To its end, or to where a guarantee is broken."""
    market = Market(scenario)
    judges = [kind(market) for kind in INVARIANTS]
    broken: list[str] = []
    moved: list[Borrowed] = []

    def judge(now: float, name: str, event: Event, effects: list[Effect]) -> None:
        moved.extend(one.record for one in effects if isinstance(one, Write) and isinstance(one.record, Borrowed))
        for one in judges:
            broken.extend(f"{type(one).__name__}: at {now:.2f} s {found}" for found in one.seen(name, event, effects))

    market.watchers += [judge, *watchers]
    try:
        while market.now < scenario.end and not broken:
            market.run(min(market.now + 1.0, scenario.end))
        if not broken:
            broken = [f"{type(one).__name__}: {found}" for one in judges for found in one.ended()]
    except Exception as stopped:  # noqa: BLE001  whatever stops a core is a violation, and the other seeds go on
        broken.append(f"a core stopped: {type(stopped).__name__}: {stopped}")
    return Outcome(
        scenario.seed,
        text(scenario.faults),
        sum(not fault.ends for fault in scenario.faults),
        tuple(broken),
        market.events,
        market.digest,
        len(moved),
        sum(len(one.tasks) for one in moved),
        float(sum(one.payment for one in moved)),
    )


def run_seed(seed: int) -> Outcome:
    return simulate(random_market(seed))


def shortest(scenario: MarketScenario, outcome: Outcome) -> str:
    """The shortest schedule that breaks one of the same guarantees."""
    broken = _names(outcome)
    return text(
        shortened(scenario.faults, lambda faults: bool(broken & _names(simulate(replace(scenario, faults=faults)))))
    )


def _names(outcome: Outcome) -> set[str]:
    return {violation.split(":")[0] for violation in outcome.violations}


@dataclass(slots=True)
class MarketSummary(Tally):
    movements: int = 0
    tasks_moved: int = 0

    def add(self, outcome: Outcome) -> None:
        self.count(outcome.seed, outcome.events, outcome.fault_count, len(outcome.violations))
        self.movements += outcome.movements
        self.tasks_moved += outcome.tasks

    def to_json(self) -> dict[str, Any]:
        return {**self.counted(), "movements": self.movements, "tasks_moved": self.tasks_moved}
