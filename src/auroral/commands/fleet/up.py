"""`auroral up`: starts a deployment, or what of it is not running."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from auroral.commands.diagrams import load_deployment, load_one
from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json, add_master, parse_length, parse_output, parse_stime
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.engine.session import DEFAULT_MASTER
from auroral.loading import YAML, file_bytes
from auroral.model.checking import check
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet

NAME = "up"
SUMMARY = "start the processes of a deployment on this machine: sources, nodes with replicas, and a client"
EXAMPLE = """\
  auroral up deploy.xml --diagram netmon.py --folder runs/live
  auroral up deploy.yaml --diagram netmon.py
  auroral up --diagram netmon.py --replicas 2 --input packets=packets.csv@1x
  auroral up --folder runs/live"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "deployment",
        nargs="?",
        metavar="DEPLOY",
        help="which nodes run which queries, as XML or YAML; without it, all queries run on --replicas nodes",
    )
    parser.add_argument(
        "--diagram", metavar="FILE", help="what to run, as XML or Python; left out, what is in --folder"
    )
    parser.add_argument("--name", metavar="NAME", help="of the diagram, where the file has several")
    parser.add_argument("--stime", type=parse_stime, action="append", default=[], metavar="STREAM=FIELD[:UNIT]")
    parser.add_argument(
        "--input",
        type=parse_output,
        action="append",
        default=[],
        metavar="STREAM=HOW",
        help="a file, PATH or PATH@SPEED, or tcp:HOST:PORT for lines of JSON; left out, lines at a free port",
    )
    parser.add_argument("--replicas", type=int, default=2, metavar="N", help="nodes, where no DEPLOY is given (2)")
    parser.add_argument(
        "--bound",
        type=parse_length,
        metavar="TIME",
        help="how much later than without failures answers may come; left out, the lowest availability of an output",
    )
    add_folder(parser)
    add_master(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    fleet = fleet_of(args) if args.diagram is None else Fleet(_new(args))

    def progress(text: str) -> None:
        if not args.json:
            say(f"{text} ...", sys.stderr)

    fleet = fleet.up(progress)
    status = fleet.status()
    lines = {name: found["lines"] for name, found in status.items() if found and found.get("lines")}
    if args.json:
        say_json({"folder": str(fleet.deployed.folder), "processes": list(status), "lines": lines})
        return FINE
    say(f"running in {fleet.deployed.folder}: {', '.join(status)}")
    for name, where in lines.items():
        say(f"  {name} takes lines of JSON at {where}")
    say(f"watch it: auroral status --folder {args.folder}; end it: auroral down --folder {args.folder}")
    return FINE


def _new(args: Namespace) -> Deployed:
    if args.replicas < 1 or args.replicas > 26:
        raise WrongUse(f"--replicas: {args.replicas}; allowed: 1 to 26")
    if (args.master or "").startswith("sc://"):
        raise WrongUse(
            f"--master {args.master}: the nodes of a deployment share one Spark, which a Spark Connect server does not let them\n"
            "    allowed: local[N] or spark://host:port"
        )
    checked = check(load_one(args.diagram, args.stime, args.name, "--name {name}").diagram)
    text = None
    if args.deployment is not None:
        load_deployment(args.deployment)
        text = _utf8(args.deployment)
    bound = None if args.bound is None else args.bound / 1e6
    folder = Path(args.folder).absolute()
    return prepare(
        folder,
        checked,
        text,
        bound=bound,
        replicas=args.replicas,
        inputs=dict(args.input),
        master=args.master or DEFAULT_MASTER,
    )


def _utf8(file: str) -> str:
    """The folder keeps it as it is, and is read everywhere."""
    try:
        return file_bytes(file, (".xml", *YAML)).decode()
    except UnicodeDecodeError as error:
        raise WrongUse(f"{file}: {error}\n    allowed: UTF-8\n    next: save the file as UTF-8") from error
