"""One of three inputs falls silent for 20 s, and comes back with what it had: Structured Streaming, with its watermark by the slowest input
(`multipleWatermarkPolicy` min) and by the fastest (max), and a deployment with X = 5 s.

Rows are counted by site over windows of 1 s. Measured are the results of a site that never fails: how long after the window's end they came;
and how many rows of the site that failed are in no final result.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import auroral as au
from auroral.commands.plots import can_draw, draw
from auroral.engine.session import start_session
from auroral.model.deployment import endpoint
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.sim.experiments.values import Plot, Series
from bench.deployments import SITES, until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WARM, STALL, AFTER = 60.0, 20.0, 20.0
EVERY, ROWS = 0.25, 25
BOUND = 5.0
HEALTHY, FAILING = SITES[0], SITES[-1]
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "silent-input.svg"
Give = Callable[[str, list[dict[str, Any]]], None]


@dataclass(slots=True)
class Seen:
    """Results as they came: by site and window, when first, and the count that it ended with."""

    first: dict[tuple[str, int], float] = field(default_factory=dict)
    tentative: set[tuple[str, int]] = field(default_factory=set)
    final: dict[tuple[str, int], int] = field(default_factory=dict)

    def take(self, site: str, window: int, count: int, stable: bool, at: float) -> None:
        if (site, window) not in self.first:
            self.first[site, window] = at
            if not stable:
                self.tentative.add((site, window))
        if stable:
            self.final[site, window] = count


@dataclass(slots=True)
class Sites:
    """Gives rows of all sites as their times come, but those of one that is silent only when it speaks again."""

    give: Give
    silent: bool = False
    sent: dict[tuple[str, int], int] = field(default_factory=dict)
    """By site and window."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        kept: list[dict[str, Any]] = []
        while not self._stop.wait(EVERY):
            now = time.time()
            for site in SITES:
                made = [{"ts": datetime.fromtimestamp(now, UTC).isoformat(), "site": site} for _ in range(ROWS)]
                self.sent[site, int(now)] = self.sent.get((site, int(now)), 0) + ROWS
                if site != FAILING:
                    self.give(site, made)
                    continue
                kept += made
                if not self.silent:
                    self.give(site, kept)
                    kept = []


def measure() -> dict[str, Any]:
    spark = start_session()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    found = {f"Structured Streaming, {policy}": _streaming(spark, policy) for policy in ("min", "max")}
    spark.stop()
    found["Auroral"] = _ours()
    table = [
        f"{name}: results of the healthy site at most {one['delay']:.1f} s after their window; {one['lost']} of {one['sent']} rows of the "
        f"other lost for ever; {one['tentative']} results tentative first, of which {one['uncorrected']} are not final by now"
        for name, one in found.items()
    ]
    if can_draw():
        series = tuple(Series(name, tuple((t, d) for t, d in one["delays"])) for name, one in found.items())
        PICTURE.parent.mkdir(exist_ok=True)
        bound = ((0.0, BOUND), (WARM + STALL + AFTER, BOUND))
        draw(
            Plot(
                f"One of three inputs is silent from {WARM:g} s to {WARM + STALL:g} s",
                "seconds",
                "delay of the others' results, s",
                series,
                bound,
            ),
            PICTURE,
        )
    return {"table": table, "systems": found}


def _through(sites: Sites, silence: Callable[[bool], None]) -> float:
    """From here to the end; gives when it began."""
    began = time.time()
    sites.start()
    with closing(sites):
        for silent, seconds in ((False, WARM), (True, STALL), (False, AFTER)):
            silence(silent)
            time.sleep(seconds)
    return began


def _judged(sites: Sites, seen: Seen, began: float) -> dict[str, Any]:
    end = began + WARM + STALL + AFTER
    healthy = sorted((window, at) for (site, window), at in seen.first.items() if site == HEALTHY)
    # A window whose result never came is as late as the measurement is long.
    windows = [w for site, w in sites.sent if site == HEALTHY and began + 5 < w < end - 10]
    came = dict(healthy)
    delays = [(round(w + 1 - began, 2), round(came.get(w, end) - (w + 1), 3)) for w in sorted(windows)]
    judged = [(site, w) for site, w in sites.sent if site == FAILING and began + WARM - 5 < w < end - 10]
    sent = sum(sites.sent[one] for one in judged)
    return {
        "delay": max(delay for at, delay in delays if at > WARM - 5),
        "sent": sent,
        "lost": sent - sum(seen.final.get(one, 0) for one in judged),
        "tentative": len(seen.tentative),
        "uncorrected": len([one for one in seen.tentative if one not in seen.final and one[1] < end - 10]),
        "delays": delays,
    }


