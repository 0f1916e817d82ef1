"""`auroral demo`: a small network-monitoring diagram over live traffic, shown as it runs, and then proved."""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from auroral.commands.interrupts import followed, noted
from auroral.commands.options import add_json, add_master
from auroral.commands.spark import failed_in_spark, must_have_java, session_for
from auroral.commands.terminal import FINE, WRONG_INPUT, say, say_json
from auroral.commands.watching import watching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "demo"
SUMMARY = "watch a network-monitoring diagram find a port scan in live traffic, and prove its output"
EXAMPLE = """\
  auroral demo
  auroral demo --seconds 10 --json"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=_seconds, default=30.0, metavar="N", help="how long traffic is generated (30)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the traffic (1)")
    parser.add_argument(
        "--folder", metavar="DIR", help="where the run is kept; if left out, in a temporary folder that goes with it"
    )
    add_master(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    # Here, since building the parser must not load Spark.
    from auroral.demo import INTRODUCTION, warm_up

    must_have_java(args.master)
    if not args.json:
        say(INTRODUCTION)
    session = session_for(args.master, debug=args.debug)
    warm_up(session)
    with tempfile.TemporaryDirectory(prefix="auroral-demo-", ignore_cleanup_errors=True) as scratch:
        return _shown(args, session, Path(args.folder or scratch))


def _shown(args: Namespace, session: SparkSession, folder: Path) -> int:
    from auroral.app import verify
    from auroral.demo import last_alerts, live, start

    with noted() as asked:
        app = start(session, folder)
        with watching(
            sys.stdout, as_json=args.json, title="demo: network monitoring", extra=lambda: last_alerts(app)
        ) as watch:
            for _ in live(app, args.seconds, args.seed, asked.stop):
                watch(app.status)
            if asked.stop.is_set():
                # A first Ctrl-C ends the traffic only: what was sent is still evaluated, and proved.
                asked.stop.clear()
                watch.note("no more traffic; press Ctrl-C again to stop")
            followed(app, asked, watch)
    if app.exception is not None:
        raise failed_in_spark("the demo", app.exception)
    report = verify(folder, session)
    if args.json:
        say_json({"event": "end", "folder": args.folder, "verify": report.to_json()}, indent=None)
    else:
        say("\n".join(last_alerts(app)))
        say(f"\nNow the same rows in one plain batch run:\n{report.text}")
        say(f"\nrun folder: {folder}" if args.folder else "\nto keep the run: auroral demo --folder DIR")
    return FINE if report.ok else WRONG_INPUT


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86_400:
        raise ArgumentTypeError(f"{text!r}; allowed are 1 to 86400 seconds")
    return seconds
