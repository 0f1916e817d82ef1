"""The oracle: a diagram over its whole input as one plain Spark batch, without buckets, slices or stored past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.engine.arrowrows import arrow_schema, as_declared
from auroral.engine.compile import compile_program
from auroral.engine.failures import explained
from auroral.engine.jobs import Leaf, run_program
from auroral.engine.relations import Edge
from auroral.engine.session import LARGE_PATH, lane
from auroral.engine.sqltext import STIME
from auroral.model.checking import Checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SourceRows:
    """All rows of one source, stamped: tables in memory, and Parquet files."""

    tables: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Parquet files of each output, and the ledger counts of boxes that leave rows out."""

    outputs: Mapping[str, list[Path]]
    counts: Mapping[tuple[str, str], int]


def run_batch(
    session: SparkSession,
    checked: Checked,
    sources: Mapping[str, SourceRows],
    until: int,
    flush: bool,
    folder: Path,
    many_bins: bool = True,
) -> BatchResult:
    """Evaluate all rows with stime below `until`; with `flush`, windows still open there are closed too.

    Without `many_bins`, see `states.box_state`: for comparing speed alone.
    """
    program = compile_program(checked, batch=True, many_bins=many_bins)
    bucket = checked.diagram.bucket
    leaves = {
        edge.name: _leaf(edge, sources[edge.name.removesuffix("@source")], until, folder) for edge in program.sources
    }
    first = min((low for leaf in leaves.values() if (low := _lowest(leaf)) is not None), default=until)
    lo = first // bucket * bucket
    hi = max(until, lo + bucket) + (total_past(checked) // bucket + 1) * bucket if flush else max(until, lo + bucket)
    names = iter(range(len(program.outputs)))
    try:
        result = run_program(
            lane(session, LARGE_PATH),
            program,
            leaves,
            lo,
            hi,
            lambda _: folder / f"output-{next(names)}.parquet",
            {},
        )
    except Exception as error:
        if failed := explained(error, lo, hi):
            raise failed from error
        raise
    outputs = {name: list(files) for name, files in result.outputs.items() if isinstance(files, list)}
    return BatchResult(outputs, result.counts)


def total_past(checked: Checked) -> int:
    """How far back any row can still matter: the longest sum of pasts along a path of boxes, in microseconds."""
    reach: dict[str, int] = {}
    for box in checked.boxes:
        own = max((reach.get(stream, 0) for stream in box.box.inputs), default=0) + box.typed.past
        reach.update(dict.fromkeys(box.box.outputs, own))
    return max(reach.values(), default=0)


def _leaf(edge: Edge, rows: SourceRows, until: int, folder: Path) -> Leaf:
    """Rows in memory go to a file as well: Spark reads files in parallel, and the driver need not hand over millions of rows."""
    files = list(rows.files)
    if rows.tables:
        table = pa.concat_tables([as_declared(t, edge.columns) for t in rows.tables])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"source-{abs(hash(edge.name)):x}.parquet"
        pq.write_table(table.filter(pc.less(table.column(STIME), until)).cast(arrow_schema(edge.columns)), path)
        files.append(str(path))
    return Leaf(edge.columns, [], files, sum(pq.read_metadata(f).num_rows for f in files), below=until)


def _lowest(leaf: Leaf) -> int | None:
    lowest = [pc.min(pq.read_table(f, columns=[STIME]).column(STIME)).as_py() for f in leaf.files]
    return min((low for low in lowest if low is not None), default=None)
