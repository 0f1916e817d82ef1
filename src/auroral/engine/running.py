"""Windows that go on from the one before: its state, less what they leave behind, plus what has come since.

Counts and exact sums are integers and can be subtracted without loss. A window over many keys then costs two reads of its keys,
however long it is, where O(log n) nodes may each have nearly all keys. What cannot be subtracted is put together from nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine.edgelog import STABLE, EdgeLog, Version
from auroral.engine.relations import SliceEdge


@dataclass(slots=True)
class RunningWindows:
    """The state of the newest window of each aggregate that can subtract. It is made anew where it is lost."""

    _newest: dict[str, tuple[int, pa.Table]] = field(default_factory=dict)

    def remember(self, edge: SliceEdge, lo: int, hi: int, states: pa.Table, version: Version) -> None:
        """`states` are those of the windows that end in (lo, hi]."""
        starts = edge.slicing.windows(edge.slicing.cell(lo), edge.slicing.cell(hi))
        if not starts:
            return
        self.forget(edge)
        rows = states.filter(pc.equal(states.column("__i"), starts[-1]))
        if edge.sums and version is STABLE and not _has_flags(edge, rows):
            self._newest[edge.name] = (starts[-1], rows)

    def forget(self, edge: SliceEdge) -> None:
        self._newest.pop(edge.name, None)

    def successor(self, log: EdgeLog, edge: SliceEdge, lo: int, hi: int) -> list[pa.Table] | None:
        """The only window that ends in (lo, hi], but for the range's own rows: states that add up to it, or None."""
        slicing = edge.slicing
        start, newest = slicing.successor(slicing.cell(lo), slicing.cell(hi)), self._newest.get(edge.name)
        if not edge.sums or start is None or newest is None or newest[0] != start - slicing.step:
            return None
        parts = [newest[1]]
        for node in slicing.left_behind(start):
            stime = slicing.stime_of(*node)
            segments = list(log.best(edge, stime, stime + 1))
            if [segment.version for segment in segments] != [STABLE]:
                return None
            gone = of_node(segments[0].load(edge), node)
            if _has_flags(edge, gone):
                return None
            parts.append(_negated(edge, gone))
        for node in slicing.come_since(start, slicing.cell(lo)):
            parts += stored(log, edge, node)
        return [moved(part, (-1, start)) for part in parts]


def stored(log: EdgeLog, edge: SliceEdge, node: tuple[int, int]) -> Iterator[pa.Table]:
    stime = edge.slicing.stime_of(*node)
    for segment in log.best(edge, stime, stime + 1):
        yield of_node(segment.load(edge), node)


def of_node(rows: pa.Table, node: tuple[int, int]) -> pa.Table:
    return rows.filter(pc.and_(pc.equal(rows.column("__l"), node[0]), pc.equal(rows.column("__i"), node[1])))


def moved(rows: pa.Table, target: tuple[int, int]) -> pa.Table:
    """The rows under another node or window."""
    level = pa.repeat(pa.scalar(target[0], pa.int32()), rows.num_rows)
    index = pa.repeat(pa.scalar(target[1], pa.int64()), rows.num_rows)
    at = rows.schema.get_field_index
    return rows.set_column(at("__l"), "__l", level).set_column(at("__i"), "__i", index)


def _has_flags(edge: SliceEdge, rows: pa.Table) -> bool:
    """Whether some value was infinite or NaN: that cannot be subtracted."""
    return any(pc.any(pc.not_equal(rows.column(name), 0)).as_py() for name in edge.flags)


def _negated(edge: SliceEdge, rows: pa.Table) -> pa.Table:
    for name in edge.sums:
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pc.negate(rows.column(at)))
    return rows
