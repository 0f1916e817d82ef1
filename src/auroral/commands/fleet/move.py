"""`auroral move`: a query goes to another node while the deployment runs."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, say
from auroral.dpc.assembly import CATALOG
from auroral.node.fleet.moving import called, catalog_of, move, under_way
from auroral.node.fleet.processes import Fleet

NAME = "move"
SUMMARY = "move a replica of a query to another node, or to a new one, while the deployment runs"
EXAMPLE = """\
  auroral move count nc --from na --folder runs/live
  auroral move count --give-up --folder runs/live"""
_EVERY = 0.5


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("node", metavar="NODE", nargs="?", help="where to; a name that is not known is a new node")
    parser.add_argument(
        "--from", dest="leaves", metavar="NODE", help="which of several replicas; left out, the one that is down"
    )
    parser.add_argument(
        "--give-up", action="store_true", help="the move of the query that is under way is not wanted any more"
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until it is there")
    add_folder(parser)


def run(args: Namespace) -> int:
    if (args.node is None) != args.give_up:
        raise WrongUse(
            "auroral move: NODE says where to, and --give-up that nothing is to be moved\n    allowed: one of them"
        )
    fleet = fleet_of(args)
    if args.give_up:
        fleet.ask(CATALOG, "give up", query=called(fleet.deployed, args.query), what="move")
        say(f"the move of {args.query} is given up; auroral status shows who runs what")
        return FINE
    return moved(fleet, args.query, args.node, args.leaves, args.no_wait)


def moved(fleet: Fleet, query: str, node: str, leaves: str | None, no_wait: bool) -> int:
    """Tell what becomes of it, and give the exit code."""
    query = called(fleet.deployed, query)
    with fleet.alone():
        fleet = move(fleet, query, node, leaves, lambda text: say(f"{text} ...", sys.stderr))
    if no_wait:
        say(f"{query} is on its way to {node}")
        return FINE
    told = None
    while (waits := under_way(fleet, query, node)) is not None:
        if waits != told:
            say(f"moving: {waits} ...", sys.stderr)
            told = waits
        time.sleep(_EVERY)
    members = catalog_of(fleet)["members"][query]
    if f"{query}@{node}" not in members:
        say(f"the move was given up: {query} runs on {', '.join(members)}", sys.stderr)
        return WRONG_INPUT
    say(f"{query} runs on {', '.join(members)}")
    return FINE
