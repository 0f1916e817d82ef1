"""`auroral simulate`: the protocols under random failures in virtual time, every guarantee checked."""

from __future__ import annotations

import os
import shlex
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace

from auroral.commands import simulate_contracts
from auroral.commands.options import (
    add_bucket,
    add_choices,
    add_functions,
    add_input,
    add_json,
    add_stime,
    chosen,
    parse_length,
)
from auroral.commands.seeds import parse_seeds, progress, read_schedule, say_failure, say_summary, timed
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, say, say_json
from auroral.commands.trials import Asked, Trials
from auroral.model.errors import AuroralError
from auroral.sim.campaign import Make, Summary, run_seeds, shortest
from auroral.sim.faults import Fault, lasting, parse, text
from auroral.sim.randomly import random_scenario
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import Outcome, simulate
from auroral.sim.trace import Trace
from auroral.ui.replay.simulated import Recording

NAME = "simulate"
SUMMARY = "try a protocol under failures in virtual time and check every guarantee; exit code 1 if one is broken"
EXAMPLE = """\
  auroral simulate dpc
  auroral simulate dpc --seeds 17 --trace trace.txt
  auroral simulate dpc --seeds 17 --trace trace.jsonl
  auroral simulate dpc --seeds 17 --schedule failures.txt
  auroral simulate dpc --seeds 0..19 --diagram examples/grid.xml --deploy examples/grid-deploy.xml
  auroral simulate contracts --seeds 0..19"""

SHORTENED = 3
"""So many failing seeds get their shortest schedule: each takes dozens of runs."""


