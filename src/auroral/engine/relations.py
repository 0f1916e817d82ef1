"""Edges of a compiled program: what is read, kept and given out, and for how long it is needed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine.arrowrows import as_declared
from auroral.engine.slices import Slicing
from auroral.engine.sqltext import ROWS, STIME, Column, order_column
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation with an `__stime` column. `past` is how far before a range's start its rows are read."""

    name: str
    columns: tuple[Column, ...]
    past: int = 0


@dataclass(frozen=True, slots=True)
class SliceEdge(Edge):
    """The nodes of an aggregate's slices, of all levels; read node by node. `bins` are those that a statement takes to be 0.

    Where states can be subtracted, `sums` are the columns in which; `flags` must be 0 for it.
    """

    slicing: Slicing = field(kw_only=True)
    bins: tuple[str, ...] = field(kw_only=True)
    sums: tuple[str, ...] = field(kw_only=True)
    flags: tuple[str, ...] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class StateEdge(Edge):
    """A fold's state. Rows are those of the keys that a range touched, under its last microsecond: when the key is due, and its state, null
    where the key is to be forgotten."""

    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Both:
    """A relation of which rows with `__l` = -1 are rows of stream `output` and the others rows of the kept edge `kept`.

    It has the kept edge's columns and, as __r0.., those of the output. Small jobs fetch it once, where two statements would
    compute it twice.
    """

    relation: str
    output: Edge
    kept: SliceEdge

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.kept.columns, *(Column(f"__r{i}", c.type) for i, c in enumerate(self.output.columns)))

    def split(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows of the output, and those to keep: of an aggregate that can subtract, the windows' states too."""
        windows = pc.equal(rows.column("__l"), -1)
        stored = pc.invert(windows)
        if self.kept.sums:
            # A group of which all rows have been left behind is not there any more.
            windows = pc.and_(windows, pc.not_equal(rows.column(ROWS), 0))
            stored = pc.or_(stored, windows)
        kept = len(self.kept.columns)
        given = (
            rows.filter(windows)
            .select(range(kept, rows.num_columns))
            .rename_columns([c.name for c in self.output.columns])
        )
        states = rows.filter(stored).select(range(kept))
        return as_declared(given, self.output.columns), as_declared(states, self.kept.columns)


def stream_columns(stream: StreamType, ordered: bool) -> tuple[Column, ...]:
    """stime, the order key where it is needed, then the fields."""
    order = [Column(order_column(i), t.spark) for i, t in enumerate(stream.order)] if ordered else []
    return (Column(STIME, "BIGINT"), *order, *(Column(f.name, f.type.spark) for f in stream.schema.fields))


def kept_name(edge: Edge) -> str:
    """What statements call the stored part of an edge that they also make: sources have no such part."""
    return edge.name if edge.name.endswith("@source") else edge.name + "@kept"
