"""A fold over the rows of a range in this process: only keys that have rows or are due are looked up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import pyarrow as pa

from auroral.engine.arrowrows import arrow_type, as_numbers, from_python, sorted_by
from auroral.engine.fold import Arrived, Fold, Row, folded
from auroral.engine.foldscan import Layout
from auroral.engine.keyedstate import KeyedState, content_of, entry
from auroral.engine.sqltext import Column
from auroral.engine.statecodec import decoded, encoded


@dataclass(frozen=True, slots=True)
class Folded:
    """Rows of each output port; the state at the end; and how many rows were left out, by stime and reason."""

    outputs: tuple[pa.Table, ...]
    state: KeyedState
    left_out: Mapping[tuple[int, str], int]


def run_fold(
    fold: Fold,
    layout: Layout,
    outputs: Sequence[Sequence[Column]],
    rows: pa.Table,
    state: KeyedState,
    lo: int,
    hi: int,
) -> Folded:
    # What is compiled is shared by all jobs of an engine.
    fold = copy(fold)
    found: list[list[Row]] = [[] for _ in outputs]
    left_out: Counter[tuple[int, str]] = Counter()
    changes: dict[bytes, bytes | None] = {}

    def run(key: Row, written: bytes, arrived: Iterable[Arrived]) -> None:
        known = state.get(written)
        for given in folded(fold, key, None if known is None else content_of(known), arrived, hi):
            kind, row = layout.sorted_out(given)
            if kind < len(outputs):
                found[kind].append(row)
            else:
                left_out[row[0], row[1]] += 1
        left = fold.state()
        changes[written] = entry(None if left is None else fold.due(), left)

    for key, arrived in _by_key(layout, rows).items():
        run(key, encoded(key), arrived)
    for written in sorted(key for key in state.due(lo, hi) if key not in changes):
        run(decoded(written), written, ())
    tables = tuple(table_of(columns, given) for columns, given in zip(outputs, found, strict=True))
    return Folded(tables, state.updated(changes), left_out)


def _by_key(layout: Layout, rows: pa.Table) -> dict[Row, list[Arrived]]:
    rows = sorted_by(rows, layout.order)
    keys, read = len(layout.keys), layout.arrived()
    found: dict[Row, list[Arrived]] = {}
    for row in zip(*(as_numbers(column).to_pylist() for column in rows.select(layout.names).columns), strict=True):
        # One NaN, the same object: others are not equal to themselves.
        key = tuple([math.nan if part != part else part for part in row[:keys]])
        arrived = found.get(key)
        if arrived is None:
            arrived = found[key] = []
        arrived.append(read(row[keys:]))
    return found


def table_of(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [from_python(list(given), arrow_type(c.type)) for given, c in zip(values, columns, strict=True)]
    return pa.table(arrays, [c.name for c in columns])
