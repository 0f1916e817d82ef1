"""`auroral run`: a diagram over files or standard input, in buckets, into files; stopped and resumed at any time."""

from __future__ import annotations

import sys
import uuid
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from auroral.commands.interrupts import followed, noted
from auroral.commands.options import add_idle_after, add_json, add_streams
from auroral.commands.preflight import STANDARD, Plan, checked_diagram, plan
from auroral.commands.spark import Resuming, failed_in_spark, must_have_java, session_for
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, say, say_json, say_problems, untaken
from auroral.commands.totals import CountedRows
from auroral.commands.watching import watching
from auroral.edge.files import parse_input_spec
from auroral.model.checking import Checked
from auroral.model.errors import AuroralError, Problem
from auroral.node.feeds import PUSHED
from auroral.node.localclock import FED
from auroral.node.runfolder import RunFolder, RunSettings
from auroral.node.storeddiagram import refuse_other

if TYPE_CHECKING:
    from auroral.app import App

NAME = "run"
SUMMARY = "run a diagram in buckets, over files or live rows, into files"
EXAMPLE = """\
  auroral run examples/grid.xml --input north=examples/north.csv --input south=examples/south.csv \\
      --output deviations=deviations.jsonl
  auroral run examples/netmon.py --input oslo=oslo.csv@10x --input bern=bern.csv@10x --input lima=- \\
      --output alerts=alerts.parquet --folder runs/netmon
  auroral run --resume runs/netmon
  auroral run examples/netmon.py --resume runs/netmon"""
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
        help="go on with the run in this folder, with the diagram, inputs and outputs that it was begun with. With a "
        "FILE besides, the diagram is taken from there: the same one, in which functions were mended. The folder holds a pickle, which can run any code: resume only folders that you trust",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help=f"where the run is kept, for --resume and verify; {RUNS}/NAME-TIME-NUMBER if left out",
    )
    add_streams(parser)
    add_idle_after(parser)
    add_json(parser, "print progress as JSON lines, for machines")


def run(args: Namespace) -> int:
    to = sys.stderr if any(path == STANDARD for _, path in args.output) else sys.stdout
    try:
        folder, todo = _what(args)
        # Rows on standard output are not to be mixed with anything.
        to = sys.stderr if todo.prints_rows else sys.stdout
        return _carried_out(args, folder, todo, to)
    except Exception as error:
        if args.json:
            # Machines read one stream, and wait for its last event.
            say_json({"event": "end", "finished": False, "stopped": False, "error": str(error)}, indent=None, to=to)
        raise


def _what(args: Namespace) -> tuple[Path, Plan]:
    """The run's folder, and what the run is to do."""
    if args.file is None and args.resume is None:
        raise WrongUse(
            "say what to run\n    allowed: a FILE; --resume DIR; or both, to go on with functions that were mended in FILE\n"
            "    next: auroral run FILE --input STREAM=PATH --output STREAM=PATH"
        )
    if args.resume is not None:
        return Path(args.resume), _resumed(args)
    todo = plan(args)
    return _new_folder(args.folder, todo.checked.diagram.name), todo


def _carried_out(args: Namespace, folder: Path, todo: Plan, to: TextIO) -> int:
    must_have_java(args.master)
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
        title, total = f"run of {todo.checked.diagram.name}", CountedRows(todo.inputs).rows
        with watching(to, as_json=args.json, title=title, total=total) as watch:
            followed(app, asked, watch)
    return _end(app, args, to, asked.stop.is_set())


def _end(app: App, args: Namespace, to: TextIO, stopped: bool) -> int:
    if app.exception is not None:
        raise failed_in_spark("the run", app.exception, _resuming(args, app.folder))
    finished, missed = app.status.state == "finished", app.untaken
    if args.json:
        end = {"event": "end", "folder": str(app.folder), "finished": finished, "stopped": stopped}
        end["error"] = "\n".join(missed) or None
        say_json({**end, **app.status.to_json()}, indent=None, to=to)
    elif finished:
        say(f"finished{', BUT WITHOUT ROWS' if missed else ''}; next: auroral verify {app.folder}", to)
    else:
        say(f"stopped, nothing is lost; go on with: auroral run --resume {app.folder}", to)
    if finished and missed:
        kept = f"; what was left out: {app.folder}/sources/*/rejected.jsonl"
        say_problems("error", (untaken(text, kept) for text in missed), sys.stderr)
        return WRONG_INPUT
    return FINE


def _resuming(args: Namespace, folder: Path) -> Resuming:
    """How to go on after a failure: as it was, or with functions that were mended since."""
    functions = "".join(f" --functions {file}" for file in args.functions)
    mended = f"auroral run {args.file or 'FILE'}{functions} --resume {folder}"
    return Resuming(f"auroral run --resume {folder}", mended)


def _new_folder(given: str | None, name: str) -> Path:
    if given is None:
        stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        # Two runs may begin in the same second, and must not meet.
        return RUNS / f"{stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    if (Path(given) / "run.json").exists():
        raise WrongUse(
            f"{given} holds a run already\n    allowed: a folder that is new or empty\n"
            f"    next: go on with that run: auroral run --resume {given}; with functions that were mended since: "
            f"auroral run FILE --resume {given}; or choose another folder"
        )
    return Path(given)


def _resumed(args: Namespace) -> Plan:
    given = [o for o in ("input", "output") if getattr(args, o)] + ["flush"] * args.flush
    given += ["folder"] if args.folder is not None else []
    if args.file is None:
        # With a FILE they say, as they did in the beginning, which diagram it is.
        given += [o for o in ("stime", "functions", "late", "delay", "idle_after") if getattr(args, o)]
        given += [o for o in ("bucket", "diagram") if getattr(args, o) is not None]
    if given:
        option = "--" + given[0].replace("_", "-")
        raise WrongUse(
            f"--resume goes on as the run was begun, and {option} would change it\n    next: leave {option} out"
        )
    settings, checked, warnings = _stored(args)
    pushed = [stream for stream, path in settings.inputs.items() if path == PUSHED]
    if pushed:
        raise AuroralError(
            f"{args.resume}: rows of {', '.join(map(repr, pushed))} were pushed by a Python program\n"
            "    next: resume it in Python: auroral.run(diagram, folder=...) and push the rest"
        )
    inputs = {stream: parse_input_spec(f"{stream}={path}") for stream, path in settings.inputs.items() if path != FED}
    return Plan(checked, inputs, settings.outputs, settings.flush, warnings)


def _stored(args: Namespace) -> tuple[RunSettings, Checked, tuple[Problem, ...]]:
    """What the folder says, and its diagram, or the one of FILE where that is given: with the same words."""
    path = Path(args.resume)
    if args.file is None:
        stored = RunFolder.look(path)
        return stored.settings, stored.checked, ()
    settings = RunFolder.settings_of(path)
    checked, warnings = checked_diagram(args, args.diagram or settings.diagram, settings.inputs)
    refuse_other(path, settings.words, checked)
    return settings, checked, warnings
