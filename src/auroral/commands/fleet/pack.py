"""`auroral pack`: what nodes on another machine need, as one file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, say, say_json
from auroral.node.fleet.packing import pack

NAME = "pack"
SUMMARY = "put what nodes on another machine need into one file; there, unpack it and call auroral up"
EXAMPLE = """\
  auroral pack backa backb --folder runs/live --out back.tgz"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("nodes", nargs="+", metavar="NODE", help="nodes that run together on one other machine")
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="a new file. It may have keys: only its owner can read it"
    )
    add_folder(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    deployed = fleet_of(args).deployed
    pack(deployed, tuple(dict.fromkeys(args.nodes)), Path(args.out))
    if args.json:
        say_json({"file": args.out, "nodes": {name: deployed.where(name) for name in args.nodes}})
        return FINE
    there = ", ".join(deployed.where(name) for name in args.nodes)
    say(
        f"{', '.join(args.nodes)} in {args.out}; at {there}:\n"
        f"  mkdir live && tar -xzf {Path(args.out).name} -C live && auroral up --folder live"
    )
    return FINE
