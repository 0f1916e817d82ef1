"""`auroral why`, `auroral events` and `auroral tail`: what happens in a deployment, and why."""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, say, say_json
from auroral.dpc.assembly import CLIENT
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.processes import Fleet

_EVERY = 0.5
_MOMENT = re.compile(r"\b(\d{10}\.\d+) s\b")
_COLOURS = {"stable": "32", "tentative": "33", "corrected": "36", "confirmed": "32", "missed": "31"}


def _configure_why(parser: ArgumentParser) -> None:
    parser.add_argument("stream", metavar="STREAM")
    add_folder(parser)
    add_json(parser)


def _run_why(args: Namespace) -> int:
    told = stories(fleet_of(args), args.stream)
    if args.json:
        say_json({"stream": args.stream, "told_by": told})
        return FINE
    for name, story in told.items():
        say(f"{name}: {story}")
    return FINE


def stories(fleet: Fleet, stream: str) -> dict[str, str]:
    """Of a stream, as each process tells it that runs and knows of it."""
    told = {}
    for name in fleet.deployed.here:
        try:
            story = fleet.ask(name, "why", stream=stream)
        except NoAnswer:
            continue
        if story is not None:
            told[name] = in_times(story)
    if not told:
        streams = [*fleet.deployed.fragments.sources, *(s for f in fleet.deployed.fragments.all for s in f.streams)]
        raise DeploymentError(
            f"nobody who runs knows of the stream {stream!r}\n    allowed: {', '.join(streams)}\n"
            "    next: auroral status shows who runs"
        )
    return told


def in_times(story: str) -> str:
    """The cores tell of moments in seconds since 1970, people of times."""
    return _MOMENT.sub(lambda found: _time(float(found[1])), story)


why = SimpleNamespace(
    __doc__=__doc__,
    NAME="why",
    SUMMARY="tell the story of a stream: its state and since when, what it misses, whom it is read from",
    EXAMPLE="  auroral why alerts --folder runs/live\n  auroral why alerts --folder runs/live --json",
    configure=_configure_why,
    run=_run_why,
)


def _configure_events(parser: ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def _run_events(args: Namespace) -> int:
    for event in events_in(fleet_of(args).deployed.folder):
        if args.json:
            say_json(event, indent=None)
        else:
            rest = ", ".join(f"{k} {v}" for k, v in event.items() if k not in ("at", "process", "event") and v != "")
            say(f"{_time(event['at'])}  {event['process']:10} {event['event']}{': ' + rest if rest else ''}")
    return FINE


events = SimpleNamespace(
    __doc__=__doc__,
    NAME="events",
    SUMMARY="list what happened in a deployment: starts, changes of state, cuts, what was left out or came too late",
    EXAMPLE="  auroral events --folder runs/live\n  auroral events --folder runs/live --json",
    configure=_configure_events,
    run=_run_events,
)


def _configure_tail(parser: ArgumentParser) -> None:
    parser.add_argument("stream", metavar="STREAM")
    parser.add_argument("--once", action="store_true", help="what there is now, and end")
    add_folder(parser)
    add_json(parser)


def _run_tail(args: Namespace) -> int:
    fleet = fleet_of(args)
    if args.stream not in fleet.deployed.fragments.client:
        raise DeploymentError(
            f"{args.stream!r} is no output\n    allowed: {', '.join(fleet.deployed.fragments.client)}\n"
            "    next: name an output of the diagram"
        )
    since = 0
    while True:
        for one in fleet.ask(CLIENT, "tail", since=since, stream=args.stream):
            since = one["number"]
            say_json(one, indent=None) if args.json else say(_shown(one))
        if args.once:
            return FINE
        time.sleep(_EVERY)


def _shown(one: dict[str, Any]) -> str:
    head = f"{_time(one['at'])} bucket {one['bucket']} {one['kind']}: {one['count']} rows"
    if one["kind"] == "missed":
        head = f"{_time(one['at'])} buckets {one['bucket']} to {one['end'] - 1} are lost, in a gap"
    if sys.stdout.isatty():
        head = f"\033[{_COLOURS[one['kind']]}m{head}\033[0m"
    rows = [", ".join(f"{k}={v}" for k, v in row.items() if k != "__stime") for row in one["rows"]]
    return "\n    ".join([head, *rows])


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S.%f")[:-3]


tail = SimpleNamespace(
    __doc__=__doc__,
    NAME="tail",
    SUMMARY="follow what the client is given of an output: stable, tentative, corrected and confirmed buckets",
    EXAMPLE="  auroral tail alerts --folder runs/live",
    configure=_configure_tail,
    run=_run_tail,
)
