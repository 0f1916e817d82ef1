"""What a failure costs: an input that falls silent, and a replica that is killed, at a deployment of real processes.

- A failure of 7 s with X = 2 s, on one node and on a chain of two, each with two replicas: the longest time from a bucket's end to its
  delivery (Proc_new), and how many results were tentative. Suspend-then-process must give as many tentative buckets as end between the
  failure's first deadline and its end.
- The replica that is read is killed: the gap until another gives the next bucket, and whether anything was tentative.
- Failures of 15, 30 and 60 s at 4,500 rows a second: how long it takes from when the input is back until nothing is tentative any more,
  while new results go on.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from auroral.node.fleet.processes import Fleet
from bench.deployments import SITES, Senders, client, diagram, measures, running, until, warm

ASKED_PROC_NEW = {"one node": 1.83, "chain of two": 2.22}
STALL = 7.0
RATE = 300
"""Rows a second at each site, where the rate does not matter."""
HIGH_RATE = 1500
FAILURES = (15.0, 30.0, 60.0)


def measure() -> dict[str, Any]:
    table: list[str] = []
    found: dict[str, Any] = {}
    for name, chain in (("one node", False), ("chain of two", True)):
        found[name] = _stalled(chain)
        one = found[name]
        table.append(
            f"7 s failure, X = 2 s, {name}: Proc_new {one['proc_new']:.2f} s (at most {ASKED_PROC_NEW[name]}), Delay_new "
            f"{one['delay_new']:.2f} s, {one['tentative_buckets']} tentative buckets (suspend-then-process: at least "
            f"{one['must_be_tentative']}), {one['tentative_rows']} tentative rows"
        )
    found["failover"] = _failover()
    one = found["failover"]
    table.append(
        f"replica killed: {one['tentative']} tentative buckets (asked: 0), gap {one['gap']:.2f} s (below {one['allowed']:.2f} s)"
    )
    found["reconciliation"] = [_reconciled(seconds) for seconds in FAILURES]
    for one in found["reconciliation"]:
        table.append(
            f"{one['failure']:g} s failure at {one['rows_a_second']} rows/s: corrected within {one['seconds']:.2f} s, "
            f"{one['times_real']:.0f} times real time (at least 20), Delay_new {one['delay_new']:.2f} s of X = {one['bound']:g} s"
        )
    return {"table": table, **found}


def _paused(fleet: Fleet, seconds: float) -> None:
    fleet.ask(SITES[-1], "pause")
    time.sleep(seconds)
    fleet.ask(SITES[-1], "resume")


def _corrected(fleet: Fleet) -> bool:
    return measures(fleet).get("tentative_now") == 0


def _stalled(chain: bool) -> dict[str, Any]:
    with running(diagram("500ms", "2s", chain), chain) as fleet, closing(Senders(fleet, RATE)):
        warm(fleet)
        before = measures(fleet)
        _paused(fleet, STALL)
        until(lambda: _corrected(fleet))
        one, bucket = measures(fleet), fleet.deployed.settings.bucket
        return {
            "proc_new": one["proc_new"],
            "delay_new": one["delay_new"],
            "usual": one["proc"],
            "tentative_buckets": one["tentative_buckets"] - before["tentative_buckets"],
            # Those that end when the first was given out tentatively, and until the failure's end.
            "must_be_tentative": int((STALL - one["proc_new"]) / bucket),
            "tentative_rows": one["tentative_rows"] - before["tentative_rows"],
        }


def _failover() -> dict[str, Any]:
    with running(diagram("500ms", "4s", True), True) as fleet, closing(Senders(fleet, RATE)):
        warm(fleet)
        read = fleet.ask("counta", "why", stream="sums")
        current = next(node for node in ("mergea", "mergeb") if f"is read from merge@{node}" in read)
        before = client(fleet)["counts"]["tentative"]
        fleet.kill(current)
        gap, last, newest = 0.0, time.monotonic(), measures(fleet)["newest"]
        end = time.monotonic() + 8
        while time.monotonic() < end:
            now, seen = time.monotonic(), measures(fleet)["newest"]
            if seen > newest:
                gap, last, newest = max(gap, now - last), now, seen
            time.sleep(0.01)
        settings, job = fleet.deployed.settings, measures(fleet)["proc"]
        allowed = (settings.pings_unanswered + 2) * settings.ping_every + 2 * settings.bucket + job
        return {
            "gap": gap - settings.bucket,
            "allowed": allowed,
            "tentative": client(fleet)["counts"]["tentative"] - before,
            "usual": job,
        }


def _reconciled(seconds: float) -> dict[str, Any]:
    with running(diagram("500ms", "5s", False), False) as fleet, closing(Senders(fleet, HIGH_RATE)):
        warm(fleet)
        _paused(fleet, seconds)
        healed = time.monotonic()
        until(lambda: _corrected(fleet))
        took, one = time.monotonic() - healed, measures(fleet)
        return {
            "failure": seconds,
            "rows_a_second": HIGH_RATE * len(SITES),
            "seconds": took,
            "times_real": seconds / took,
            "delay_new": one["delay_new"],
            "bound": fleet.deployed.settings.bound,
            "tentative_rows": one["tentative_rows"],
        }
