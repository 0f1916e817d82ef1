"""`auroral change`: the queries of a deployment get other boxes while it runs."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from auroral.commands.diagrams import load_one
from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, say
from auroral.dpc.assembly import CATALOG
from auroral.loading import file_bytes
from auroral.model.checking import Checked, check
from auroral.model.diagram import Diagram
from auroral.model.xml import read_diagram
from auroral.model.xml.update import is_update, read_update
from auroral.node.fleet.changing import change, decided, under_way
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.versions import Text, texts

NAME = "change"
SUMMARY = "let the queries of a running deployment have other boxes, each from a bucket on"
EXAMPLE = """\
  auroral change update.xml --folder runs/live
  auroral change netmon.py --folder runs/live
  auroral change --give-up count --folder runs/live"""
_EVERY = 0.5


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="XML with <modify> elements, or the whole diagram as it is to be, as XML or Python",
    )
    parser.add_argument("--name", metavar="NAME", help="of the diagram, where the file has several")
    parser.add_argument(
        "--give-up", metavar="QUERY", help="the change of this query that is under way is not wanted any more"
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until it is decided from when on it holds")
    add_folder(parser)


def run(args: Namespace) -> int:
    if (args.file is None) == (args.give_up is None):
        raise WrongUse("auroral change: FILE says what to change, and --give-up what not\n    allowed: one of them")
    fleet = fleet_of(args)
    if args.give_up is not None:
        fleet.ask(CATALOG, "give up", query=args.give_up, what="change")
        say(f"the change of {args.give_up} is given up")
        return FINE
    with fleet.alone():
        versions = change(fleet, *_wanted(fleet, args))
    if not versions:
        say("nothing differs from what runs")
    return max([_told(fleet, query, version, args.no_wait) for query, version in versions.items()], default=FINE)


def _wanted(fleet: Fleet, args: Namespace) -> tuple[Checked, Text | None]:
    if Path(args.file).suffix.lower() != ".xml":
        return check(_stamped(fleet, load_one(args.file, (), args.name, "--name {name}").diagram)), None
    text = file_bytes(args.file, (".xml",))
    update = is_update(text, args.file)
    if update:
        diagram = _updated(fleet, text, args.file)
    else:
        diagram = load_one(args.file, (), args.name, "--name {name}").diagram
    return check(_stamped(fleet, diagram)), Text(text, update)


def _stamped(fleet: Fleet, diagram: Diagram) -> Diagram:
    """What was said of stimes when it began still holds."""
    running = fleet.deployed.checked.diagram
    said = {given.stream: given.stamp for given in running.inputs}
    inputs = tuple(replace(given, stamp=said.get(given.stream, given.stamp)) for given in diagram.inputs)
    return replace(diagram, inputs=inputs, bucket=running.bucket)


def _updated(fleet: Fleet, text: bytes, file: str) -> Diagram:
    running = texts(fleet.deployed)
    if running is None:
        raise DeploymentError(
            f"{file} modifies boxes of an XML diagram, and what runs is from a Python program\n"
            "    allowed: the whole diagram as it is to be\n    next: auroral change DIAGRAM.py"
        )
    whole, earlier = running
    changes = [element for one in (*earlier, text) for element in read_update(one, file)]
    return read_diagram(whole, file, name=fleet.deployed.checked.diagram.name, changes=changes).diagram


def _told(fleet: Fleet, query: str, version: int, no_wait: bool) -> int:
    while (bucket := decided(fleet, query, version)) is None:
        if no_wait:
            say(f"{query}: the change is under way")
            return FINE
        if not under_way(fleet, query):
            say(f"{query}: the change was given up")
            return WRONG_INPUT
        time.sleep(_EVERY)
    begins = (fleet.deployed.first + bucket) * fleet.deployed.settings.bucket
    said = datetime.fromtimestamp(begins, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    say(f"{query}: version {version} holds from {said} UTC on")
    return FINE