# Structured Streaming


def _streaming(spark: SparkSession, policy: str) -> dict[str, Any]:
    from pyspark.sql import functions as sf

    spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", policy)
    folder, seen, number = Path(tempfile.mkdtemp(prefix="auroral-stall-")), Seen(), iter(range(1_000_000))
    for site in SITES:
        (folder / site).mkdir()

    def give(site: str, rows: list[dict[str, Any]]) -> None:
        made = folder / f".{site}.new"
        made.write_text("".join(json.dumps(row) + "\n" for row in rows))
        made.rename(folder / site / f"{next(number):08}.json")

    def batch(frame: DataFrame, _: int) -> None:
        at = time.time()
        for row in frame.collect():
            seen.take(row["site"], int(row["began"]), row["n"], True, at)

    frames = [
        spark.readStream.schema("ts timestamp, site string").json(str(folder / site)).withWatermark("ts", "1 second")
        for site in SITES
    ]
    counted = (
        frames[0]
        .unionAll(frames[1])
        .unionAll(frames[2])
        .groupBy("site", sf.window("ts", "1 second"))
        .agg(sf.count("*").alias("n"))
        .select("site", sf.unix_timestamp("window.start").alias("began"), "n")
    )
    query = (
        counted.writeStream.outputMode("append")
        .foreachBatch(batch)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    sites = Sites(give)

    def silence(silent: bool) -> None:
        sites.silent = silent

    began = _through(sites, silence)
    time.sleep(5)
    query.stop()
    shutil.rmtree(folder, ignore_errors=True)
    return _judged(sites, seen, began)


# Ours


def _ours() -> dict[str, Any]:
    d = au.diagram("stall", bucket="1s")
    first, *others = (d.input(site, "ts timestamp, site string", stime="ts") for site in SITES)
    merged = first.union("all", *others)
    merged.aggregate("counts", {"n": "count()"}, window="1s", advance="1s", by=["site"]).output(
        availability=f"{BOUND:g}s"
    )
    with tempfile.TemporaryDirectory(prefix="auroral-stall-") as folder, _up(d, Path(folder) / "live") as fleet:
        seen, stop = Seen(), threading.Event()
        watching = threading.Thread(target=_watch, args=(fleet, seen, stop), daemon=True)
        watching.start()
        with _connected(fleet) as give:
            sites = Sites(give)

            def silence(silent: bool) -> None:
                sites.silent = silent

            began = _through(sites, silence)
        until(lambda: fleet.ask("client", "status")["streams"]["counts"]["tentative_now"] == 0)
        stop.set()
        watching.join()
        return _judged(sites, seen, began)


@contextmanager
def _up(d: au.DiagramBuilder, folder: Path) -> Iterator[Fleet]:
    fleet = Fleet(prepare(folder, d.check()))
    try:
        yield fleet.up(lambda _: None)
    finally:
        fleet.down(lambda _: None)


@contextmanager
def _connected(fleet: Fleet) -> Iterator[Give]:
    places = {site: endpoint(fleet.deployed.agreed.inputs[site].removeprefix("tcp:")) for site in SITES}
    connections = {site: socket.create_connection((at.host, at.port)) for site, at in places.items()}
    for connection in connections.values():
        threading.Thread(target=_drain, args=(connection,), daemon=True).start()
    try:
        yield lambda site, rows: connections[site].sendall("".join(json.dumps(row) + "\n" for row in rows).encode())
    finally:
        for connection in connections.values():
            connection.close()


def _drain(connection: socket.socket) -> None:
    try:
        while connection.recv(1 << 16):
            pass
    except OSError:
        return


def _watch(fleet: Fleet, seen: Seen, stop: threading.Event) -> None:
    since, first = 0, fleet.deployed.first
    while not stop.wait(0.1):
        for one in fleet.ask("client", "tail", since=since, stream="counts"):
            since = one["number"]
            for row in one["rows"]:
                seen.take(row["site"], first + one["bucket"], row["n"], one["kind"] != "tentative", one["at"])
