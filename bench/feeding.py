"""Generated rows, and engines fed with them."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auroral.engine.edgelog import STABLE, Segment, parquet_segment
from auroral.engine.evaluate import Engine
from auroral.model.builder import DiagramBuilder
from auroral.model.checking import check
from auroral.model.parquet_layout import stored_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = 1_000_000
SCHEMA = "ts timestamp, k int, v double"


def rows(lo: int, hi: int, count: int, keys: int, seed: int) -> pa.Table:
    """`count` rows of SCHEMA with stimes in [lo, hi), in order."""
    random = np.random.default_rng(seed)
    stime = np.sort(random.integers(lo, hi, count))
    return pa.table(
        {
            "__stime": stime,
            "__seq": np.arange(count),
            "ts": pa.array(stime).cast(pa.timestamp("us", tz="UTC")),
            "k": random.integers(0, keys, count).astype("int32"),
            "v": random.normal(0, 100, count),
        }
    )


@contextmanager
def engine(spark: SparkSession, diagram: DiagramBuilder) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(dir=hot_folder()) as folder:
        yield Engine(spark, check(diagram.build()), Path(folder))


def hot_folder() -> str | None:
    """Where files are in memory, if the machine has such a place."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def one_bucket(engine: Engine, number: int, streams: Sequence[str], count: int, keys: int) -> float:
    """Seconds from a closed bucket to its output."""
    lo = number * BUCKET
    for position, stream in enumerate(streams):
        table = rows(lo, lo + BUCKET, count, keys, number * 7 + position)
        engine.offer(stream, Segment(lo, lo + BUCKET, STABLE, count, table))
    begun = time.perf_counter()
    engine.evaluate(lo, lo + BUCKET)
    return time.perf_counter() - begun


def offer_file(engine: Engine, stream: str, table: pa.Table, path: Path, buckets: int) -> None:
    pq.write_table(table, path, row_group_size=200_000, **stored_layout(table.schema))
    engine.offer(stream, parquet_segment(0, buckets * BUCKET, STABLE, [path]))


def percentile(values: Sequence[float], share: float) -> float:
    return float(np.percentile(values, share * 100))


def settled(times: Sequence[float], window: int = 100) -> bool:
    """Whether the last two windows of measurements have medians within 5 %."""
    if len(times) < 2 * window:
        return False
    newer, older = (statistics.median(times[-window:]), statistics.median(times[-2 * window : -window]))
    return abs(newer - older) <= 0.05 * older


def ms(seconds: float) -> float:
    return round(1000 * seconds, 1)
