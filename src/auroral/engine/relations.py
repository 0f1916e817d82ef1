"""Edges of a compiled program: what is read, kept and given out, and for how long it is needed."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.engine.slices import Slicing
from auroral.engine.sqltext import STIME, Column, order_column
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation with an `__stime` column. `past` is how far before a range's start its rows are read."""

    name: str
    columns: tuple[Column, ...]
    past: int = 0

    def ddl(self) -> str:
        return ", ".join(column.ddl() for column in self.columns)


@dataclass(frozen=True, slots=True)
class SliceEdge(Edge):
    """The nodes of an aggregate's slices, of all levels; read node by node. `bins` are those that a statement takes to be 0."""

    slicing: Slicing | None = None
    bins: tuple[str, ...] = ()


def stream_columns(stream: StreamType, ordered: bool) -> tuple[Column, ...]:
    """stime, the order key where it is needed, then the fields."""
    order = [Column(order_column(i), t.spark) for i, t in enumerate(stream.order)] if ordered else []
    return (Column(STIME, "BIGINT"), *order, *(Column(f.name, f.type.spark) for f in stream.schema.fields))


def kept_name(edge: Edge) -> str:
    """What statements call the stored part of an edge that they also make: sources have no such part."""
    return edge.name if edge.name.endswith("@source") else edge.name + "@kept"
