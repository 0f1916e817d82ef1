"""`auroral new`: a folder with a diagram, a deployment, rows and a test that lets an input fail, to begin with."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.model.errors import AuroralError

NAME = "new"
SUMMARY = "make a folder with a diagram, a deployment, rows to try them with, and a test that lets an input fail"
EXAMPLE = """\
  auroral new shop
  auroral new work/shop"""

STARTER = Path(__file__).parents[1] / "starter"
CALLED = "my-project"
"""What the project is called in the files of the starter."""
FILES = ("README.md", ".gitignore", "diagram.py", "deploy.yaml", "test_diagram.py", "data/east.csv", "data/west.csv")
ALLOWED = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="the folder, which is new or empty; its last part names the diagram: a letter, then letters, digits, - and _",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    folder = Path(args.name)
    name = folder.resolve().name
    if not ALLOWED.fullmatch(name):
        raise WrongUse(
            f"{name!r} cannot be the name of a project\n"
            "    allowed: a letter, then letters a to z, digits, - and _, 64 in all\n    next: for example auroral new shop"
        )
    try:
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise WrongUse(
                f"{folder} is there already, and nothing in it is to be overwritten\n"
                "    allowed: a folder that is new or empty\n    next: another name, or remove it first"
            )
        for file in FILES:
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text((STARTER / file).read_text(encoding="utf-8").replace(CALLED, name), encoding="utf-8")
    except OSError as error:
        raise AuroralError(
            f"{folder} cannot be made: {error}\n    next: name a folder that can be written to, as in auroral new ~/{name}"
        ) from error
    if args.json:
        say_json({"folder": str(folder.absolute()), "name": name, "files": list(FILES)})
        return FINE
    say(f"made {folder}: {', '.join(FILES)}")
    say(f"next: cd {folder} && auroral run diagram.py --input east=data/east.csv --input west=data/west.csv")
    say("      README.md there has more: prove the result, test it under failures, start a deployment")
    return FINE
