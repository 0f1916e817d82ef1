"""`auroral catalog`: what the catalog of a deployment has, also when nothing runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path

from auroral.commands.fleet.common import add_folder
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, columns, say, say_json
from auroral.node.fleet.catalog import catalog_in

NAME = "catalog"
SUMMARY = "show what the catalog of a deployment has: where processes are, their states, what was moved and changed"
EXAMPLE = """\
  auroral catalog --folder runs/live
  auroral catalog --folder runs/live --json"""


def configure(parser: ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    folder = Path(args.folder).absolute()
    catalog = catalog_in(folder)
    try:
        found = catalog.everything()
    finally:
        catalog.close()
    if args.json:
        say_json(found, indent=2)
        return FINE
    locations = {row["process"]: row["endpoint"] for row in found["locations"]}
    rows = [("process", "stream", "state", "since", "reached at")]
    for row in sorted(found["states"], key=lambda row: (row["process"], row["stream"])):
        rows.append((row["process"], row["stream"], row["state"], _when(row["at"]), locations.get(row["process"], "")))
    say(columns(rows))
    # Changes of states are in --json; auroral events has them too.
    done = [row for row in found["history"] if row["what"] != "state"]
    say("moved and changed:" if done else "nothing was moved or changed")
    for row in done[-20:]:
        say(f"  {_when(row['at'])}  {row['what']}  {row['detail']}")
    return FINE


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
