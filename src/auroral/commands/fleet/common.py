"""What the commands of a deployment have in common."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from auroral.node.fleet.deployed import Deployed, agreed_in
from auroral.node.fleet.processes import Fleet
from auroral.node.storeddiagram import load_diagram

FOLDER = "auroral-deployment"


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
