"""The highest rate that two queries with two replicas each hold, on this machine: X = 5 s, buckets of 1 s, one Spark for all.

Rates are doubled, 40 s each, until the delay of a new result passes X, results are tentative, or they fall behind; the highest that held is
then held for five minutes. Above it: what happens, and whether anything is lost.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from bench.deployments import SITES, Senders, client, diagram, measures, running, until, warm

FIRST, MOST = 1_000, 64_000
"""Rows a second at each of the three sites."""
TRIAL, LONG, ABOVE = 40.0, 300.0, 60.0
BOUND = 5.0
BEHIND = 3.0
"""Seconds by which the stable results may be behind the sources at the end."""


def measure() -> dict[str, Any]:
    rate, trials = FIRST, []
    while rate <= MOST and (trials := [*trials, _tried(rate, TRIAL)])[-1]["held"]:
        rate *= 2
    best = max((one["rate"] for one in trials if one["held"]), default=0)
    found: dict[str, Any] = {"trials": trials}
    table = [_words(one) for one in trials]
    if best:
        found["long"] = _tried(best, LONG)
        table.append("for five minutes: " + _words(found["long"]))
    found["above"] = _tried(trials[-1]["rate"], ABOVE)
    table.append(
        f"above it, {_words(found['above'])}; senders were held up by {found['above']['held_up']:.1f} s, and all of "
        f"{found['above']['rows']} rows that were taken are in stable results {found['above']['settled']:.1f} s after the end"
    )
    return {"table": table, **found}


def _words(one: dict[str, Any]) -> str:
    return (
        f"{one['rate'] * len(SITES)} rows/s {'held' if one['held'] else 'not held'}: Delay_new {one['delay_new']:.2f} s of {BOUND:g} s, "
        f"{one['tentative']} tentative buckets, {one['behind']:.1f} s behind at the end"
    )


def _tried(rate: int, seconds: float) -> dict[str, Any]:
    with running(diagram("1s", f"{BOUND:g}s", True), True) as fleet:
        with closing(Senders(fleet, rate)) as senders:
            warm(fleet, 10)
            time.sleep(seconds)
            one, counts = measures(fleet), client(fleet)["counts"]
            closed = min(fleet.ask(site, "status")["closed"] for site in SITES)
            behind = (closed - one["frontier"]) * fleet.deployed.settings.bucket
            held_up = senders.behind
        ended = time.monotonic()
        last = min(fleet.ask(site, "status")["closed"] for site in SITES)
        until(lambda: measures(fleet)["frontier"] >= last, within=600.0)
        return {
            "rate": rate,
            "delay_new": one["delay_new"],
            "usual": one["proc"],
            "tentative": counts["tentative"],
            "behind": behind,
            "held_up": held_up,
            "held": one["delay_new"] < BOUND and counts["tentative"] == 0 and behind <= BEHIND and held_up < 1.0,
            "rows": sum(fleet.ask(site, "status")["rows"] for site in SITES),
            "missed": one["missed"],
            "settled": time.monotonic() - ended,
        }
