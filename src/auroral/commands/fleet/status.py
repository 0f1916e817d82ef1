"""`auroral status`: who runs, in which state, how far, and how late."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, columns, say, say_json
from auroral.node.fleet.metrics.collecting import source_state
from auroral.node.fleet.processes import Fleet

NAME = "status"
SUMMARY = "show the processes of a deployment: states, frontiers, lag, tentative buckets, memory"
EXAMPLE = """\
  auroral status --folder runs/live
  auroral status --folder runs/live --watch
  auroral status --folder runs/live --json"""
_EVERY = 1.0


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--watch", action="store_true", help="again every second, until Ctrl-C")
    add_folder(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    fleet = fleet_of(args)
    while True:
        status = fleet.status()
        if args.json:
            say_json(status, indent=None if args.watch else 2)
        else:
            say("\033[2J\033[H" + table(fleet, status) if args.watch else table(fleet, status))
        if not args.watch:
            return FINE
        time.sleep(_EVERY)


def table(fleet: Fleet, status: dict[str, dict[str, Any] | None]) -> str:
    settings, first = fleet.deployed.settings, fleet.deployed.agreed.first
    now = 0 if first is None else int(time.time() / settings.bucket) - first
    if fleet.deployed.agreed.origin is not None:
        # What was recorded has a present of its own.
        now = max([found["closed"] for found in status.values() if found and "closed" in found], default=0)
    rows = [("process", "stream", "state", "stable to", "behind", "tentative", "memory")]
    for name, found in status.items():
        if found is None:
            rows.append((name, "", "DOWN", "", "", "", ""))
            continue
        memory = f"{found['rss'] / 2**20:.0f} MB" if found.get("rss") else ""
        lines = list(_lines(found, now, settings.bucket))
        for number, (stream, state, frontier, behind, tentative) in enumerate(lines or [("", "up", "", "", "")]):
            rows.append(
                (name if number == 0 else "", stream, state, frontier, behind, tentative, memory if number == 0 else "")
            )
    for name in fleet.deployed.elsewhere:
        rows.append((name, "", f"at {fleet.deployed.where(name)}", "", "", "", ""))
    return columns(rows) + _left_out(status) + _summary(status, fleet.deployed.agreed.bounds)


def _lines(found: dict[str, Any], now: int, bucket: float) -> list[tuple[str, str, str, str, str]]:
    def behind(frontier: int) -> str:
        return f"{max(0, now - frontier) * bucket:.1f} s"

    match found.get("kind"):
        case "source" if "closed" in found:
            return [("", source_state(found), str(found["closed"]), behind(found["closed"]), "")]
        case "node":
            return [
                (stream, one["state"], str(one["frontier"]), behind(one["frontier"]), str(one["tentative"] or ""))
                for stream, one in found["outputs"].items()
            ] + [(core.rpartition("@")[0], "cannot start", "", "", "") for core in found["not_started"]]
        case "client":
            return [
                (
                    stream,
                    "",
                    str(one.get("frontier", "")),
                    behind(one.get("frontier", 0)),
                    str(one.get("tentative_now") or ""),
                )
                for stream, one in found["streams"].items()
            ] + [_sink(one, bucket) for one in found["sinks"]]
        case "catalog" if found.get("moving") or found.get("changing"):
            does = f"moves {found['moving']}" if found["moving"] else f"changes {found['changing']}"
            return [("", does, "", "", "")]
        case _:
            return []


def _left_out(status: dict[str, dict[str, Any] | None]) -> str:
    """Rows of inputs that did not go the ordinary way."""
    ledgers = {name: found["ledger"] for name, found in status.items() if found and found.get("ledger")}
    return "".join(
        f"\n  rows of {name}: {', '.join(f'{count} {reason}' for reason, count in ledger.items())}"
        for name, ledger in ledgers.items()
    )


def _sink(one: dict[str, Any], bucket: float) -> tuple[str, str, str, str, str]:
    state = "up" if one["failing"] is None else "failing"
    return (f"{one['stream']} to {one['sink']}", state, "", f"{one['behind'] * bucket:.1f} s", "")


def _summary(status: dict[str, dict[str, Any] | None], bounds: Mapping[str, float]) -> str:
    client = next((found for found in status.values() if found and found.get("kind") == "client"), None)
    if client is None:
        return ""
    delays = [
        f"\n  {stream}: Delay_new at most {client['streams'].get(stream, {}).get('delay_new', 0.0):.2f} s, X = {bound:g} s"
        for stream, bound in bounds.items()
    ]
    counts = client["counts"]
    failing = [one for one in client["sinks"] if one["failing"] is not None]
    told = "".join(f"\n  {one['sink']} fails, and is tried again: {one['failing'].splitlines()[0]}" for one in failing)
    told += "".join(
        f"\n  {stream}: {count} tentative buckets could not be kept for readers"
        for stream, one in client["streams"].items()
        if (count := one.get("tentative_let_go"))
    )
    told += "".join(
        f"\n  {core} cannot be started, and is tried again: {why.splitlines()[0]}"
        for found in status.values()
        for core, why in (found or {}).get("not_started", {}).items()
    )
    told += "".join(
        f"\n  {stream} of {name} waits for {one['waits_for']}"
        for name, found in status.items()
        for stream, one in (found or {}).get("outputs", {}).items()
        if one.get("waits_for")
    )
    return (
        "".join(delays) + told + f"\n  buckets: {counts['stable']} stable at once, "
        f"{counts['tentative']} tentative, {counts['confirmed']} confirmed, {counts['corrected']} corrected"
    )
