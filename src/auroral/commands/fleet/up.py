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
from auroral.loading import file_bytes
from auroral.model.checking import check
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.versions import keep_text

NAME = "up"
SUMMARY = "start the processes of a deployment on this machine: sources, nodes with replicas, and a client"
EXAMPLE = """\
  auroral up deploy.xml --diagram netmon.py --folder runs/live
  auroral up --diagram netmon.py --replicas 2 --input packets=packets.csv@1x
  auroral up --diagram netmon.py --input packets=http:127.0.0.1:8080
  auroral up --folder runs/live"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "deployment",
        nargs="?",
        metavar="DEPLOY",
        help="which nodes run which queries, as XML; without it, all queries run on --replicas nodes",
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
        help="how rows come in: tcp:HOST:PORT or tcp+csv:HOST:PORT, http:HOST:PORT, tail:FILE, FOLDER/, or what was recorded, PATH or "
        "PATH@SPEED; left out, lines of JSON at a free port",
    )
    parser.add_argument(
        "--output",
        type=parse_output,
        action="append",
        default=[],
        metavar="STREAM=SINK",
        help="where else an output goes: *.parquet (a folder), *.csv, *.jsonl, sqlite:FILE#TABLE or postgresql://HOST/DATABASE#TABLE; "
        "may be repeated",
    )
    parser.add_argument("--stable-only", action="store_true", help="tables of --output get no tentative rows")
    parser.add_argument(
        "--serve",
        metavar="HOST:PORT",
        help="where programs read the outputs (auroral.client); left out, a free port of this machine",
    )
    parser.add_argument("--replicas", type=int, default=2, metavar="N", help="nodes, where no DEPLOY is given (2)")
    parser.add_argument(
        "--bound",
        type=parse_length,
        metavar="TIME",
        help="how much later than without failures answers may come; left out, the lowest availability of an output",
    )
    parser.add_argument(
        "--catalog",
        default="",
        metavar="ADDRESS",
        help="postgresql://USER@HOST/DATABASE of the database that the catalog is in; left out, a file in the folder",
    )
    add_folder(parser)
    add_master(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    if args.diagram is None and (args.output or args.serve or args.stable_only):
        raise WrongUse(
            "--output, --stable-only and --serve are for a new deployment\n"
            f"    next: leave them out to go on with {args.folder}; or begin a new one with --diagram FILE"
        )
    fleet = fleet_of(args) if args.diagram is None else Fleet(_new(args))

    def progress(text: str) -> None:
        if not args.json:
            say(f"{text} ...", sys.stderr)

    with fleet.alone():
        fleet = fleet.up(progress)
    status = fleet.status()
    sources = {name: found for name, found in status.items() if found and found.get("takes")}
    if args.json:
        lines = {name: found["lines"] for name, found in sources.items() if found["lines"]}
        serves = fleet.deployed.agreed.serve
        say_json({"folder": str(fleet.deployed.folder), "processes": list(status), "lines": lines, "serves": serves})
        return FINE
    say(f"running in {fleet.deployed.folder}: {', '.join(status)}")
    for name, found in sources.items():
        say(f"  {name} takes {found['takes']}")
    say(
        f"  outputs can be read at {fleet.deployed.agreed.serve}, or from Python: auroral.client.connect({args.folder!r})"
    )
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
        text = file_bytes(args.deployment, (".xml",)).decode()
    bound = None if args.bound is None else args.bound / 1e6
    folder = Path(args.folder).absolute()
    deployed = prepare(
        folder,
        checked,
        text,
        bound=bound,
        replicas=args.replicas,
        inputs=dict(args.input),
        master=args.master or DEFAULT_MASTER,
        catalog=args.catalog,
        outputs=args.output,
        stable_only=args.stable_only,
        serve=args.serve,
    )
    if Path(args.diagram).suffix.lower() == ".xml":
        keep_text(folder, file_bytes(args.diagram, (".xml",)))
    return deployed
