"""What experiments take from the real engine: how long its jobs are, and E8, the cost of closing buckets."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import auroral
from auroral.edge.client import Insertion
from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine
from auroral.model.builder import DiagramBuilder
from auroral.model.checking import check
from auroral.sim.experiments.running import Costs, slope
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET, STREAMS = 250_000, ("a", "b", "c")
WARMING, MEASURED = 60, 20
MANY = 3_000
"""Rows of each stream: as many as a small job may have."""
INTERVALS, E8_SECONDS = (50, 100, 150, 200, 250, 300), 12.0
ROWS_A_PUSH, PUSH_EVERY = 4, 0.025
"""Of each stream: together 480 rows a second."""
PUBLISHED = {50: 69, 100: 120, 150: 174, 200: 234, 250: 298, 300: 327}
"""Milliseconds of average delay in the original system, by interval."""


def measured_costs(spark: SparkSession) -> Costs:
    """Of a union of three streams, as the experiments have it."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(spark, check(_union(f"{BUCKET}us").build()), Path(folder))
        at = 0
        for _ in range(WARMING):
            at = _job(engine, at, 1, 100)[0]
        # The quickest of each kind, taken in turns: what else the machine does meanwhile is not the engine's, and would show as a cost of
        # rows where it falls on one kind alone.
        times = dict.fromkeys(((1, 100), (32, 100), (1, MANY)), float("inf"))
        for _ in range(MEASURED):
            for buckets, rows in times:
                at, seconds = _job(engine, at, buckets, rows)
                times[buckets, rows] = min(seconds, times[buckets, rows])
    row = max(0.0, (times[1, MANY] - times[1, 100]) / (len(STREAMS) * (MANY - 100)))
    bucket = max(0.0, (times[32, 100] - times[1, 100]) / 31 - 300 * row)
    return Costs(max(0.0, times[1, 100] - bucket - 300 * row), bucket, row)


def _union(bucket: str) -> DiagramBuilder:
    net = auroral.diagram("union", bucket=bucket)
    first, *others = (net.input(name, "ts timestamp, v double", stime="ts") for name in STREAMS)
    first.union("all", *others).output()
    return net


def _job(engine: Engine, at: int, buckets: int, rows: int) -> tuple[int, float]:
    """The stime that the job ends at, and its seconds."""
    end = at + buckets * BUCKET
    stimes = np.linspace(at, end - 1, buckets * rows).astype("int64")
    columns = {
        "__stime": stimes,
        "__seq": np.arange(len(stimes)),
        "ts": pa.array(stimes).cast(pa.timestamp("us", tz="UTC")),
        "v": stimes.astype("float64"),
    }
    for stream in STREAMS:
        engine.offer(stream, Segment(at, end, STABLE, len(stimes), pa.table(columns)))
    begun = time.perf_counter()
    engine.evaluate(at, end)
    return end, time.perf_counter() - begun


def e8(spark: SparkSession) -> Experiment:
    delays = {interval: _mean_delay(spark, interval) for interval in INTERVALS}
    points = [(float(interval), delay) for interval, delay in delays.items()]
    steepness = slope(points)
    statements = (
        Statement(
            "the average delay grows linearly with the interval, by about its length (1.08 ms a ms)",
            f"{steepness:.2f} ms a ms, from {delays[INTERVALS[0]]:.0f} to {delays[INTERVALS[-1]]:.0f} ms",
            0.5 < steepness < 1.5,
            "a job on Spark takes longer than these intervals: buckets that close meanwhile go together in the next one",
        ),
    )
    rows = tuple((str(i), f"{PUBLISHED[i]} ms", f"{delays[i]:.0f} ms") for i in INTERVALS)
    original = Series("original system", tuple((float(i), float(delay)) for i, delay in PUBLISHED.items()))
    return Experiment(
        "E8",
        "What closing buckets costs",
        f"Three streams merged by a real run on Spark, {len(STREAMS) * ROWS_A_PUSH / PUSH_EVERY:g} rows/s, {E8_SECONDS:g} s for each interval; a row's delay is from "
        "its push until its stable row is at a subscriber.",
        ("interval [ms]", "published", "measured"),
        rows,
        statements,
        (Plot("Average delay", "interval [ms]", "delay [ms]", (original, Series("Auroral", tuple(points)))),),
    )


def _mean_delay(spark: SparkSession, interval: int) -> float:
    """In milliseconds, after the first third: the run is warm then."""
    delays: list[tuple[float, float]] = []
    begun = time.time()
    with auroral.run(_union(f"{interval}ms"), session=spark) as app:

        def follow() -> None:
            for event in app.subscribe("all"):
                if isinstance(event, Insertion):
                    now = time.time()
                    delays.append((now - begun, now - event.row["v"]))

        reader = threading.Thread(target=follow)
        reader.start()
        pushes = 0
        while (now := time.time()) < begun + E8_SECONDS:
            row = {"ts": datetime.fromtimestamp(now, UTC), "v": now}
            for stream in STREAMS:
                app.push(stream, [row] * ROWS_A_PUSH)
            pushes += 1
            time.sleep(max(0.0, begun + pushes * PUSH_EVERY - time.time()))
        app.close()
        app.await_termination()
        reader.join()
    return 1_000 * statistics.mean(delay for at, delay in delays if at > E8_SECONDS / 3)
