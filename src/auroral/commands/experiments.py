"""`auroral experiments`: the experiments that the protocols were first measured with, each published statement beside what is so here."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from auroral.commands import contract_experiments
from auroral.commands.options import add_json, add_master
from auroral.commands.plots import can_draw, draw
from auroral.commands.spark import session_for
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.sim.experiments.catalogue import EXPERIMENTS
from auroral.sim.experiments.report import file_name, markdown
from auroral.sim.experiments.running import Costs
from auroral.sim.experiments.values import Experiment

NAME = "experiments"
SUMMARY = "repeat the published experiments, and write a report with every statement, and whether it holds"
EXAMPLE = """\
  auroral experiments dpc --out report
  auroral experiments dpc --only E1,E3 --json
  auroral experiments contracts --out report"""

ON_ENGINE = "E8"
NAMES = (*EXPERIMENTS, ON_ENGINE)
OF = {"dpc": NAMES, "contracts": contract_experiments.NAMES}
ALL = [name for names in OF.values() for name in names]


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("protocol", choices=tuple(OF), help="whose experiments")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="write report.md, and plots where matplotlib is installed"
    )
    parser.add_argument(
        "--only",
        metavar="NAMES",
        type=_names,
        help=f"some of {', '.join(NAMES)}, or of {', '.join(OF['contracts'])} for contracts; all without it",
    )
    add_master(parser)
    add_json(parser)


def _names(text: str) -> tuple[str, ...]:
    chosen = tuple(name.strip().upper() for name in text.split(","))
    unknown = [name for name in chosen if name not in ALL]
    if unknown:
        raise ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(ALL)}")
    return chosen


def run(args: Namespace) -> int:
    args.only = args.only or OF[args.protocol]
    if others := [name for name in args.only if name not in OF[args.protocol]]:
        raise WrongUse(
            f"{', '.join(others)} is not about {args.protocol}\n    allowed: {', '.join(OF[args.protocol])}\n    next: choose of these"
        )
    if args.out:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WrongUse(
                f"--out {args.out}: no folder can be made there: {error.strerror}; next: name another one"
            ) from error
    return _on_contracts(args) if args.protocol == "contracts" else _on_dpc(args)


def _on_contracts(args: Namespace) -> int:
    load = os.getloadavg()[0]
    begun = time.monotonic()
    found = contract_experiments.run(
        args.only, lambda one: _tell(args, f"{_line(one)}, after {time.monotonic() - begun:.0f} s")
    )
    machine = _machine(load)
    written: list[Path] = []
    if args.out:
        head = f"In virtual time, with exact numbers: the same on every machine. {_where(machine)} It took {time.monotonic() - begun:.0f} s."
        written = _write(args.out, found, head, args, "Experiments on contracts")
    if args.json:
        say_json(
            {
                "machine": machine,
                "written": [str(path) for path in written],
                "experiments": [asdict(one) for one in found],
            }
        )
    return FINE


def _machine(load: float) -> dict[str, float | None]:
    return {"cores": os.cpu_count(), "load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2)}


def _where(machine: dict[str, float | None]) -> str:
    return f"Measured on {machine['cores']} cores with a load of {machine['load_before']:.1f} before and {machine['load_after']:.1f} after."


def _on_dpc(args: Namespace) -> int:
    from auroral.commands.engine_experiments import e8, measured_costs

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
    machine = _machine(load)
    written: list[Path] = []
    if args.out:
        written = _write(args.out, found, f"{jobs} {_where(machine)}", args)
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


def _write(
    folder: Path, found: list[Experiment], head: str, args: Namespace, title: str = "Experiments on DPC"
) -> list[Path]:
    written = [folder / "report.md"]
    written[0].write_text(markdown(found, head, can_draw(), title), encoding="utf-8")
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
