"""`auroral demo`: a deployment that loses an input and a node before the eyes of whoever watches, recovers, and is proved right."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auroral.commands.fleet.ui import must_be_installed, page
from auroral.commands.interrupts import noted
from auroral.commands.options import add_json, seconds_within
from auroral.commands.spark import must_have_java
from auroral.commands.terminal import FINE, WRONG_INPUT, say, say_json
from auroral.model.errors import AuroralError

NAME = "demo"
SUMMARY = "watch a deployment lose an input and a node, keep answering, correct itself, and be proved right"
EXAMPLE = """\
  auroral demo
  auroral demo --seconds 30 --json"""
EVERY = 1.0


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=seconds_within(20, 86_400), default=55.0, metavar="N", help="how long traffic flows (55)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the traffic (1)")
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help="where the deployment is kept; if left out, in a temporary folder that goes with it",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    # Here, since building the parser must not load all of this.
    from auroral.demo import INTRODUCTION, deploy
    from auroral.node.fleet.processes import Fleet

    must_have_java(None)
    # A Java that lives for a minute and a half does not live to see its own optimisations.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
    if not args.json:
        say(INTRODUCTION)
    with tempfile.TemporaryDirectory(prefix="auroral-demo-", ignore_cleanup_errors=True) as scratch, noted() as asked:
        fleet = Fleet(deploy(Path(args.folder or scratch).absolute()))
        try:
            began = time.monotonic()
            fleet = fleet.up(lambda _: None)
            if args.json:
                return _shown(args, fleet, asked.stop)
            with _page(fleet) as address:
                say(f"all of them run, after {time.monotonic() - began:.0f} s")
                say(f"in the browser: {address}\n" if address else "")
                return _shown(args, fleet, asked.stop)
        finally:
            fleet.down(lambda _: None)


@contextmanager
def _page(fleet: Any) -> Iterator[str | None]:
    """That shows it too, where that can be: a demonstration goes on without. It asks nothing of the deployment until somebody opens it."""
    try:
        must_be_installed()
    except AuroralError:
        yield None
        return
    with page(fleet) as address:
        yield address


def _shown(args: Namespace, fleet: Any, stop: Any) -> int:
    from auroral.app import verify
    from auroral.demo import happening, settled
    from auroral.node.fleet.deployed import SPARK

    with _display(args, fleet) as show:
        for gone, said in happening(fleet, args.seconds, args.seed, stop):
            show(gone, said)
        show(args.seconds, "no more traffic; what is tentative is being corrected")
        done = False
        for stable in settled(fleet):
            done = stable
            show(args.seconds, None)
    status = fleet.status()
    client = status["client"] or {}
    dead = [name for name, found in status.items() if found is None]
    fleet.down(lambda _: None, but=(SPARK,))
    report = verify(fleet.deployed.folder, fleet.session())
    judged = _judged(client, fleet.deployed.settings.bound, done)
    judged.append((f"all processes run at the end{': but ' + ', '.join(dead) if dead else ''}", not dead))
    ok = report.ok and all(holds for _, holds in judged)
    if args.json:
        found = {"event": "end", "ok": ok, "client": client, "verify": report.to_json()}
        say_json({**found, "judged": [{"what": what, "holds": holds} for what, holds in judged]}, indent=None)
    else:
        say(f"\nNow the same records in one plain batch run:\n{report.text}\n")
        say("\n".join(f"{'holds' if holds else 'DOES NOT HOLD'}: {what}" for what, holds in judged))
        if not judged[0][1]:
            # The bound is kept by a machine that has time for it: who runs this beside other work should know.
            say(
                f"    the load of this machine is {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores\n    next: try again when it is idle"
            )
        say(f"\nits folder: {fleet.deployed.folder}" if args.folder else "\nto keep it: auroral demo --folder DIR")
    return FINE if ok else WRONG_INPUT


def _judged(client: dict[str, Any], bound: float, done: bool) -> list[tuple[str, bool]]:
    counts = client.get("counts", {})
    streams = list(client.get("streams", {}).values())
    delay = max((one.get("delay_new", 0.0) for one in streams), default=0.0)
    left = sum(one.get("tentative_now", 0) for one in streams)
    missed = sum(one.get("missed", 0) for one in streams)
    tentative = sum(one.get("tentative_buckets", 0) for one in streams)
    mended = counts.get("corrected", 0) + counts.get("confirmed", 0)
    return [
        (f"the largest delay of a new answer was {delay:.2f} s, below X = {bound:g} s", 0 < delay < bound),
        (f"{tentative} buckets were answered tentatively while lima was away", tentative > 0),
        (
            f"all of them were mended: {counts.get('corrected', 0)} buckets corrected, {counts.get('confirmed', 0)} confirmed, "
            f"{left} left",
            mended > 0 and left == 0,
        ),
        (f"no bucket was lost ({missed}), and all that was closed became stable", missed == 0 and done),
    ]


@contextmanager
def _display(args: Namespace, fleet: Any) -> Iterator[Any]:
    """A live table on a terminal; a line a second elsewhere; JSON lines for machines."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from auroral.commands.fleet.status import table

    live = Live(auto_refresh=False) if sys.stdout.isatty() and not args.json else None
    shown, number, last = -EVERY, 0, list[str]()

    def show(gone: float, said: str | None) -> None:
        nonlocal shown, number
        if said is not None:
            if args.json:
                say_json({"event": "note", "seconds": round(gone, 2), "text": said}, indent=None)
            elif live is not None:
                live.console.print(f"[bold]{gone:5.1f} s  {said}[/bold]")
            else:
                say(f"{gone:5.1f} s  --- {said}")
        if time.monotonic() - shown < EVERY and said is None:
            return
        shown = time.monotonic()
        status = fleet.status()
        new = [] if status["client"] is None else fleet.ask("client", "tail", since=number)
        number = new[-1]["number"] if new else number
        last.extend(map(_delivered, new))
        del last[:-6]
        if args.json:
            say_json({"event": "status", "seconds": round(gone, 2), "status": status, "new": new}, indent=None)
        elif live is not None:
            live.update(
                Group(Text(f"{gone:5.1f} s"), Text(table(fleet, status)), *map(Text.from_ansi, last)), refresh=True
            )
        else:
            say(f"{gone:5.1f} s  {_line(status)}")
            for one in map(_delivered, new):
                say(f"         {one}")

    if live is None:
        yield show
    else:
        with live:
            yield show


def _line(status: dict[str, Any]) -> str:
    states = []
    for name, found in status.items():
        if found is None:
            states.append(f"{name} DOWN")
        elif found.get("kind") == "node":
            states += [f"{name} {one['state']}" for one in found["outputs"].values()]
    streams = (status["client"] or {"streams": {}})["streams"].values()
    delay = max((one.get("delay_new", 0.0) for one in streams), default=0.0)
    return f"{', '.join(states)}; Delay_new at most {delay:.2f} s"


def _delivered(one: dict[str, Any]) -> str:
    alerts = ", ".join(f"{row['src']} ({row['connections']} to {row['ports']} ports)" for row in one["rows"])
    return f"alerts of second {one['bucket']}: {one['kind']:9} {alerts or 'none'}"
