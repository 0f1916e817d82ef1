"""A fold's state over time: a snapshot, and the deltas since."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine.arrowrows import empty
from auroral.engine.relations import StateEdge

SNAPSHOT_EVERY = 64
"""Deltas after which they are folded into the snapshot."""


@dataclass(slots=True)
class _Kept:
    snapshot: pa.Table
    at: int
    deltas: list[tuple[int, pa.Table]] = field(default_factory=list)


@dataclass(slots=True)
class StateLog:
    """For each state edge the newest row of each key; deltas are rows of the keys that a range touched."""

    _kept: dict[str, _Kept] = field(default_factory=dict)

    def read(self, edge: StateEdge, at: int) -> pa.Table:
        """The state at stime `at`, where the ranges so far end."""
        kept = self._kept.get(edge.name)
        if kept is None:
            return empty(edge.columns)
        if kept.deltas and kept.deltas[-1][0] > at:
            raise ValueError(f"{edge.name}: the state is at {kept.deltas[-1][0]}, after {at}")
        return _newest(edge, [kept.snapshot, *(rows for _, rows in kept.deltas)])

    def append(self, edge: StateEdge, lo: int, hi: int, rows: pa.Table) -> None:
        kept = self._kept.setdefault(edge.name, _Kept(empty(edge.columns), lo))
        kept.deltas.append((hi, rows))
        if len(kept.deltas) >= SNAPSHOT_EVERY:
            kept.snapshot = _newest(edge, [kept.snapshot, *(delta for _, delta in kept.deltas)])
            kept.at, kept.deltas = hi, []

    def begin(self, edge: StateEdge, rows: pa.Table, at: int) -> None:
        """With this state, whatever was before."""
        self._kept[edge.name] = _Kept(rows, at)

    def dump(self) -> bytes:
        """All state edges as bytes, for a durable snapshot."""
        merged = {name: (k.snapshot, k.at, k.deltas) for name, k in self._kept.items()}
        return pickle.dumps(merged, protocol=5)

    def load(self, dumped: bytes) -> None:
        loaded: dict[str, Any] = pickle.loads(dumped)
        self._kept = {name: _Kept(snapshot, at, deltas) for name, (snapshot, at, deltas) in loaded.items()}


def _newest(edge: StateEdge, tables: list[pa.Table]) -> pa.Table:
    """For each key the row that comes last."""
    together = pa.concat_tables(tables)
    if not edge.keys:
        last = together.slice(max(0, together.num_rows - 1))
        return last.filter(pc.is_valid(last.column("__state")))
    positions = together.select(list(edge.keys)).append_column("__at", pa.array(range(together.num_rows), pa.int64()))
    last = positions.group_by(list(edge.keys)).aggregate([("__at", "max")]).column("__at_max")
    newest = together.take(last)
    return newest.filter(pc.is_valid(newest.column("__state")))
