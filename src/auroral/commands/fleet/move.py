"""`auroral move`: a query goes to another node while the deployment runs."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from auroral.commands.fleet.common import Outcome, add_folder, fleet_of
from auroral.commands.options import add_json
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
    add_json(parser)


def run(args: Namespace) -> int:
    if (args.node is None) != args.give_up:
        raise WrongUse(
            "auroral move: NODE says where to, and --give-up that nothing is to be moved\n    allowed: one of them"
        )
    fleet = fleet_of(args)
    if args.give_up:
        fleet.ask(CATALOG, "give up", query=called(fleet.deployed, args.query), what="move")
        words = f"the move of {args.query} is given up; auroral status shows who runs what"
        return Outcome(FINE, words, {"query": args.query, "given_up": True}).tell(args.json)
    return moved(fleet, args.query, args.node, args.leaves, args.no_wait).tell(args.json)


def moved(fleet: Fleet, query: str, node: str, leaves: str | None, no_wait: bool) -> Outcome:
    """What becomes of it."""
    query = called(fleet.deployed, query)
    with fleet.alone():
        fleet = move(fleet, query, node, leaves, lambda text: say(f"{text} ...", sys.stderr))
    if no_wait:
        return Outcome(FINE, f"{query} is on its way to {node}", {"query": query, "to": node, "moved": None})
    told = None
    while (waits := under_way(fleet, query, node)) is not None:
        if waits != told:
            say(f"moving: {waits} ...", sys.stderr)
            told = waits
        time.sleep(_EVERY)
    members = catalog_of(fleet)["members"][query]
    if f"{query}@{node}" not in members:
        words = f"the move was given up: {query} runs on {', '.join(members)}"
        return Outcome(WRONG_INPUT, words, {"query": query, "to": node, "moved": False, "members": list(members)})
    said = {"query": query, "to": node, "moved": True, "members": list(members)}
    return Outcome(FINE, f"{query} runs on {', '.join(members)}", said)