ABOUT_DIAGRAMS = (
    *(
        "deploy",
        "changed",
        "input",
        "stime",
        "functions",
        "bucket",
        "bound",
        "keep",
        "while_failing",
        "while_correcting",
    ),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "protocol",
        choices=["dpc", "contracts"],
        help="what is tried: dpc, Delay, Process and Correct; contracts, the market in which participants pay one another to run tasks",
    )
    parser.add_argument(
        "--seeds",
        metavar="FROM..TO",
        type=parse_seeds,
        default=range(300),
        help="which scenarios, as 0..299 or 17; 0..299 if left out. A seed decides the diagram, the replicas, the "
        "settings and the failures; with --diagram, the rows and the failures; of contracts, participants, costs, tasks, terms and failures",
    )
    parser.add_argument(
        "--diagram",
        metavar="FILE",
        help="try this diagram instead: Borealis XML, or a Python file that defines one, which is executed; FILE.py:NAME "
        "where it defines several",
    )
    parser.add_argument(
        "--deploy",
        metavar="FILE",
        help="a deployment (XML) that says on which nodes the queries of --diagram run; without it, all run on two nodes",
    )
    parser.add_argument(
        "--changed",
        metavar="FILE",
        help="the diagram that the queries of --diagram are changed to by `change` in a schedule, as a file like that; without it they "
        "compute the same by their next version",
    )
    add_input(
        parser,
        "STREAM=PATH",
        "rows of an input of --diagram: *.csv, *.jsonl, *.parquet or a folder of Parquet files; without it, rows are drawn from the seed",
    )
    add_stime(parser)
    add_functions(parser)
    add_bucket(parser)
    parser.add_argument(
        "--bound",
        metavar="LENGTH",
        type=parse_length,
        help="X for --diagram, as 5s; the lowest availability of its outputs if left out, or else ten buckets",
    )
    add_choices(parser)
    parser.add_argument(
        "--schedule",
        metavar="FILE",
        help="failures to try instead of each seed's own, as lines like `at 3s cut q0a-q1b`; - for standard input",
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write what happens, line by line; to *.jsonl, as a recording for auroral ui --replay; for one seed",
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=os.cpu_count() or 1,
        help="how many at once; all cores if left out",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    if args.processes < 1:
        raise WrongUse(f"--processes is {args.processes}\n    allowed: 1 or more")
    if args.trace is not None and len(args.seeds) > 1:
        raise WrongUse(
            f"--trace is of one run, and there are {len(args.seeds)} seeds\n    next: choose one: --seeds 17"
        )
    if args.protocol == "contracts":
        _about_no_diagram(args, ("diagram", *ABOUT_DIAGRAMS), "there is none in a market\n    next: leave it out")
        return simulate_contracts.run(args)
    make = _make(args)
    summary, failed, began = Summary(), list[Outcome](), time.monotonic()
    unhealed: set[Fault] = set()
    with progress(len(args.seeds), quiet=args.json) as advance:
        for outcome in _outcomes(args, make):
            summary.add(outcome)
            unhealed.update(lasting(outcome.scenario.faults))
            failed += [outcome] if outcome.violations else []
            advance(summary)
    found = timed(summary.to_json(), summary.seeds, began)
    failed.sort(key=lambda outcome: outcome.scenario.seed)
    failures = [_failure(outcome, args, make, shorten=n < SHORTENED) for n, outcome in enumerate(failed)]
    if args.json:
        say_json({**found, "failures": failures, "unhealed": [str(fault) for fault in sorted(unhealed)]})
    else:
        if unhealed:
            said = "; ".join(map(str, sorted(unhealed)))
            say(f"note: {said}: never over, so it is not judged whether all is corrected in the end")
        for failure in failures:
            say_failure(failure)
        say_summary(found)
    return WRONG_INPUT if failed else FINE


def _about_no_diagram(args: Namespace, options: tuple[str, ...], why: str) -> None:
    for option in options:
        if getattr(args, option) not in (None, []):
            raise WrongUse(f"--{option.replace('_', '-')} is about a diagram, and {why}")


def _make(args: Namespace) -> Make:
    """What makes the scenario of a seed."""
    if args.diagram is None:
        _about_no_diagram(args, ABOUT_DIAGRAMS, "there is none\n    next: add --diagram FILE")
    schedule = None if args.schedule is None else read_schedule(args.schedule)
    if args.diagram is not None:
        return Trials(_asked(args, schedule))
    return random_scenario if schedule is None else Scheduled(schedule)


def _asked(args: Namespace, schedule: str | None = None) -> Asked:
    return Asked(
        args.diagram,
        args.deploy,
        tuple(args.input),
        tuple(args.stime),
        tuple(args.functions),
        args.bucket,
        args.bound,
        schedule,
        chosen(args),
        args.changed,
    )


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A seed's diagram under these failures."""

    schedule: str

    def __call__(self, seed: int) -> Scenario:
        scenario = random_scenario(seed)
        return replace(scenario, faults=parse(self.schedule, scenario.hosts))


def _outcomes(args: Namespace, make: Make) -> Iterator[Outcome]:
    if args.trace is None:
        return run_seeds(args.seeds, args.processes, make)
    return (_traced(make(seed), args.trace) for seed in args.seeds)


def _traced(scenario: Scenario, file: str) -> Outcome:
    try:
        with open(file, "w", encoding="utf-8") as out:
            if file.endswith(".jsonl"):
                recording = Recording(scenario, file, lambda line: print(line, file=out))
                recording.begin()
                return simulate(scenario, recording)
            out.write(f"# seed {scenario.seed}; {text(scenario.faults) or 'no failures'}\n")
            outcome = simulate(scenario, Trace(scenario, lambda line: print(line, file=out)))
            out.writelines(f"# broken: {violation}\n" for violation in outcome.violations)
    except OSError as error:
        raise AuroralError(f"{file} cannot be written: {error.strerror}\n    next: choose another file") from error
    return outcome


def _failure(outcome: Outcome, args: Namespace, make: Make, shorten: bool) -> dict[str, object]:
    seed, schedule = outcome.scenario.seed, text(outcome.scenario.faults)
    replay = shlex.join(
        ["auroral", "simulate", "dpc", "--seeds", str(seed), *(_asked(args).words if args.diagram is not None else ())]
    )
    found: dict[str, object] = {"seed": seed, "violations": list(outcome.violations), "schedule": schedule}
    if shorten:
        found["shortest"] = schedule = shortest(outcome, make)
    if shorten or args.schedule is not None:
        replay = f"echo {shlex.quote(schedule)} | {replay} --schedule -"
    return {**found, "replay": replay}
