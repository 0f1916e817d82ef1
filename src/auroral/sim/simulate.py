"""Seeds run one by one, and a failing schedule made as short as it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from auroral.sim.faults import Fault, text
from auroral.sim.invariants import INVARIANTS, Run, observed
from auroral.sim.scenario import Scenario

_ENDS = {"cut": "heal", "crash": "restart", "silence": "resume", "open": "close"}


@dataclass(frozen=True, slots=True)
class Outcome:
    scenario: Scenario
    violations: tuple[str, ...]
    """What was broken, each with the name of its invariant."""
    events: int
    tentative: int
    """Tentative buckets that the client was given."""
    worst_delay: float
    """Of anything new, in shares of the bound, where anything could come."""

    def __str__(self) -> str:
        said = [f"seed {self.scenario.seed}: {len(self.violations)} violations", *self.violations[:5]]
        return "\n  ".join([*said, f"schedule: {text(self.scenario.faults)}"])


def simulate(scenario: Scenario) -> Outcome:
    run = observed(scenario)
    violations = tuple(f"{check.__name__}: {found}" for check in INVARIANTS for found in check(run))
    tentative = sum(not one.stable for given in run.deliveries.values() for one in given)
    return Outcome(scenario, violations, run.stage.world.events, tentative, _worst(run))


def _worst(run: Run) -> float:
    late = [late for stream in run.usual for late, excused in run.lateness(stream) if not excused]
    return max(late, default=0.0) / run.scenario.settings.bound


def shrunk(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """The shortest schedule that still fails, by leaving out faults (each with its end), halves first."""
    pairs = _pairs(scenario.faults)
    size = len(pairs)
    while size:
        at = 0
        while at < len(pairs):
            left = pairs[:at] + pairs[at + size :]
            tried = replace(scenario, faults=tuple(sorted(fault for pair in left for fault in pair)))
            if fails(tried):
                pairs, scenario = left, tried
            else:
                at += size
        size //= 2
    return scenario


def _pairs(faults: tuple[Fault, ...]) -> list[tuple[Fault, ...]]:
    """Faults with what ends them: one without the other would be another failure."""
    found: list[tuple[Fault, ...]] = []
    open_: dict[tuple[str, tuple[str, ...]], Fault] = {}
    for fault in faults:
        if fault.verb in _ENDS:
            open_[_ENDS[fault.verb], fault.places] = fault
        else:
            begun = open_.pop((fault.verb, fault.places), None)
            found.append((fault,) if begun is None else (begun, fault))
    return [*found, *((fault,) for fault in open_.values())]
