"""Nexmark q0 to q8 over generated events: the engine in one job, beside the plain batch run of the same diagram."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from examples.nexmark.generator import Site, tables

from auroral.commands.programs import diagrams_of_program
from auroral.engine.batch import SourceRows, run_batch
from auroral.engine.session import start_session
from auroral.model.builder import DiagramBuilder
from auroral.model.checking import Checked, check
from bench.feeding import BUCKET, engine, hot_folder, offer_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS, A_SECOND = 1_000_000, 10_000
QUERIES = tuple(f"q{number}" for number in range(9))
EXAMPLES = Path(__file__).parents[1] / "examples" / "nexmark"
ENOUGH_RUNS, ENOUGH_SECONDS = 8, 60
"""Of each side so many runs, or for so many seconds; the shortest counts."""


def measure(events: int = EVENTS) -> dict[str, Any]:
    spark = start_session(memory="6g", partitions=4)
    site = Site(events=events, a_second=A_SECOND, in_flight=100, begin=datetime(1970, 1, 1, tzinfo=UTC))
    buckets = -(-events // A_SECOND)
    streams = {name: stamped(rows) for name, rows in tables(site).items()}
    lines, found = [], {}
    with tempfile.TemporaryDirectory(dir=hot_folder()) as folder:
        for query in QUERIES:
            found[query] = compared(spark, query, streams, buckets, Path(folder))
            lines.append(f"{query}: {_line(found[query])}")
            print("  " + lines[-1], flush=True)
    return {"table": lines, "events": events, "rows_per_second": found}


def compared(
    spark: SparkSession, query: str, streams: dict[str, pa.Table], buckets: int, folder: Path
) -> dict[str, Any]:
    """Rows of the query's inputs a second, on both sides."""
    (diagram,) = diagrams_of_program(str(EXAMPLES / f"{query}.py"))
    assert isinstance(diagram, DiagramBuilder)
    checked = check(diagram.build())
    read = {given.stream: streams[given.stream] for given in checked.diagram.inputs}
    rows = sum(table.num_rows for table in read.values())
    for stream, table in read.items():
        pq.write_table(table, folder / f"{stream}.parquet", row_group_size=200_000)
    ours = _shortest(lambda attempt: _ours(spark, diagram, read, buckets, folder / f"ours-{query}-{attempt}"))
    batch = _shortest(lambda attempt: _batch(spark, checked, folder, buckets, folder / f"batch-{query}-{attempt}"))
    return {
        "rows": rows,
        "auroral": round(rows / ours),
        "batch": round(rows / batch),
        "to_batch": round(batch / ours, 2),
    }


def stamped(rows: list[dict[str, Any]]) -> pa.Table:
    """As sources log them; the stime is `ts`."""
    table = pa.Table.from_pylist(rows)
    stimes = table["ts"].cast(pa.timestamp("us", tz="UTC"))
    table = table.set_column(table.column_names.index("ts"), "ts", stimes)
    return table.add_column(0, "__seq", pa.array(np.arange(len(rows)))).add_column(
        0, "__stime", stimes.cast(pa.int64())
    )


def _shortest(run: Callable[[int], float]) -> float:
    times: list[float] = []
    while len(times) < ENOUGH_RUNS and sum(times) < ENOUGH_SECONDS:
        times.append(run(len(times)))
    return min(times)


def _ours(spark: SparkSession, diagram: DiagramBuilder, read: dict[str, pa.Table], buckets: int, folder: Path) -> float:
    folder.mkdir()
    with engine(spark, diagram) as running:
        for stream, table in read.items():
            offer_file(running, stream, table, folder / f"{stream}.parquet", buckets)
        begun = time.perf_counter()
        running.evaluate(0, buckets * BUCKET)
        return time.perf_counter() - begun


def _batch(spark: SparkSession, checked: Checked, folder: Path, buckets: int, out: Path) -> float:
    sources = {
        given.stream: SourceRows([], [str(folder / f"{given.stream}.parquet")]) for given in checked.diagram.inputs
    }
    begun = time.perf_counter()
    run_batch(spark, checked, sources, buckets * BUCKET, False, out, many_bins=False)
    return time.perf_counter() - begun


def _line(found: dict[str, Any]) -> str:
    return (
        f"{found['auroral']:,} rows/s; batch {found['batch']:,} (ratio {found['to_batch']}) over {found['rows']:,} rows"
    )
