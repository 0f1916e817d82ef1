"""Bucket close to output: a windowed aggregate over a union of three streams, 1,000 rows a bucket.

Ours is a whole run, on disk: from the push of the row that closes a bucket to its committed output. The other side is the same
query as a Structured Streaming micro-batch, `triggerExecution` as Spark reports it: with Spark's defaults as they are (200 shuffle
partitions); with two partitions and RocksDB, defaults otherwise; and tuned: one partition, checkpoint in memory, changelog
checkpoints, interpreted expressions, no adaptive planning.
"""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Any

import auroral as au
from auroral.engine.session import start_session
from bench.feeding import BUCKET, hot_folder, ms, percentile, rows, settled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = ("a", "b", "c")
MOST_JOBS, MOST_SECONDS = 2_000, 150
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
TWO_PARTITIONS = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.stateStore.providerClass": ROCKSDB}
TUNED = {
    **TWO_PARTITIONS,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


def measure() -> dict[str, Any]:
    spark = start_session()
    measured = {
        "auroral": _ours(spark),
        "two partitions": _streaming(spark, TWO_PARTITIONS, None),
        "tuned": _streaming(spark, TUNED, hot_folder()),
        "defaults": _streaming(spark, {}, None),
    }
    p50 = {name: percentile(times, 0.5) for name, times in measured.items()}
    table = [
        f"{name}: p50 {ms(p50[name])} ms, p99 {ms(percentile(times, 0.99))} ms ({len(times)} measured)"
        for name, times in measured.items()
    ]
    ratios = {
        "to defaults (at most 0.5)": p50["auroral"] / p50["defaults"],
        "to two partitions (at most 0.5)": p50["auroral"] / p50["two partitions"],
        "to tuned (at most 1.0)": p50["auroral"] / p50["tuned"],
    }
    table += [f"ratio {name}: {ratio:.2f}" for name, ratio in ratios.items()]
    return {
        "table": table,
        "p50_ms": {k: ms(v) for k, v in p50.items()},
        "ratios": {k: round(v, 3) for k, v in ratios.items()},
    }


def diagram() -> au.DiagramBuilder:
    net = au.diagram("latency", bucket="1s")
    first, *others = (net.input(name, "ts timestamp, k int, v double", stime="ts") for name in STREAMS)
    merged = first.union("all", *others)
    merged.aggregate(
        "load", {"n": "count()", "s": "sum(v)", "m": "max(v)"}, window="10s", advance="1s", by=["k"]
    ).output()
    return net


def _ours(spark: SparkSession) -> list[float]:
    times: list[float] = []
    with au.run(diagram(), session=spark) as app:
        number = 0
        while len(times) < MOST_JOBS and not settled(times):
            # The rows of a bucket close the one before it, once those of the last stream have come.
            lo, begun = number * BUCKET, 0.0
            for position, stream in enumerate(STREAMS):
                given = rows(lo, lo + BUCKET, 333, 100, number * 7 + position).select(["ts", "k", "v"])
                begun = time.perf_counter()
                app.push(stream, given)
            while number and (app.frontier is None or app.frontier < lo):
                time.sleep(0.001)
                if app.exception is not None:
                    raise app.exception
            if number:
                times.append(time.perf_counter() - begun)
            number += 1
    return times[-100:]


def _streaming(spark: SparkSession, settings: dict[str, str], folder: str | None) -> list[float]:
    """triggerExecution of each micro-batch, as Structured Streaming itself reports it."""
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    frames = []
    for _ in STREAMS:
        source = (
            session.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", 333)
            .option("advanceMillisPerBatch", 1000)
        )
        frames.append(
            source.load().selectExpr("timestamp AS ts", "CAST(value % 100 AS INT) AS k", "CAST(value AS DOUBLE) AS v")
        )
    union = frames[0].unionAll(frames[1]).unionAll(frames[2]).withWatermark("ts", "0 seconds")
    query_frame = union.groupBy("k", _window()).agg(*_aggregates())
    times: list[float] = []
    seen, begun = -1, time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as checkpoint:
        query = (
            query_frame.writeStream.outputMode("append").format("noop").option("checkpointLocation", checkpoint).start()
        )
        try:
            while len(times) < MOST_JOBS and not settled(times) and time.monotonic() - begun < MOST_SECONDS:
                time.sleep(0.2)
                for progress in query.recentProgress:
                    if progress.batchId > seen and progress.numInputRows:
                        seen = progress.batchId
                        times.append(progress.durationMs["triggerExecution"] / 1000)
                if query.exception() is not None:
                    raise RuntimeError(str(query.exception()))
        finally:
            query.stop()
    return times[-100:]


def _window() -> Any:
    from pyspark.sql import functions as sf

    return sf.window("ts", "10 seconds", "1 second")


def _aggregates() -> list[Any]:
    from pyspark.sql import functions as sf

    return [sf.count("*").alias("n"), sf.sum("v").alias("s"), sf.max("v").alias("m")]
