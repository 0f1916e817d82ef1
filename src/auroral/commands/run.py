"""`auroral run`: a diagram over files or standard input, in buckets, into files; stopped and resumed at any time."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from auroral.commands.interrupts import noted
from auroral.commands.options import add_json, add_streams
from auroral.commands.preflight import Plan, plan
from auroral.commands.spark import failed_in_spark, session_for
from auroral.commands.terminal import FINE, WrongUse, say, say_json, say_problems
from auroral.commands.watching import watching
from auroral.edge.files import parse_input_spec
from auroral.model.errors import AuroralError
from auroral.node.feeds import PUSHED
from auroral.node.runfolder import RunFolder

if TYPE_CHECKING:
    from auroral.app import App

NAME = "run"
SUMMARY = "run a diagram in buckets, over files or live rows, into files"
EXAMPLE = """\
  auroral run examples/grid.xml --input north=examples/north.csv --input south=examples/south.csv \\
      --output deviations=deviations.jsonl
  auroral run examples/netmon.py --input oslo=oslo.csv@10x --input bern=bern.csv@10x --input lima=- \\
      --output alerts=alerts.parquet --folder runs/netmon
  auroral run --resume runs/netmon"""
RUNS = Path("auroral-runs")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="a Borealis XML diagram, or a Python file that defines one in a module-level name, which is executed",
    )
    parser.add_argument(
        "--resume",
        metavar="DIR",
        help="go on with the run in this folder, with the diagram, inputs and outputs that it was begun with. "
        "The folder holds a pickle, which can run any code: resume only folders that you trust",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help=f"where the run is kept, for --resume and verify; {RUNS}/NAME-TIME if left out",
    )
    add_streams(parser)
    add_json(parser, "print progress as JSON lines, for machines")


def run(args: Namespace) -> int:
    if (args.file is None) == (args.resume is None):
        raise WrongUse(
            "say what to run: a FILE, or --resume DIR\n    next: auroral run FILE --input STREAM=PATH --output STREAM=PATH"
        )
    if args.resume is not None:
        folder, todo = Path(args.resume), _resumed(args)
    else:
        todo = plan(args)
        folder = _new_folder(args.folder, todo.checked.diagram.name)
    # Rows on standard output are not to be mixed with anything.
    to = sys.stderr if todo.prints_rows else sys.stdout
    say_problems("warning", todo.warnings, sys.stderr)
    if not args.json:
        say(f"run folder: {folder}", to)
    session = session_for(args.master, debug=args.debug)
    from auroral.app import run as start

    with noted() as asked:
        app = start(
            todo.checked,
            inputs=todo.inputs,
            outputs=todo.outputs,
            folder=folder,
            session=session,
            flush=todo.flush,
        )
        with watching(to, as_json=args.json, title=f"run of {todo.checked.diagram.name}") as watch:
            while app.is_active and not asked.wait(0.1):
                watch(app.status)
            if asked.is_set():
                app.stop(drain=False)
            watch(app.status, last=True)
    return _end(app, args, to is sys.stdout, asked.is_set())


def _end(app: App, args: Namespace, free: bool, stopped: bool) -> int:
    if app.exception is not None:
        raise failed_in_spark("the run", app.exception, f"auroral run --resume {app.folder}")
    finished = app.status.state == "finished"
    if args.json:
        say_json(
            {
                "event": "end",
                "folder": str(app.folder),
                "finished": finished,
                "stopped": stopped,
                **app.status.to_json(),
            },
            indent=None,
            to=sys.stdout if free else sys.stderr,
        )
        return FINE
    to = sys.stdout if free else sys.stderr
    if finished:
        say(f"finished; next: auroral verify {app.folder}", to)
    else:
        say(f"stopped, nothing is lost; go on with: auroral run --resume {app.folder}", to)
    return FINE


def _new_folder(given: str | None, name: str) -> Path:
    if given is None:
        stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        return RUNS / f"{stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if (Path(given) / "run.json").exists():
        raise WrongUse(
            f"{given} holds a run already\n    allowed: a folder that is new or empty\n"
            f"    next: go on with that run: auroral run --resume {given}; or choose another folder"
        )
    return Path(given)


def _resumed(args: Namespace) -> Plan:
    given = [o for o in ("input", "output", "stime", "late", "delay") if getattr(args, o)]
    given += [o for o in ("folder", "bucket", "diagram") if getattr(args, o) is not None] + ["flush"] * args.flush
    if given:
        raise WrongUse(
            f"--resume goes on as the run was begun, and --{given[0]} would change it\n    next: leave --{given[0]} out"
        )
    stored = RunFolder.look(Path(args.resume))
    settings = stored.settings
    pushed = [stream for stream, path in settings.inputs.items() if path == PUSHED]
    if pushed:
        raise AuroralError(
            f"{args.resume}: rows of {', '.join(map(repr, pushed))} were pushed by a Python program\n"
            "    next: resume it in Python: auroral.run(diagram, folder=...) and push the rest"
        )
    inputs = {stream: parse_input_spec(f"{stream}={path}") for stream, path in settings.inputs.items()}
    return Plan(stored.checked, inputs, settings.outputs, settings.flush)
