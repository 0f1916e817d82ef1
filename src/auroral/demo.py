"""The demonstration: connection records of three sites, and the hosts among them that scan ports.

The diagram is in `netmon`. Records of three sites are merged; of each source, the connections and the distinct ports over
a sliding window are counted; a host that exceeds both thresholds is an alert.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from auroral.netmon import SITES, netmon

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from auroral.app import App

RATE = 200
"""Ordinary connections a second at each site."""
TICK = 0.2
SCANNER = "10.66.6.6"
SCAN_RATE = 60
SCAN = (0.25, 0.75)
"""When the scan happens, as parts of the whole."""
WARM_UP_AT = 1_700_000_000_000_000
"""Any time will do for rows that only warm Spark up."""
_PORTS = (22, 25, 53, 80, 123, 443, 993)

INTRODUCTION = """\
Records of three sites (oslo, bern, lima) -> union -> connections of each source over 4 s, every second -> more than 20
                                                   -> distinct ports of each source over 4 s           -> more than 10
                                                   -> both, joined on the source: alerts
A quarter of the way in, a host begins to scan ports. Starting Spark and warming it up ..."""


def start(session: SparkSession, folder: Path) -> App:
    from auroral.app import run

    return run(netmon, folder=folder, session=session)


def warm_up(session: SparkSession) -> None:
    """The first jobs of a JVM take seconds; done once on a few rows, the demonstration starts at its own pace."""
    from auroral.app import run

    with run(netmon, session=session) as app:
        for site in SITES:
            app.push(site, traffic(Random(0), 20, WARM_UP_AT, WARM_UP_AT + 2_000_000))
        app.close()
        app.await_termination()


def traffic(random: Random, count: int, low: int, high: int) -> list[dict[str, Any]]:
    """Ordinary connections with times in [low, high): many sources, few ports."""
    return sorted(
        (
            {
                "ts": random.randrange(low, high),
                "src": f"10.{random.randrange(4)}.0.{random.randrange(1, 60)}",
                "dst": f"192.168.0.{random.randrange(1, 20)}",
                "port": random.choice(_PORTS),
            }
            for _ in range(count)
        ),
        key=lambda row: row["ts"],
    )


def scan(random: Random, count: int, low: int, high: int) -> list[dict[str, Any]]:
    """One host that tries port after port."""
    rows = traffic(random, count, low, high)
    return [row | {"src": SCANNER, "port": random.randrange(1, 1024)} for row in rows]


def live(app: App, seconds: float, seed: int, stop: threading.Event) -> Iterator[float]:
    """Push what happens as it happens, then end all inputs; gives the seconds gone after each push."""
    random = Random(seed)
    began, clock = time.monotonic(), time.time_ns() // 1000
    gone = 0.0
    while gone < seconds and app.is_active and not stop.wait(TICK):
        before, gone = gone, min(time.monotonic() - began, seconds)
        low, high = clock + int(before * 1e6), clock + max(int(gone * 1e6), int(before * 1e6) + 1)
        for site in SITES:
            rows = traffic(random, round(RATE * (gone - before)), low, high)
            if SCAN[0] * seconds <= gone <= SCAN[1] * seconds:
                rows += scan(random, round(SCAN_RATE * (gone - before)), low, high)
                rows.sort(key=lambda row: row["ts"])
            if rows:
                app.push(site, rows)
        yield gone
    if app.is_active:
        app.close()


def last_alerts(app: App, most: int = 5) -> Sequence[str]:
    """The newest alerts, in words."""
    rows = app.table("alerts")
    newest = rows.slice(max(0, rows.num_rows - most)).to_pylist()
    return [
        f"alert: {row['src']} opened {row['connections']} connections to {row['ports']} ports within 4 s"
        for row in newest
    ]
