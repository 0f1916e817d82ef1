"""`auroral verify`: whether a run's stable output equals one batch run over the rows that it logged."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from auroral.commands.options import add_json, add_master
from auroral.commands.spark import failed_in_spark, session_for
from auroral.commands.terminal import FINE, WRONG_INPUT, say, say_json
from auroral.model.errors import AuroralError
from auroral.node.runfolder import RunFolder

NAME = "verify"
SUMMARY = "prove that a run's output equals one batch run over its logged input; exit code 1 if not"
EXAMPLE = """\
  auroral verify runs/netmon
  auroral verify runs/netmon --since-last
  auroral verify runs/netmon --json"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="RUN_FOLDER",
        help="a folder that `auroral run` made. It holds a pickle, which can run any code: verify only folders that "
        "you trust",
    )
    parser.add_argument(
        "--since-last",
        action="store_true",
        help="compare only what is new since the run was last found equal, which is quicker; what lies before rests on "
        "that verification. Without it the whole run is compared or, where it was pruned, what follows its last "
        "verification; and the files that it wrote as a whole",
    )
    add_master(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    # Before Spark is started for nothing.
    RunFolder.look(Path(args.folder))
    session = session_for(args.master, debug=args.debug)
    from auroral.app import verify

    try:
        report = verify(args.folder, session, since_last=args.since_last)
    except AuroralError:
        raise
    except Exception as error:
        raise failed_in_spark("the batch run", error) from error
    if args.json:
        say_json(report.to_json())
    else:
        say(report.text)
    return FINE if report.ok else WRONG_INPUT
