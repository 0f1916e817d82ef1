"""`auroral simulate contracts`: the market under random failures in virtual time, every guarantee checked."""

from __future__ import annotations

import shlex
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from auroral.commands.seeds import progress, read_schedule, say_failure, say_summary, timed
from auroral.commands.terminal import FINE, WRONG_INPUT, say_json
from auroral.model.errors import AuroralError
from auroral.sim.campaign import in_processes
from auroral.sim.faults import OF_SOURCES, RECONFIGURES, WrongSchedule, parse
from auroral.sim.market.randomly import random_market
from auroral.sim.market.scenario import MarketScenario
from auroral.sim.market.simulate import MarketSummary, Outcome, shortest, simulate
from auroral.sim.market.trace import MarketTrace

SHORTENED = 3
"""So many failing seeds get their shortest schedule: each takes dozens of runs."""
NOT_HERE = (*OF_SOURCES, *RECONFIGURES, "destroy")
"""There are no sources and no catalog; and who loses its books has nothing left to be held to."""


@dataclass(frozen=True, slots=True)
class Made:
    """The market of a seed, under a schedule of one's own if there is one."""

    schedule: str | None

    def __call__(self, seed: int) -> MarketScenario:
        scenario = random_market(seed)
        if self.schedule is None:
            return scenario
        faults = parse(self.schedule, scenario.hosts)
        for fault in faults:
            if fault.verb in NOT_HERE:
                raise WrongSchedule(
                    f"'{fault}' cannot happen in a market\n    allowed: cut, isolate, slow, reset, crash, unplug, forward, back"
                )
        return replace(scenario, faults=faults)

    def outcome(self, seed: int) -> Outcome:
        return simulate(self(seed))


def run(args: Namespace) -> int:
    made = Made(None if args.schedule is None else read_schedule(args.schedule))
    summary, failed, began = MarketSummary(), list[Outcome](), time.monotonic()
    with progress(len(args.seeds), quiet=args.json) as advance:
        for outcome in _outcomes(args, made):
            summary.add(outcome)
            failed += [outcome] if outcome.violations else []
            advance(summary)
    found = timed(summary.to_json(), summary.seeds, began)
    failed.sort(key=lambda outcome: outcome.seed)
    failures = [_failure(outcome, made, shorten=n < SHORTENED) for n, outcome in enumerate(failed)]
    if args.json:
        say_json({**found, "failures": failures})
    else:
        for failure in failures:
            say_failure(failure)
        say_summary(found)
    return WRONG_INPUT if failed else FINE


def _outcomes(args: Namespace, made: Made) -> Iterator[Outcome]:
    if args.trace is None:
        return in_processes(args.seeds, args.processes, made.outcome)
    return (_traced(made(seed), Path(args.trace)) for seed in args.seeds)


def _traced(scenario: MarketScenario, file: Path) -> Outcome:
    try:
        with file.open("w", encoding="utf-8") as out:
            trace = MarketTrace(scenario, lambda line: print(line, file=out))
            outcome = simulate(scenario, trace)
            out.writelines(f"# broken: {violation}\n" for violation in outcome.violations)
    except OSError as error:
        raise AuroralError(f"{file} cannot be written: {error.strerror}\n    next: choose another file") from error
    return outcome


def _failure(outcome: Outcome, made: Made, shorten: bool) -> dict[str, object]:
    replay = f"auroral simulate contracts --seeds {outcome.seed}"
    found: dict[str, object] = {
        "seed": outcome.seed,
        "violations": list(outcome.violations),
        "schedule": outcome.faults,
    }
    schedule = outcome.faults
    if shorten:
        found["shortest"] = schedule = shortest(made(outcome.seed), outcome)
    if shorten or made.schedule is not None:
        replay = f"echo {shlex.quote(schedule)} | {replay} --schedule -"
    return {**found, "replay": replay}
