"""The highest rate that two queries with two replicas each hold, on this machine: X = 5 s, buckets of 1 s, one Spark for all.

Once results come no faster than before, the rate is raised by half every 30 s, until new results are later than X, tentative or behind; the
highest rate that held is then held for five minutes, and three times as much is tried for one: what happens, and whether anything is lost.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from auroral.app import verify
from auroral.dpc.settings import Choices
from auroral.node.fleet.processes import Fleet
from bench.deployments import SITES, Deliveries, Senders, client, diagram, running, until

FIRST, MOST, GROWTH = 3_000, 100_000, 1.5
"""Rows a second at each of the three sites."""
TOO_MUCH = 3
TRIAL, LONG, ABOVE = 30.0, 300.0, 60.0
BOUND = 5.0
KEEP = 60.0
"""Seconds of a stream that are kept for who is behind: then senders are held up."""
BEHIND = 3.0
"""Seconds by which stable results may be behind the sources at the end, and a sender behind its rate."""


def measure() -> dict[str, Any]:
    with running(diagram("1s", f"{BOUND:g}s", True), True, choices=Choices(keep=KEEP)) as fleet:
        with closing(Deliveries(fleet)) as given:
            with closing(Senders(fleet, FIRST)):
                given.warm()
            rate, trials = FIRST, [_tried(fleet, given, FIRST, TRIAL)]
            while trials[-1]["held"] and (rate := int(rate * GROWTH)) <= MOST:
                trials.append(_tried(fleet, given, rate, TRIAL))
            best = max((one["rate"] for one in trials if one["held"]), default=FIRST)
            long, above = _tried(fleet, given, best, LONG), _tried(fleet, given, int(best * TOO_MUCH), ABOVE)
        rows = sum(fleet.ask(site, "status")["rows"] for site in SITES)
        folder = fleet.deployed.folder
        fleet.down(lambda _: None)
        same = verify(folder).ok
    table = [_words(one) for one in trials]
    table.append("for five minutes: " + _words(long))
    table.append(
        f"above it: {_words(above)}; senders were held up by {above['held_up']:.1f} s, and stable results had caught up "
        f"{above['settled']:.1f} s after the end"
    )
    table.append(f"{rows} rows in all; the output {'equals' if same else 'DIFFERS FROM'} the batch run over them")
    return {"table": table, "trials": trials, "long": long, "above": above, "rows": rows, "equal": same}


def _words(one: dict[str, Any]) -> str:
    return (
        f"{one['rate'] * len(SITES)} rows/s {'held' if one['held'] else 'not held'}: latency {one['usual']:.2f} s, at most {one['latest']:.2f} s, "
        f"{one['tentative']} tentative buckets, {one['behind']:.1f} s behind at the end"
    )


def _tried(fleet: Fleet, given: Deliveries, rate: int, seconds: float) -> dict[str, Any]:
    with closing(Senders(fleet, rate)) as senders:
        began = time.time()
        time.sleep(seconds)
        new = given.since(began)
        behind = (_closed(fleet) - client(fleet)["streams"]["sums"]["frontier"]) * fleet.deployed.settings.bucket
        held_up = senders.behind
    ended, last = time.monotonic(), _closed(fleet)
    until(lambda: client(fleet)["streams"]["sums"]["frontier"] >= last, within=600.0)
    latencies = sorted(one.latency for one in new) or [seconds]
    usual, latest = latencies[len(latencies) // 2], latencies[-1]
    tentative = sum(one.tentative for one in new)
    found = {
        "rate": rate,
        "usual": usual,
        "latest": latest,
        "tentative": tentative,
        "behind": behind,
        "held_up": held_up,
        "held": latest < BOUND and tentative == 0 and behind <= BEHIND and held_up < BEHIND,
        "settled": time.monotonic() - ended,
    }
    print("  " + _words(found), flush=True)
    return found


def _closed(fleet: Fleet) -> int:
    return min(int(fleet.ask(site, "status")["closed"]) for site in SITES)
