"""`auroral down`: ends the processes of a deployment."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, say, say_json

NAME = "down"
SUMMARY = "end the processes of a deployment; `auroral up --folder DIR` goes on with it"
EXAMPLE = """\
  auroral down --folder runs/live"""


def configure(parser: ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    fleet = fleet_of(args)
    with fleet.alone():
        ended = fleet.down(lambda text: None if args.json else say(f"{text} ...", sys.stderr))
    if args.json:
        say_json({"ended": ended})
    else:
        say(f"ended: {', '.join(ended)}" if ended else "nothing was running")
    return FINE
