"""Catching up over five million rows: our engine, the plain batch of the same diagram, and Structured Streaming (availableNow)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import auroral as au
from auroral.engine.batch import SourceRows, run_batch
from auroral.engine.session import start_session
from auroral.model.checking import check
from bench.feeding import BUCKET, SCHEMA, engine, hot_folder, offer_file, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, BUCKETS = 5_000_000, 1_000
STEADY, ENOUGH_SECONDS = 6, 30
"""All sides are run in turns, until so many runs of none of them together were 5 % shorter than those before: what the JVM has compiled for
one helps the others. A side that has taken so many seconds is not run again."""
MOST_TIMES_OURS = 10
"""Structured Streaming is stopped when it has taken this many times as long as ours."""


def measure() -> dict[str, Any]:
    spark = start_session(memory="6g", partitions=4)
    table: list[str] = []
    found: dict[str, Any] = {}
    for name, keys, make, streaming, least in (
        ("filter-map", 100, _filter_map, _stream_filter_map, 2),
        ("window, 100 keys", 100, _window, _stream_window, 2),
        ("window, 10,000 keys", 10_000, _window, _stream_window, 2),
        ("join", 10_000, _join, _stream_join, 5),
    ):
        result = _compare(spark, make(), keys, streaming)
        found[name] = result
        below, above = ("", "") if result["streaming_finished"] else ("below ", "above ")
        table.append(
            f"{name}: {result['auroral']:,} rows/s; batch {result['batch']:,} (ratio {result['to_batch']}, at least 0.6); "
            f"Structured Streaming {below}{result['streaming']:,} (ratio {above}{result['to_streaming']}, at least {least})"
        )
        print("  " + table[-1], flush=True)
    return {"table": table, "rows_per_second": found}


def _compare(
    spark: SparkSession, diagram: au.DiagramBuilder, keys: int, streaming: Callable[..., DataFrame]
) -> dict[str, Any]:
    streams = [given.stream for given in diagram.build().inputs]
    with tempfile.TemporaryDirectory(dir=hot_folder()) as name:
        folder = Path(name)
        tables = {s: rows(0, BUCKETS * BUCKET, ROWS // len(streams), keys, i) for i, s in enumerate(streams)}
        for stream, given in tables.items():
            (folder / stream).mkdir()
            pq.write_table(given, folder / stream / "rows.parquet", row_group_size=200_000)
        ours, batch, stream_time, finished = _in_turns(spark, diagram, streaming, tables, folder)
    return {
        "auroral": round(ROWS / ours),
        "batch": round(ROWS / batch),
        "streaming": round(ROWS / stream_time),
        "streaming_finished": finished,
        "to_batch": round(batch / ours, 2),
        "to_streaming": round(stream_time / ours, 2),
    }


def _in_turns(
    spark: SparkSession,
    diagram: au.DiagramBuilder,
    streaming: Callable[..., DataFrame],
    tables: dict[str, pa.Table],
    folder: Path,
) -> tuple[float, float, float, bool]:
    """The shortest runs of ours, of the batch and of Structured Streaming, and whether the last always came to its end."""
    checked, streams = check(diagram.build()), list(tables)
    ours: list[float] = []
    batch: list[float] = []
    streamed: list[float] = []
    ended = True
    while not (_steady(ours) and _steady(batch) and _steady(streamed)):
        if sum(ours) < ENOUGH_SECONDS:
            ours.append(_ours(spark, diagram, tables, folder))
        if sum(batch) < ENOUGH_SECONDS:
            batch.append(_batch(spark, checked, streams, folder))
        if sum(streamed) < ENOUGH_SECONDS:
            seconds, finished = _streamed(spark, streaming, streams, folder, MOST_TIMES_OURS * min(ours))
            streamed.append(seconds)
            ended = ended and finished
    return min(ours), min(batch), min(streamed), ended


def _steady(times: list[float]) -> bool:
    """Whether a side does not get faster any more, or has had its time."""
    if sum(times) >= ENOUGH_SECONDS:
        return True
    return len(times) > STEADY and min(times[-STEADY:]) >= 0.95 * min(times[:-STEADY])


def _ours(spark: SparkSession, diagram: au.DiagramBuilder, tables: dict[str, pa.Table], folder: Path) -> float:
    with engine(spark, diagram) as running:
        for stream, given in tables.items():
            # The engine removes it once no later bucket needs it.
            offer_file(running, stream, given, folder / f"{stream}.parquet", BUCKETS)
        begun = time.perf_counter()
        running.evaluate(0, BUCKETS * BUCKET)
        return time.perf_counter() - begun


def _batch(spark: SparkSession, checked: Any, streams: list[str], folder: Path) -> float:
    sources = {s: SourceRows([], [str(folder / s / "rows.parquet")]) for s in streams}
    with tempfile.TemporaryDirectory(dir=folder) as target:
        begun = time.perf_counter()
        run_batch(spark, checked, sources, BUCKETS * BUCKET, False, Path(target), many_bins=False)
        return time.perf_counter() - begun


def _streamed(
    spark: SparkSession, make: Callable[..., DataFrame], streams: list[str], folder: Path, limit: float
) -> tuple[float, bool]:
    """How long it took, and whether it came to its end; after `limit` seconds it is stopped."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "4")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    frames = []
    for stream in streams:
        given = session.readStream.schema("__stime BIGINT, __seq BIGINT, " + SCHEMA).parquet(str(folder / stream))
        frames.append(given.withWatermark("ts", "0 seconds"))
    # What its threads still write when it is stopped is none of our business.
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as target:
        begun = time.perf_counter()
        writer = make(*frames).writeStream.outputMode("append").format("parquet").trigger(availableNow=True)
        query = writer.option("checkpointLocation", f"{target}/checkpoint").start(f"{target}/rows")
        finished = query.awaitTermination(limit)
        seconds = time.perf_counter() - begun
        if not finished:
            query.stop()
    return seconds, bool(finished)


def _filter_map() -> au.DiagramBuilder:
    net = au.diagram("filter-map")
    a = net.input("a", SCHEMA, stime="ts")
    a.filter("high", "v > 0").map("slim", {"k": "k", "w": "v * 2.0 + 1.0"}).output()
    return net


def _stream_filter_map(a: DataFrame) -> DataFrame:
    return a.where("v > 0").selectExpr("ts", "k", "v * 2.0 + 1.0 AS w")


def _window() -> au.DiagramBuilder:
    net = au.diagram("window")
    a = net.input("a", SCHEMA, stime="ts")
    a.aggregate("load", {"n": "count()", "s": "sum(v)", "m": "max(v)"}, window="10s", advance="1s", by=["k"]).output()
    return net


def _stream_window(a: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    windows = a.groupBy("k", sf.window("ts", "10 seconds", "1 second"))
    return windows.agg(sf.count("*").alias("n"), sf.sum("v").alias("s"), sf.max("v").alias("m"))


def _join() -> au.DiagramBuilder:
    net = au.diagram("join")
    a, b = (net.input(name, SCHEMA, stime="ts") for name in "ab")
    columns = {"k": "left.k", "v": "left.v", "w": "right.v"}
    a.join("near", b, on="left.k = right.k", within="5s", columns=columns).output()
    return net


def _stream_join(a: DataFrame, b: DataFrame) -> DataFrame:
    left, right = a.alias("l"), b.alias("r")
    near = "l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL 5 SECONDS AND l.ts + INTERVAL 5 SECONDS"
    from pyspark.sql import functions as sf

    return left.join(right, sf.expr(near)).selectExpr("l.ts AS ts", "l.k AS k", "l.v AS v", "r.v AS w")
