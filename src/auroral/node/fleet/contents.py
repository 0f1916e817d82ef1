"""Rows as the protocol carries them: one table a bucket, in processing order, with stime first."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pyarrow as pa

from auroral.dpc.values import Content, GiveState, Message, Snapshot
from auroral.engine.arrowrows import sequence_hash
from auroral.engine.foldstates import FoldStates, states_from
from auroral.engine.sqltext import SEQ, STIME
from auroral.wire.measuring import measured

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


def state_content(states: FoldStates) -> Content:
    """The states of a query's folds: not as rows, but as the value itself, of which only what changed is ever written."""
    return Content(states.digest >> 128 - _BITS, states.count, states)


def states_in(content: Content) -> FoldStates:
    """Also where they came as rows, from another replica."""
    return content.rows if isinstance(content.rows, FoldStates) else states_from(content.rows)


def to_be_written(message: Message) -> GiveState | None:
    """Where it has states of folds that must be written before it can be sent."""
    match message:
        case GiveState(_, Snapshot(_, Content(_, _, FoldStates()))):
            return message
        case _:
            return None


def as_sent(message: GiveState) -> GiveState:
    """With the states of folds as rows: all of them, whatever the receiver may have."""
    state = message.snapshot.state
    assert state is not None
    rows = state.rows.rows()
    measured(rows)
    return GiveState(message.stream, Snapshot(message.snapshot.bucket, Content(state.hash, state.count, rows)))
