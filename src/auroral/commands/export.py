"""`auroral export`: a diagram or a deployment as a file, whatever it was written in."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from auroral.commands.diagrams import load_one, must_be_used, read_source
from auroral.commands.options import add_diagram, add_json, add_stime
from auroral.commands.terminal import FINE, WrongUse, say, say_json, say_problems
from auroral.loading import YAML, file_bytes, stamps_of
from auroral.model.deployment import Deployment
from auroral.model.diagram import Diagram
from auroral.model.errors import AuroralError, DiagramError, Problem
from auroral.model.tables import Table
from auroral.model.xml import Loaded, read_diagram, write_deployment, write_diagram
from auroral.model.xml.update import Update, is_update, read_update
from auroral.model.xml.write_deployment import refuse_sparks
from auroral.model.yaml import write_deployment as write_yaml_deployment

NAME = "export"
SUMMARY = "write a diagram as Borealis XML, or a deployment as XML or YAML, so that reading it gives the same again"
EXAMPLE = """\
  auroral export examples/netmon.py --out netmon.xml
  auroral export examples/grid.xml update.xml --out changed.xml
  auroral export examples/grid-deploy.xml --out grid-deploy.yaml"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a diagram, as XML or as a Python file that defines it, which is executed; or a deployment, as XML or YAML",
    )
    parser.add_argument(
        "updates", metavar="UPDATE.xml", nargs="*", help="update files, whose changes are made in an XML diagram before"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="a new file: *.xml, or *.yaml for a deployment; without it, XML goes to standard output",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="only what Borealis itself can read: what needs words of Auroral's is an error",
    )
    add_stime(parser)
    add_diagram(parser)
    add_json(parser, "print JSON, for machines: where it was written, or the text")


def run(args: Namespace) -> int:
    out = None if args.out is None else Path(args.out)
    as_yaml = out is not None and out.suffix.lower() in YAML
    source = read_source(args.file, args.stime)
    if source.deployment is not None:
        if args.updates or args.stime or args.diagram:
            raise WrongUse(
                f"{args.file} is a deployment\n    allowed: update files, --stime and --diagram with diagrams\n"
                "    next: leave them out"
            )
        return _written(_deployment(source.deployment, as_yaml, args.strict), out, args.json)
    if as_yaml:
        raise WrongUse(
            f"{args.out}: a diagram cannot be YAML\n    allowed: *.xml for diagrams\n"
            f"    next: --out {out.with_suffix('.xml') if out else ''}"
        )
    loaded = _changed(args) if args.updates else load_one(args.file, args.stime, args.diagram)
    say_problems("warning", loaded.warnings, sys.stderr)
    diagram = loaded.diagram if out is None else _with_files_from(loaded.diagram, Path(args.file).parent, out.parent)
    return _written(write_diagram(diagram, args.out, strict=args.strict), out, args.json)


def _with_files_from(diagram: Diagram, old: Path, new: Path) -> Diagram:
    """The diagram for a file in another folder: files of contents are named from that on."""
    queries = tuple(
        replace(query, tables=tuple(_named_from(table, old, new) for table in query.tables))
        for query in diagram.queries
    )
    return replace(diagram, queries=queries)


def _named_from(table: Table, old: Path, new: Path) -> Table:
    file = table.contents_file
    if file is None or Path(file).is_absolute() or old.resolve() == new.resolve():
        return table
    found = os.path.relpath(old.resolve() / file, new.resolve())
    return replace(table, parameters=tuple((n, found if n == "contents" else value) for n, value in table.parameters))


def _deployment(deployment: Deployment, as_yaml: bool, strict: bool) -> str:
    if not as_yaml:
        return write_deployment(deployment, strict=strict)
    if strict:
        refuse_sparks(deployment)
    return write_yaml_deployment(deployment)


def _changed(args: Namespace) -> Loaded:
    """The diagram after all updates; what is wrong with it then is said as of any file."""
    whole = file_bytes(args.file, (".xml",))
    updates = [_update(file) for file in args.updates]
    for update in updates:
        say_problems("warning", update.warnings, sys.stderr)
        if update.moves:
            left_out = Problem("a <move> is not written: it is about a deployment that runs, not about the diagram")
            say_problems("warning", [left_out], sys.stderr)
    changes = [edit for update in updates for edit in update.edits]
    if Path(args.file).suffix.lower() == ".py":
        raise WrongUse(
            f"{args.file} is a Python program, and update files change XML\n"
            "    allowed: update files with an XML diagram\n    next: export the program first, without them"
        )
    found = read_diagram(whole, args.file, changes=changes)
    stamps = stamps_of(found.diagram, args.stime)
    must_be_used(args.stime, [read_source(args.file)])
    return read_diagram(whole, args.file, changes=changes, stamps=stamps) if stamps else found


def _update(file: str) -> Update:
    text = file_bytes(file, (".xml",))
    if not is_update(text, file):
        raise DiagramError(
            [
                Problem(
                    f"{file} is no update file",
                    allowed="XML with <modify>, <connect>, <disconnect>, <delete>, and no inputs",
                    next_step="name the diagram first, and update files behind it",
                )
            ]
        )
    return read_update(text, file)


def _written(text: str, out: Path | None, as_json: bool) -> int:
    if out is None and as_json:
        say_json({"written": None, "text": text})
        return FINE
    if out is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return FINE
    try:
        # Another program may make the file just now: only the one that makes it may write it.
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise AuroralError(
            f"{out} is there already\n    allowed: the name of a new file\n    next: choose another, or remove it"
        ) from None
    except OSError as error:
        raise AuroralError(
            f"{out} cannot be written: {error.strerror or error}\n    allowed: a file in a folder that you may write to\n"
            "    next: choose another name"
        ) from error
    if as_json:
        say_json({"written": str(out), "text": None})
    else:
        say(f"wrote {out}")
    return FINE
