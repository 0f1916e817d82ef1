"""The program `auroral`: finds the command, runs it, and turns errors into words and exit codes.

Exit codes: 0 fine, 1 the input is wrong, 2 wrong use, 130 stopped with Ctrl-C before anything could be kept.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from auroral.commands import (
    batch,
    boxes,
    check,
    completion,
    contracts,
    demo,
    experiments,
    explain,
    export,
    new,
    prune,
    query,
    report,
    run,
    simulate,
    verify,
)
from auroral.commands.fleet import catalog, change, down, move, pack, status, top, ui, up
from auroral.commands.fleet.disturb import cut, heal, kill, pause, resume
from auroral.commands.fleet.watch import events, tail, why
from auroral.commands.interrupts import ended_by_sigterm
from auroral.commands.spark import SparkFailed, forget_said, last_said
from auroral.commands.terminal import (
    FINE,
    WRONG_INPUT,
    WRONG_USE,
    WrongUse,
    own_warnings,
    problems_of,
    say,
    say_problems,
)
from auroral.model.errors import AuroralError, DiagramError

_OF_DEPLOYMENTS = (
    *(up, down, status, top, ui, pack, kill, cut, heal, pause, resume),
    *(move, change, why, events, tail, catalog),
)
COMMANDS: tuple[Any, ...] = (
    *(new, check, explain, export, boxes, run, batch, verify, report, prune, query),
    *_OF_DEPLOYMENTS,
    *(simulate, experiments, contracts, demo, completion),
)
"""Each has NAME, SUMMARY, EXAMPLE, configure and run."""
INTERRUPTED = 130
_DEBUG = "show a traceback with every error"

DESCRIPTION = """\
Auroral: a stream processor on Apache Spark, driven from Python. A diagram of boxes is checked, run in buckets of
time, and its result proved equal to one plain batch run."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = make_parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:
        # argparse ends the program itself, after --help and for wrong use; a caller wants a number.
        return end.code if isinstance(end.code, int) else WRONG_USE
    if args.command is None:
        parser.print_help()
        return FINE
    with own_warnings(), _py4j_kept_quiet():
        try:
            with ended_by_sigterm():
                return int(args.run(args))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  each is told in words
            return _told(error, args)
        finally:
            forget_said()


@contextmanager
def _py4j_kept_quiet() -> Iterator[None]:
    """What py4j logs with a traceback, it raises too, and that is told in words."""

    def of_others(record: logging.LogRecord) -> bool:
        return "py4j" not in Path(record.pathname).parts

    # py4j logs through the root logger. Whoever calls `main` from a program of their own gets it back as it was.
    root = logging.getLogger()
    root.addFilter(of_others)
    try:
        yield
    finally:
        root.removeFilter(of_others)


def _told(error: BaseException, args: argparse.Namespace) -> int:
    """Say what happened, without a traceback unless it was asked for; gives the exit code."""
    if _interrupted(error):
        say("stopped", sys.stderr)
        return _with_traceback(args.debug, INTERRUPTED)
    match error:
        case WrongUse():
            say_problems("error", problems_of(error), sys.stderr)
            say(f"see also: auroral {args.command} --help", sys.stderr)
            return _with_traceback(args.debug, WRONG_USE)
        case AuroralError():
            say_problems("error", problems_of(error), sys.stderr)
            if isinstance(error, DiagramError):
                say_problems("warning", error.warnings, sys.stderr)
            if isinstance(error, SparkFailed):
                _tell_of_spark()
            return _with_traceback(args.debug, WRONG_INPUT)
        case BrokenPipeError():
            # Whoever read our output has seen enough, as with `| head`; nothing more can be written there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FINE
    say(f"error: this should not happen: {type(error).__name__}: {error}", sys.stderr)
    say(f"    next: see where with auroral {args.command} ... --debug, and report it", sys.stderr)
    _tell_of_spark()
    return _with_traceback(args.debug, WRONG_INPUT)


def _interrupted(error: BaseException | None) -> bool:
    """Whether this is Ctrl-C, or what came of it: the first thing asked of Spark afterwards gets the cancelled job's error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _tell_of_spark() -> None:
    if lines := last_said():
        say("what Spark said last:", sys.stderr)
        for line in lines:
            say(f"    {line}", sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="auroral",
        description=DESCRIPTION,
        epilog="`auroral COMMAND --help` shows a command's options and an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"auroral {_version()}")
    parser.add_argument("--debug", action="store_true", help=_DEBUG)
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for module in COMMANDS:
        command = commands.add_parser(
            module.NAME,
            help=module.SUMMARY,
            description=f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}.",
            epilog=f"examples:\n{module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.configure(command)
        # Also behind the command; where it is not given there, what was said before it stands.
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=_DEBUG)
        command.set_defaults(run=module.run)
    return parser


def _with_traceback(debug: bool, code: int) -> int:
    if debug:
        traceback.print_exc()
    return code


def _version() -> str:
    try:
        return version("auroral")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
