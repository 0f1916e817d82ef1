"""Rows as the protocol carries them: one table a bucket, in processing order, with stime first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from auroral.dpc.values import Content
from auroral.engine.arrowrows import sequence_hash
from auroral.engine.sqltext import SEQ, STIME

_BITS = 62
"""Of a hash. Hashes of rows are never negative, and travel as signed numbers."""


def content_of(rows: pa.Table) -> Content:
    # Whatever way they came: files of Spark say of columns that nothing is missing, and of themselves who wrote them.
    rows = rows.cast(pa.schema([pa.field(field.name, field.type) for field in rows.schema]))
    return Content(int(sequence_hash(rows)[:16], 16) >> 64 - _BITS, rows.num_rows, rows)


def by_bucket(rows: pa.Table, begin: int, end: int, interval: int) -> list[pa.Table]:
    """Rows in the order of their stimes, cut into the buckets [begin, end), which are numbered since 1970."""
    ends = np.arange(begin, end + 1, dtype=np.int64) * interval
    at = np.searchsorted(rows.column(STIME).to_numpy(), ends)
    return [rows.slice(int(a), int(b - a)) for a, b in pairwise(at)]


def numbered(contents: Iterable[Content], schema: pa.Schema) -> pa.Table:
    """Rows of buckets that follow one another, as an engine takes them from a source. What is lost has no rows."""
    tables, numbers = [schema.empty_table()], [np.empty(0, np.int64)]
    for content in contents:
        if content.rows is not None:
            tables.append(content.rows.cast(schema))
            numbers.append(np.arange(content.count, dtype=np.int64))
    together = pa.concat_tables(tables)
    return together.add_column(1, SEQ, pa.array(np.concatenate(numbers)))


def state_content(states: Mapping[str, pa.Table]) -> Content:
    """The state of a query's folds, by edge, as rows that can be sent and stored."""
    written = {name: _written(table) for name, table in states.items()}
    digest = hashlib.blake2b(digest_size=8)
    for name, data in sorted(written.items()):
        digest.update(name.encode() + data)
    rows = pa.table(
        {"edge": pa.array([*written], pa.string()), "rows": pa.array([*written.values()], pa.large_binary())}
    )
    return Content(int.from_bytes(digest.digest()) >> 64 - _BITS, len(written), rows)


def states_in(content: Content) -> dict[str, pa.Table]:
    return {row["edge"]: pa.ipc.open_stream(row["rows"]).read_all() for row in content.rows.to_pylist()}


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
