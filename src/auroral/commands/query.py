"""`auroral query`: asks a stream of what runs, first over its history, then live, until it is detached."""

from __future__ import annotations

import json
import sys
import threading
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from auroral.client.events import Confirmed, Corrected, Event, Gap, Stable
from auroral.commands.diagrams import load_one
from auroral.commands.fleet.common import FOLDER
from auroral.commands.options import add_json, add_master, parse_length
from auroral.commands.spark import failed_in_spark, must_have_java, session_for
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.edge.spelling import json_lines
from auroral.engine.session import DEFAULT_MASTER
from auroral.model.errors import AuroralError

if TYPE_CHECKING:
    from auroral.adhoc import Query

NAME = "query"
SUMMARY = "ask a stream of what runs, in Spark SQL: first over its history, then live, until Ctrl-C or --for"
EXAMPLE = """\
  auroral query slow "SELECT page, ms FROM slow WHERE ms > 200" --folder runs/live
  auroral query recent "SELECT page, count(*) AS n FROM stream GROUP BY page" --window 1min --for 30s
  auroral query slow --diagram pages.py --history-only --json"""
_COLOURS = {"tentative": "33", "corrected": "36", "gap": "31"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("stream", metavar="STREAM", help="an output, or a connection point: then what that keeps")
    parser.add_argument(
        "sql",
        metavar="SQL",
        nargs="?",
        help="SELECT ... FROM STREAM ..., evaluated for each bucket. `stream` stands for a name that is none in SQL",
    )
    parser.add_argument("--diagram", metavar="FILE", help="in place of SQL, a diagram whose input is the stream")
    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=FOLDER,
        help=f"of a deployment or a run ({FOLDER}), or the HOST:PORT of a deployment. A folder holds a pickle, which can run any code: "
        "use only folders that you trust",
    )
    parser.add_argument(
        "--window", metavar="LENGTH", type=parse_length, help="rows that SQL sees with each bucket: the last 10s"
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        type=_time,
        help="from whose bucket on: a stime, 2026-03-01T12:00:00Z, or now; left out, all that is kept",
    )
    parser.add_argument("--history-only", action="store_true", help="what is stable now, and end")
    parser.add_argument("--stable-only", action="store_true", help="nothing tentative")
    parser.add_argument(
        "--for", dest="length", metavar="LENGTH", type=parse_length, help="detach after so long, as 30s"
    )
    add_master(parser)
    add_json(parser, "one line of JSON for each event")


def run(args: Namespace) -> int:
    if (args.sql is None) == (args.diagram is None):
        raise WrongUse(
            "a query is a statement or a diagram\n    allowed: SQL, or --diagram FILE\n    next: give one of them"
        )
    must_have_java(args.master)
    from auroral.adhoc import query

    diagram = None if args.diagram is None else load_one(args.diagram, []).diagram
    # Before Spark is started for nothing.
    with query(
        args.folder,
        args.stream,
        args.sql,
        diagram=diagram,
        window=None if args.window is None else f"{args.window}us",
        since=args.since,
        tentative=not args.stable_only,
        history_only=args.history_only,
        session=lambda: session_for(args.master or DEFAULT_MASTER, debug=args.debug),
    ) as asked:
        timer = None if args.length is None else threading.Timer(args.length / 1e6, asked.close)
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            for event in asked:
                _tell(event, args.json)
        except KeyboardInterrupt:
            # That is how one goes: nothing is left to be done.
            asked.close()
        except AuroralError:
            raise
        except Exception as error:
            raise failed_in_spark("the query", error) from error
        finally:
            if timer is not None:
                timer.cancel()
        _tell_the_end(asked)
    return FINE


def _tell(event: Event, as_json: bool) -> None:
    kind = _kind(event)
    rows = [] if isinstance(event, Gap) else [json.loads(line) for line in json_lines(event.rows).splitlines()]
    if not rows and kind in ("stable", "confirmed"):
        return
    if as_json:
        say_json({"kind": kind, "lo": event.lo, "hi": event.hi, "rows": rows}, indent=None)
        return
    head = f"{_moment(event.lo)} {kind}{'' if rows else ': no rows'}"
    if sys.stdout.isatty() and kind in _COLOURS:
        head = f"\033[{_COLOURS[kind]}m{head}\033[0m"
    say("\n    ".join([head, *(", ".join(f"{k}={_word(v)}" for k, v in list(row.items())[1:]) for row in rows)]))


def _kind(event: Event) -> str:
    match event:
        case Gap():
            return "gap"
        case Confirmed():
            return "confirmed"
        case Corrected():
            return "corrected"
        case Stable():
            return "stable"
        case _:
            return "tentative"


def _word(value: Any) -> str:
    return "null" if value is None else str(value)


def _moment(stime: int) -> str:
    return datetime.fromtimestamp(stime / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _tell_the_end(asked: Query) -> None:
    for reason, count in asked.left_out.items():
        say(f"rows {reason}: {count}", sys.stderr)
    if asked.position is not None:
        say(f"detached; stable up to stime {asked.position}: to go on from there, --since {asked.position}", sys.stderr)


def _time(text: str) -> int | datetime | str:
    if text == "now":
        return text
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(
            f"{text!r} is no time; write a stime in microseconds, 2026-03-01T12:00:00Z, or now"
        ) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
