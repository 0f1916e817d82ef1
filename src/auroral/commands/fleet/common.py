"""What the commands of a deployment have in common."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auroral.commands.terminal import FINE, say, say_json
from auroral.node.fleet.deployed import Deployed, agreed_in
from auroral.node.fleet.processes import Fleet
from auroral.node.storeddiagram import load_diagram

FOLDER = "auroral-deployment"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of something that was asked for: the exit code, in words, and for machines."""

    code: int
    words: str
    said: Mapping[str, Any]

    def tell(self, as_json: bool) -> int:
        if as_json:
            say_json(self.said, indent=None)
        else:
            say(self.words, sys.stdout if self.code == FINE else sys.stderr)
        return self.code


def add_folder(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=FOLDER,
        help=f"the deployment's folder ({FOLDER}). It holds a pickle, which can run any code: use only folders that you trust",
    )


def fleet_of(args: Namespace) -> Fleet:
    folder = Path(args.folder).absolute()
    # Before the pickle is loaded: a folder that has no deployment says so.
    agreed_in(folder)
    return Fleet(Deployed.look(folder, load_diagram(folder)))
