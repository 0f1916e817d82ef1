"""`auroral change`: the queries of a deployment get other boxes while it runs."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from auroral.commands.diagrams import load_one
from auroral.commands.fleet.common import Outcome, add_folder, fleet_of
from auroral.commands.fleet.move import moved
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, say_json, say_problems
from auroral.dpc.assembly import CATALOG
from auroral.loading import file_bytes
from auroral.model.errors import unknown_name
from auroral.model.xml.update import Move, is_update, read_update
from auroral.node.fleet.changing import change, decided, plan, under_way
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.moving import called, catalog_of
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.updating import Wanted, as_running, updated
from auroral.node.fleet.versions import Text

NAME = "change"
SUMMARY = "let the queries of a running deployment have other boxes, each from a bucket on"
EXAMPLE = """\
  auroral change update.xml --folder runs/live
  auroral change netmon.py --folder runs/live
  auroral change update.xml --check --folder runs/live
  auroral change --give-up count --folder runs/live"""
_EVERY = 0.5


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="XML with <modify>, <connect>, <disconnect>, <delete>, <move> and boxes that come, or the whole diagram as it is to be, as XML or "
        "Python",
    )
    parser.add_argument("--name", metavar="NAME", help="of the diagram, where the file has several")
    parser.add_argument(
        "--give-up", metavar="QUERY", help="the change of this query that is under way is not wanted any more"
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until it is decided from when on it holds")
    parser.add_argument(
        "--check", action="store_true", help="say what would be changed, or why it cannot be, and change nothing"
    )
    add_folder(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    if (args.file is None) == (args.give_up is None):
        raise WrongUse("auroral change: FILE says what to change, and --give-up what not\n    allowed: one of them")
    fleet = fleet_of(args)
    if args.give_up is not None:
        fleet.ask(CATALOG, "give up", query=called(fleet.deployed, args.give_up), what="change")
        return _all_told(
            [Outcome(FINE, f"the change of {args.give_up} is given up", {"query": args.give_up, "given_up": True})],
            args,
        )
    text = file_bytes(args.file, (".xml",)) if Path(args.file).suffix.lower() == ".xml" else None
    if text is not None and is_update(text, args.file):
        return _all_told(_update(fleet, text, args), args)
    diagram = load_one(args.file, (), args.name, "--name {name}").diagram
    wanted = as_running(fleet.deployed, diagram, None if text is None else Text(text))
    return _all_told(_changed(fleet, wanted, args), args)


def _all_told(outcomes: Iterator[Outcome] | list[Outcome], args: Namespace) -> int:
    """Each in words when it is known; for machines, all of them at the end."""
    codes, said = [FINE], []
    try:
        for one in outcomes:
            codes.append(one.code if args.json else one.tell(False))
            said.append(one.said)
    finally:
        # What is decided stays so, also where the next one fails.
        if args.json:
            say_json({"outcomes": said})
    return max(codes)


def _update(fleet: Fleet, text: bytes, args: Namespace) -> Iterator[Outcome]:
    update = read_update(text, args.file)
    say_problems("warning", update.warnings, sys.stderr)
    # Whatever of it cannot be is said before anything is changed.
    queries = [_query(fleet, one, args.file) for one in update.moves]
    if update.edits:
        yield from _changed(fleet, updated(fleet.deployed, text, args.file), args)
    if args.check:
        return
    for query, one in zip(queries, update.moves, strict=True):
        yield moved(fleet, query, one.node, one.leaves, args.no_wait)


def _query(fleet: Fleet, one: Move, file: str) -> str:
    """That moves, by what the deployment calls it."""
    fragments = fleet.deployed.fragments.all
    having = {box.name: fragment.name for fragment in fragments for box in fragment.checked.diagram.boxes}
    if one.box is None:
        return called(fleet.deployed, one.query or "")
    if one.box not in having:
        raise DeploymentError(f"{file}: {unknown_name('box', one.box, sorted(having))}")
    return having[one.box]


def _changed(fleet: Fleet, wanted: Wanted, args: Namespace) -> Iterator[Outcome]:
    if args.check:
        versions = plan(fleet, wanted.checked).versions
    else:
        with fleet.alone():
            versions = change(fleet, wanted.checked, wanted.text)
    if not versions:
        yield Outcome(FINE, "nothing differs from what runs", {"changed": False})
    for query, version in versions.items():
        if args.check:
            said = f"{query}: would become version {version}; nothing is changed"
            yield Outcome(FINE, said, {"query": query, "version": version, "changed": False})
        else:
            yield _told(fleet, query, version, args.no_wait)


def _told(fleet: Fleet, query: str, version: int, no_wait: bool) -> Outcome:
    asked = {"query": query, "version": version}
    # One look answers both questions: between two, what was under way may be decided, and would seem to be given up.
    while (bucket := decided(found := catalog_of(fleet), query, version)) is None:
        if no_wait:
            return Outcome(FINE, f"{query}: the change is under way", {**asked, "changed": None})
        if not under_way(found, query):
            return Outcome(WRONG_INPUT, f"{query}: the change was given up", {**asked, "changed": False})
        time.sleep(_EVERY)
    begins = (fleet.deployed.first + bucket) * fleet.deployed.settings.bucket
    said = datetime.fromtimestamp(begins, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    words = f"{query}: version {version} holds from {said} UTC on"
    return Outcome(FINE, words, {**asked, "changed": True, "bucket": bucket, "holds_from": begins})
