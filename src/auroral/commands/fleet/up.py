"""`auroral up`: starts a deployment, or what of it is not running."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from auroral.commands.diagrams import load_deployment, load_one
from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.fleet.standardinput import hand_on, must_be_a_pipe, reading
from auroral.commands.fleet.ui import add_controls, must_be_installed, page, tell, wait
from auroral.commands.options import add_choices, add_json, add_master, chosen, parse_length, parse_output, parse_stime
from auroral.commands.terminal import FINE, WrongUse, say, say_json
from auroral.dpc.assembly import CLIENT
from auroral.engine.session import DEFAULT_MASTER
from auroral.loading import YAML, file_bytes
from auroral.model.checking import check
from auroral.model.deployment import SHARED, SPARKS, Endpoint, endpoint, spark
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.metrics.places import TARGETS, parse_metrics, places, with_metrics
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.structuredlog import FORMATS
from auroral.node.fleet.tracing import must_be_installed as need_opentelemetry
from auroral.node.fleet.tracing import parse_traces
from auroral.node.fleet.versions import keep_text

NAME = "up"
SUMMARY = "start the processes of a deployment on this machine: sources, nodes with replicas, and a client"
EXAMPLE = """\
  auroral up deploy.xml --diagram netmon.py --folder runs/live
  auroral up deploy.yaml --diagram netmon.py
  auroral up --diagram netmon.py --replicas 2 --input packets=packets.csv@1x
  auroral up --diagram netmon.py --input packets=http:127.0.0.1:8080
  tcpdump ... | auroral up --diagram netmon.py --input packets=-
  auroral up --folder runs/live
  auroral up --folder runs/live --ui
  auroral up --folder runs/live --metrics 9464
  auroral up --folder runs/live --log-format json --traces http://127.0.0.1:4318"""


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
        help="how rows come in: tcp:HOST:PORT or tcp+csv:HOST:PORT, http:HOST:PORT, tail:FILE, FOLDER/, what was recorded, PATH or "
        "PATH@SPEED, - for standard input (then this command goes on until that ends), or program (auroral.source); left out, lines of JSON at a free port",
    )
    parser.add_argument(
        "--output",
        type=parse_output,
        action="append",
        default=[],
        metavar="STREAM=SINK",
        help="where else an output goes: *.parquet (a folder), *.csv, *.jsonl, sqlite:FILE#TABLE or postgresql://HOST/DATABASE#TABLE, either with ?key=FIELD,... for changes of a table, or ?revised for rows that may be revised; "
        "may be repeated",
    )
    parser.add_argument("--stable-only", action="store_true", help="tables of --output get no tentative rows")
    parser.add_argument(
        "--serve",
        metavar="HOST:PORT",
        help="where programs read the outputs (auroral.client); left out, a free port of this machine",
    )
    parser.add_argument("--replicas", type=int, metavar="N", help="nodes, where no DEPLOY is given (2)")
    parser.add_argument(
        "--bound",
        type=parse_length,
        metavar="TIME",
        help="how much later than without failures answers may come, for all outputs; left out, the availability of each",
    )
    add_choices(parser)
    parser.add_argument(
        "--catalog",
        default="",
        metavar="ADDRESS",
        help="postgresql://USER@HOST/DATABASE of the database that the catalog is in; left out, a file in the folder",
    )
    parser.add_argument(
        "--spark",
        type=_spark,
        metavar="WHICH",
        help="what nodes compute with of which DEPLOY does not say it: shared, one Spark for all (shared); own, a Spark in the process of "
        "each, as --master says; or local[N] or spark://HOST:PORT for each",
    )
    parser.add_argument(
        "--tls",
        action="store_true",
        help="processes prove to one another who they are, by certificates made for this deployment alone, and encrypt what they say",
    )
    parser.add_argument(
        "--host",
        type=_host,
        metavar="ADDRESS",
        help="where other machines reach this one: nodes whose endpoints have this host run here, the others there (see auroral pack)",
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="without --tls, let nodes listen and outputs be served where other machines reach them: anybody there could speak for a node",
    )
    parser.add_argument(
        "--ui",
        action="store_true",
        help="then serve a page that shows it (see auroral ui), until Ctrl-C; the deployment goes on",
    )
    add_controls(parser)
    parser.add_argument(
        "--metrics",
        type=_metrics,
        metavar="[HOST:]PORT",
        help="where Prometheus asks the processes for their metrics, one at this port and the others at those behind it, of this machine alone "
        "where no HOST is given; off for nowhere. Also of a deployment that runs",
    )
    parser.add_argument(
        "--log-format",
        choices=FORMATS,
        help="json: processes that are started from now on also write what they say as lines of JSON, to logs/NAME.jsonl (text)",
    )
    parser.add_argument(
        "--traces",
        type=_traces,
        metavar="URL",
        help="processes that are started from now on send the way of each bucket there, as OpenTelemetry traces by OTLP over HTTP, as "
        "http://127.0.0.1:4318; off for nowhere. Needs auroral[otel]",
    )
    add_folder(parser)
    add_master(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    given = [stream for stream, how in args.input if how == "-"]
    if given:
        must_be_a_pipe()
    if args.controls and not args.ui:
        raise WrongUse("--controls: they are on the page\n    allowed: with --ui\n    next: auroral up --ui --controls")
    if args.ui:
        must_be_installed()
    if args.traces:
        need_opentelemetry()
    fleet = _known(args) if args.diagram is None else Fleet(_new(args))
    if args.log_format is not None or args.traces is not None:
        fleet = Fleet(fleet.deployed.agree_on(logs=args.log_format, traces=args.traces))
    if args.metrics is not None:
        fleet = Fleet(with_metrics(fleet.deployed, args.metrics))

    def progress(text: str) -> None:
        if not args.json:
            say(f"{text} ...", sys.stderr)

    with fleet.alone():
        fleet = fleet.up(progress)
    status = fleet.status()
    sources = {name: found for name, found in status.items() if found and found.get("takes")}
    if args.json:
        lines = {name: found["lines"] for name, found in sources.items() if found["lines"]}
        elsewhere = {name: fleet.deployed.where(name) for name in fleet.deployed.elsewhere}
        found = {"folder": str(fleet.deployed.folder), "processes": list(status), "lines": lines}
        found |= {"serves": fleet.deployed.agreed.serve} | ({"elsewhere": elsewhere} if elsewhere else {})
        found |= {"metrics": {name: f"http://{at}/metrics" for name, at in places(fleet.deployed).items()}}
    else:
        _told(fleet, args.folder, sources)
    with page(fleet, controls=args.controls) if args.ui else nullcontext() as address:
        if args.json:
            say_json(found | ({"page": address} if address else {}))
        elif address:
            tell(fleet, address, controls=args.controls)
        if given:
            return hand_on(fleet, given[0])
        if address:
            wait()
    return FINE


def _told(fleet: Fleet, folder: str, sources: Mapping[str, Mapping[str, Any]]) -> None:
    here = fleet.deployed.here
    say(f"running in {fleet.deployed.folder}: {', '.join(here)}")
    for name, source in sources.items():
        say(f"  {name} takes {source['takes']}")
    if CLIENT in here:
        where = fleet.deployed.agreed.serve
        say(f"  outputs can be read at {where}, or from Python: auroral.client.connect({folder!r})")
    if told := list(places(fleet.deployed).values()):
        say(
            f"  metrics are at http://{told[0]}/metrics and the ports behind it; for Prometheus: {fleet.deployed.folder / TARGETS}"
        )
    for name in fleet.deployed.elsewhere:
        packed = f": auroral pack {name} --folder {folder} --out {name}.tgz" if CLIENT in here else ""
        say(f"  {name} runs at {fleet.deployed.where(name)}{packed}")
    say(f"watch it: auroral status --folder {folder}; end it: auroral down --folder {folder}")


def _known(args: Namespace) -> Fleet:
    """What a deployment is was agreed on when it was new."""
    new = (
        *("deployment", "name", "stime", "output", "stable_only", "serve", "replicas", "bound"),
        *("keep", "while_failing", "while_correcting", "catalog", "spark", "tls", "host", "insecure", "master"),
    )
    given = ["DEPLOY" if one == "deployment" else f"--{one.replace('_', '-')}" for one in new if getattr(args, one)]
    if [how for _, how in args.input if how != "-"]:
        given.append("--input")
    if given:
        raise WrongUse(
            f"{', '.join(given)}: only of a new deployment\n    allowed: --folder alone, to go on with what is there\n"
            "    next: leave it out; or give --diagram and a new folder"
        )
    fleet = fleet_of(args)
    for stream, _ in args.input:
        if stream != reading(fleet.deployed):
            raise WrongUse(
                f"--input {stream}=-: this deployment does not take standard input for {stream!r}\n"
                f"    allowed: {reading(fleet.deployed) or 'none of its inputs'}\n    next: auroral status shows where rows are taken"
            )
    return fleet


def _new(args: Namespace) -> Deployed:
    replicas = 2 if args.replicas is None else args.replicas
    if replicas < 1 or replicas > 26:
        raise WrongUse(f"--replicas: {replicas}; allowed: 1 to 26")
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
    deployed = prepare(
        folder,
        checked,
        text,
        bound=bound,
        replicas=replicas,
        inputs=dict(args.input),
        master=args.master or DEFAULT_MASTER,
        catalog=args.catalog,
        outputs=args.output,
        stable_only=args.stable_only,
        serve=args.serve,
        spark=args.spark or SHARED,
        tls=args.tls,
        host=args.host,
        insecure=args.insecure,
        choices=chosen(args),
    )
    if Path(args.diagram).suffix.lower() == ".xml":
        keep_text(folder, file_bytes(args.diagram, (".xml",)))
    return deployed


def _host(text: str) -> str:
    try:
        found = endpoint(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; allowed: an address or a name, without a port") from error
    if not text.strip() or found.port != Endpoint().port or found.unspecified:
        raise ArgumentTypeError(f"{text!r}; allowed: an address or a name that others can call, without a port")
    return found.host


def _metrics(text: str) -> str:
    try:
        return parse_metrics(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _traces(text: str) -> str:
    try:
        return parse_traces(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _spark(text: str) -> str:
    try:
        return spark(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; allowed: {SPARKS}") from error


def _utf8(file: str) -> str:
    """The folder keeps it as it is, and is read everywhere."""
    try:
        return file_bytes(file, (".xml", *YAML)).decode()
    except UnicodeDecodeError as error:
        raise WrongUse(f"{file}: {error}\n    allowed: UTF-8\n    next: save the file as UTF-8") from error
