"""Many seeds in parallel processes, and what came out of all of them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from auroral.sim.faults import text
from auroral.sim.invariants.bounds import promised
from auroral.sim.randomly import random_scenario
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import Outcome, shrunk, simulate

Make = Callable[[int], Scenario]
"""The scenario of a seed. What makes it can be pickled."""

Found = TypeVar("Found")
_runs: list[Callable[[int], Any]] = []
"""The last one counts; it is handed to each process of the pool once, since it may have files to read."""


def in_processes(seeds: Iterable[int], processes: int, run: Callable[[int], Found]) -> Iterator[Found]:
    """As they end. Processes are started afresh: who calls may have threads, which a copy of the process would lack."""
    wanted = list(seeds)
    if processes == 1 or len(wanted) == 1:
        yield from map(run, wanted)
        return
    context = multiprocessing.get_context("spawn")
    count = min(processes, len(wanted))
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(run,)) as pool:
        try:
            for done in as_completed([pool.submit(_run_last, seed) for seed in wanted]):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin(run: Callable[[int], Any]) -> None:
    _runs.append(run)


def _run_last(seed: int) -> Any:
    return _runs[-1](seed)


def run_seed(seed: int, make: Make = random_scenario) -> Outcome:
    """Without what was run: functions of a user's program cannot be sent to another process."""
    outcome = simulate(make(seed))
    return replace(outcome, scenario=replace(outcome.scenario, queries=(), rows=None))


def run_seeds(seeds: Iterable[int], processes: int, make: Make = random_scenario) -> Iterator[Outcome]:
    return in_processes(seeds, processes, partial(run_seed, make=make))


@dataclass(slots=True)
class Tally:
    """What is counted of any protocol."""

    seeds: int = 0
    events: int = 0
    faults: int = 0
    violations: int = 0
    failing: list[int] = field(default_factory=list)

    def count(self, seed: int, events: int, faults: int, violations: int) -> None:
        self.seeds += 1
        self.events += events
        self.faults += faults
        self.violations += violations
        self.failing += [seed] if violations else []

    def counted(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "events": self.events,
            "faults": self.faults,
            "violations": self.violations,
            "failing_seeds": sorted(self.failing),
        }


@dataclass(slots=True)
class Summary(Tally):
    worst_delay: float = 0.0
    tentative: int = 0
    tentative_rows: int = 0
    reconciliations: list[float] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        faults = sum(not fault.ends for fault in outcome.scenario.faults)
        self.count(outcome.scenario.seed, outcome.events, faults, len(outcome.violations))
        if promised(outcome.scenario.settings):
            self.worst_delay = max(self.worst_delay, outcome.worst_delay)
        self.tentative += outcome.tentative
        self.tentative_rows += outcome.tentative_rows
        self.reconciliations += outcome.reconciliations

    def to_json(self) -> dict[str, Any]:
        times = self.reconciliations
        return {
            **self.counted(),
            "worst_delay_ratio": round(self.worst_delay, 3),
            "tentative_buckets": self.tentative,
            "tentative_rows": self.tentative_rows,
            "reconciliations": len(times),
            "mean_reconciliation_s": round(sum(times) / len(times), 3) if times else None,
        }


def shortest(outcome: Outcome, make: Make = random_scenario) -> str:
    """The shortest schedule that breaks one of the same guarantees."""
    broken = {violation.split(":")[0] for violation in outcome.violations}

    def fails(scenario: Scenario) -> bool:
        return bool(broken & {violation.split(":")[0] for violation in simulate(scenario).violations})

    whole = replace(make(outcome.scenario.seed), faults=outcome.scenario.faults)
    return text(shrunk(whole, fails).faults)
