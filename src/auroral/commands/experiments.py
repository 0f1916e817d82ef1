"""`auroral experiments dpc`: the experiments that DPC was first measured with, each published statement beside what is so here."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from auroral.commands.options import add_json, add_master
from auroral.commands.plots import can_draw, draw
from auroral.commands.spark import session_for
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.sim.experiments.catalogue import EXPERIMENTS
from auroral.sim.experiments.report import file_name, markdown
from auroral.sim.experiments.running import Costs
from auroral.sim.experiments.values import Experiment

NAME = "experiments"
SUMMARY = "repeat the published experiments on DPC, and write a report with every statement, and whether it holds"
EXAMPLE = """\
  auroral experiments dpc --out report
  auroral experiments dpc --only E1,E3 --json"""

ON_ENGINE = "E8"
NAMES = (*EXPERIMENTS, ON_ENGINE)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("protocol", choices=("dpc",), help="whose experiments")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="write report.md, and plots where matplotlib is installed"
    )
    parser.add_argument(
        "--only", metavar="NAMES", type=_names, default=NAMES, help=f"some of {', '.join(NAMES)}; all without it"
    )
    add_master(parser)
    add_json(parser)


def _names(text: str) -> tuple[str, ...]:
    chosen = tuple(name.strip().upper() for name in text.split(","))
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        raise ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return chosen


def run(args: Namespace) -> int:
    from auroral.commands.engine_experiments import e8, measured_costs

    if args.out:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WrongUse(
                f"--out {args.out}: no folder can be made there: {error.strerror}; next: name another one"
            ) from error
    session = session_for(args.master, debug=args.debug)
    load = os.getloadavg()[0]
    costs = measured_costs(session)
    jobs = (
        f"E1 to E7 are in virtual time. Their jobs take what the engine takes here: {1_000 * costs.begin:.0f} ms each, "
        f"{1_000 * costs.bucket:.2f} ms for each bucket and {1e6 * costs.row:.2f} us for each row."
    )
    _tell(args, jobs)
    found = _in_virtual_time([name for name in args.only if name != ON_ENGINE], costs, args)
    if ON_ENGINE in args.only:
        found.append(e8(session))
        _tell(args, _line(found[-1]))
    machine = {"cores": os.cpu_count(), "load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2)}
    written: list[Path] = []
    if args.out:
        where = f"Measured on {machine['cores']} cores with a load of {load:.1f} before and {machine['load_after']:.1f} after."
        written = _write(args.out, found, f"{jobs} {where}", args)
    if args.json:
        experiments = [asdict(one) for one in found]
        names = [str(path) for path in written]
        say_json({"machine": machine, "costs": asdict(costs), "written": names, "experiments": experiments})
    return FINE


def _in_virtual_time(names: list[str], costs: Costs, args: Namespace) -> list[Experiment]:
    if not names:
        return []
    done: dict[str, Experiment] = {}
    begun = time.monotonic()
    # Not by fork: this process has threads of Spark's.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(EXPERIMENTS[name], costs): name for name in names}
        for future in as_completed(futures):
            experiment = done[futures[future]] = future.result()
            _tell(args, f"{_line(experiment)}, after {time.monotonic() - begun:.0f} s")
    return [done[name] for name in names]


def _line(experiment: Experiment) -> str:
    holds = sum(statement.holds for statement in experiment.statements)
    return f"{experiment.name} {experiment.title}: {holds} of {len(experiment.statements)} statements hold"


def _write(folder: Path, found: list[Experiment], head: str, args: Namespace) -> list[Path]:
    written = [folder / "report.md"]
    written[0].write_text(markdown(found, head, with_plots=can_draw()), encoding="utf-8")
    if can_draw():
        for experiment in found:
            for plot in experiment.plots:
                written.append(folder / file_name(experiment, plot))
                draw(plot, written[-1])
    else:
        _tell(args, "no plots: matplotlib is not installed; next: pip install 'auroral[plots]'")
    _tell(args, f"written to {written[0]}")
    return written


def _tell(args: Namespace, text: str) -> None:
    if not args.json:
        say(text)
