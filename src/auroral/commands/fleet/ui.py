"""`auroral ui`: a page in the browser that shows a deployment while it runs."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.model.deployment import LOCAL_HOST, Endpoint
from auroral.model.errors import AuroralError
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.serving import OPERATOR_TOKEN

NAME = "ui"
SUMMARY = "serve a page that shows a deployment while it runs: diagram, outputs, timeline and ledger"
EXAMPLE = """\
  auroral ui --folder runs/live
  auroral ui --folder runs/live --port 9000
  auroral ui --folder runs/live --controls
  auroral ui --replay runs/live
  auroral ui --replay trace.jsonl"""
_NAP = 0.5


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, metavar="PORT", help="where it is served (8425, or a free one where that is taken)"
    )
    parser.add_argument(
        "--host",
        default=LOCAL_HOST,
        metavar="ADDRESS",
        help=f"the address it is served at ({LOCAL_HOST}: for this machine alone). What passes is not encrypted",
    )
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="WHAT",
        help="show what was: the folder of a deployment that has run, or a trace of auroral simulate dpc (*.jsonl)",
    )
    add_controls(parser)
    add_folder(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    must_be_installed()
    if args.replay is not None:
        return _replay(args)
    fleet = fleet_of(args)
    with page(fleet, args.host, args.port, controls=args.controls) as address:
        if args.json:
            say_json({"address": address, "folder": str(fleet.deployed.folder)}, indent=None)
        else:
            tell(fleet, address, controls=args.controls)
        wait()
    return FINE


def _replay(args: Namespace) -> int:
    if args.controls:
        raise WrongUse("--controls: nothing can be done to what was\n    allowed: --replay alone")
    # Here, since not everybody has what it needs.
    from auroral.ui.serving import replayed

    with replayed(args.replay.absolute(), args.host, args.port) as found:
        if args.json:
            say_json({"address": found.address, "replays": str(args.replay)}, indent=None)
        else:
            say(f"what was in {args.replay}: {found.address}")
            say("Ctrl-C ends the page", sys.stderr)
        wait()
    return FINE


def add_controls(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--controls",
        action="store_true",
        help="the page can also cut, heal, pause, kill, move and change, for who has the operator's token (in FOLDER/operator-token)",
    )


def must_be_installed() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise AuroralError(
            f"the page needs a package that is not installed: {error.name}\n"
            "    allowed: the packages of auroral[ui]\n    next: pip install 'auroral[ui]'"
        ) from error


@contextmanager
def page(fleet: Fleet, host: str = LOCAL_HOST, port: int | None = None, *, controls: bool = False) -> Iterator[str]:
    """Its address, while it is served."""
    # Here, since not everybody has what it needs.
    from auroral.ui.serving import served

    with served(fleet.deployed.folder, host, port, controls=controls) as found:
        yield found.address


def tell(fleet: Fleet, address: str, *, controls: bool = False) -> None:
    say(f"the page of {fleet.deployed.folder}: {address}")
    if controls:
        say(f"  its controls ask for the operator's token, which is in {fleet.deployed.folder / OPERATOR_TOKEN}")
    if not any(fleet.lives(name) for name in fleet.deployed.here):
        say(f"  nothing of it runs yet: auroral up --folder {fleet.deployed.folder}", sys.stderr)
    host = address.removeprefix("http://").partition("/")[0].rpartition(":")[0]
    if not Endpoint(host).loopback:
        say("  whoever sees this address, or what passes on the way, can see all rows that are shown", sys.stderr)
    say("Ctrl-C ends the page; the deployment goes on", sys.stderr)


def wait() -> None:
    """Until Ctrl-C."""
    try:
        while True:
            time.sleep(_NAP)
    except KeyboardInterrupt:
        return


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65_535:
        raise ArgumentTypeError(f"{text!r}; allowed are 1 to 65535")
    return int(text)
