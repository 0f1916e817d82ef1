"""What a failure costs: an input that falls silent, and a replica that is killed, at a deployment of real processes.

All is measured where an application reads the output, once results come no faster than before.

- A failure of 7 s with X = 2 s, on one node and on a chain of two, each with two replicas: the longest time from a bucket's end until its
  first result was there (Proc_new), and how many results were tentative. Who suspends until the first deadline and then processes what has
  come must give as many tentative buckets as end while the input is silent.
- The replica that is read is killed: the gap until another gives the next bucket, and whether anything was tentative.
- Failures of 15, 30 and 60 s at 4,500 rows a second: how long it takes from when the input is back until nothing is tentative any more,
  while new results go on.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from auroral.node.fleet.processes import Fleet
from bench.deployments import SITES, Deliveries, Senders, diagram, running, until

ASKED_PROC_NEW = {"one node": 1.83, "chain of two": 2.22}
STALL = 7.0
RATE = 300
"""Rows a second at each site, where the rate does not matter."""
HIGH_RATE = 1500
FAILURES = (15.0, 30.0, 60.0)
FOLD_ROWS = 10
"""Rows in a window, where it is a fold."""
REST = 20.0
"""Seconds between failures."""


def measure() -> dict[str, Any]:
    table: list[str] = []
    found: dict[str, Any] = {}
    for name, chain in (("one node", False), ("chain of two", True)):
        found[name] = one = _stalled(chain)
        table.append(
            f"7 s failure, X = 2 s, {name}: Proc_new {one['proc_new']:.2f} s (at most {ASKED_PROC_NEW[name]}), usually {one['usual']:.2f} s, "
            f"{one['tentative_buckets']} tentative buckets (suspend-then-process: at least {one['must_be_tentative']}), "
            f"{one['tentative_rows']} tentative rows"
        )
    found["failover"] = one = _failover()
    table.append(
        f"replica killed: {one['tentative']} tentative buckets (asked: 0), gap {one['gap']:.2f} s (below {one['allowed']:.2f} s)"
    )
    found["reconciliation"] = _reconciled()
    for one in found["reconciliation"]:
        table.append(
            f"{one['failure']:g} s failure at {one['rows_a_second']} rows/s: corrected within {one['seconds']:.2f} s, "
            f"{one['times_real']:.1f} times real time (at least 20), Delay_new {one['delay_new']:.2f} s of X = {one['bound']:g} s"
        )
    return {"table": table, **found}


def _stalled(chain: bool) -> dict[str, Any]:
    with (
        running(diagram("500ms", "2s", chain), chain) as fleet,
        closing(Senders(fleet, RATE)),
        closing(Deliveries(fleet)) as given,
    ):
        usual, began = given.warm(), time.time()
        _silent(fleet, given, STALL)
        new, bucket = given.since(began), fleet.deployed.settings.bucket
        proc_new = max(one.latency for one in new)
        return {
            "usual": usual,
            "proc_new": proc_new,
            "delay_new": proc_new - usual,
            "tentative_buckets": sum(one.tentative for one in new),
            "tentative_rows": sum(one.rows for one in new if one.tentative),
            "must_be_tentative": int(STALL / bucket),
        }


def _failover() -> dict[str, Any]:
    with (
        running(diagram("500ms", "4s", True), True) as fleet,
        closing(Senders(fleet, RATE)),
        closing(Deliveries(fleet)) as given,
    ):
        usual, read = given.warm(), fleet.ask("counta", "why", stream="sums")
        killed = time.time()
        fleet.kill(next(node for node in ("mergea", "mergeb") if f"is read from merge@{node}" in read))
        time.sleep(8)
        new, settings = given.since(killed), fleet.deployed.settings
        times = [killed, *(one.at for one in new)]
        return {
            "usual": usual,
            "gap": max(later - earlier for earlier, later in itertools.pairwise(times)),
            "allowed": (settings.pings_unanswered + 2) * settings.ping_every + 2 * settings.bucket + usual,
            "tentative": sum(one.tentative for one in new),
        }


def measure_fold() -> dict[str, Any]:
    """The longest of the failures alone, where windows are of a number of rows: a fold, whose state is corrected with its results."""
    found = _reconciled(FAILURES[-1:], FOLD_ROWS)
    table = [
        f"{one['failure']:g} s failure of a fold at {one['rows_a_second']} rows/s: corrected within {one['seconds']:.2f} s, "
        f"{one['times_real']:.1f} times real time (at least 10), Delay_new {one['delay_new']:.2f} s of X = {one['bound']:g} s"
        for one in found
    ]
    return {"table": table, "reconciliation": found}


def _reconciled(failures: Sequence[float] = FAILURES, rows: int | None = None) -> list[dict[str, Any]]:
    with (
        running(diagram("500ms", "5s", False, rows), False) as fleet,
        closing(Senders(fleet, HIGH_RATE)),
        closing(Deliveries(fleet)) as given,
    ):
        usual, found = given.warm(), []
        for n, seconds in enumerate(failures):
            time.sleep(REST if n else 0)
            began = time.time()
            took = _silent(fleet, given, seconds)
            found.append(
                {
                    "failure": seconds,
                    "rows_a_second": HIGH_RATE * len(SITES),
                    "seconds": took,
                    "times_real": seconds / took,
                    "usual": usual,
                    "delay_new": max(one.latency for one in given.since(began)) - usual,
                    "bound": fleet.deployed.settings.bound,
                }
            )
        return found


def _silent(fleet: Fleet, given: Deliveries, seconds: float) -> float:
    """One input, for so long; gives how long it took from then on until nothing was tentative any more."""
    fleet.ask(SITES[-1], "pause")
    time.sleep(seconds)
    fleet.ask(SITES[-1], "resume")
    healed = time.time()
    until(lambda: not given.uncorrected)
    return time.time() - healed
