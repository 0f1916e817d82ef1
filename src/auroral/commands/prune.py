"""`auroral prune`: frees the disk of logged rows that were verified and that nothing still to come reads."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, say, say_json

NAME = "prune"
SUMMARY = "remove logged rows that were verified and are no longer needed; starts no Spark"
EXAMPLE = """\
  auroral prune runs/netmon
  auroral prune runs/netmon --json"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="RUN_FOLDER",
        help="the folder of a run that `auroral verify` found equal and that no process runs. Outputs stay. It holds a "
        "pickle, which can run any code: prune only folders that you trust",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    from auroral.app import prune

    pruned = prune(args.folder)
    if args.json:
        say_json(
            {
                "folder": args.folder,
                "below": pruned.below,
                "verified": pruned.verified,
                "rows": pruned.rows,
                "freed": pruned.freed,
                "inputs": {stream: asdict(removed) for stream, removed in pruned.inputs.items()},
                "states": pruned.states,
            }
        )
        return FINE
    verified = f"the run is verified up to stime {pruned.verified}"
    if not pruned.rows and not pruned.freed:
        say(
            f"nothing was removed; {verified}, and rows from stime {pruned.below} on are still needed: rows go in the "
            "batches in which they were logged, and none is left that lies before that as a whole"
        )
        return FINE
    for stream, removed in pruned.inputs.items():
        say(f"input {stream}: {removed.rows:,} rows removed, {_size(removed.bytes)} freed")
    say(f"fold states: {_size(pruned.states)} freed")
    say(f"pruned: {pruned.rows:,} rows from before stime {pruned.below}, {_size(pruned.freed)} freed; {verified}")
    say(f"next: auroral verify {args.folder} compares what is new from there on")
    return FINE


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
