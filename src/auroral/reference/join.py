"""Joins of two streams within a window of stime."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.join import JoinKind, TypedJoin
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet
from auroral.reference.names import Reading
from auroral.reference.rows import Row, Value


class Waiting:
    """A row that may still find partners."""

    def __init__(self, row: Row):
        self.row = row
        self.matched = False


class JoinMachine:
    """A row waits for the other side as long as its own side's buffer is: rows up to stime + size find it."""

    def __init__(self, box: TypedJoin, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.inputs = inputs
        self.sizes = (box.left_size, box.right_size)
        self.outer = (box.kind is JoinKind.LEFT, box.kind is JoinKind.RIGHT)
        self.reading = Reading(inputs, ("left", "right"))
        self.outlet = outlet
        self.waiting: tuple[list[Waiting], list[Waiting]] = ([], [])

    def on_row(self, port: int, row: Row) -> None:
        new = Waiting(row)
        for earlier in self.waiting[1 - port]:
            # Rows come by stime, so the earlier row is never the later one of the pair.
            if row.stime > earlier.row.stime + self.sizes[1 - port]:
                continue
            left, right = (new, earlier) if port == 0 else (earlier, new)
            if self.reading.value(self.box.predicate, left.row, right.row) is True:
                new.matched = earlier.matched = True
                self._emit(row.stime, left.row, right.row)
        self.waiting[port].append(new)

    def on_boundary(self, stime: float) -> None:
        for port, rows in enumerate(self.waiting):
            over = [w for w in rows if w.row.stime + self.sizes[port] < stime]
            rows[:] = [w for w in rows if w.row.stime + self.sizes[port] >= stime]
            if not self.outer[port]:
                continue
            for alone in over:
                if not alone.matched:
                    sides = (alone.row, None) if port == 0 else (None, alone.row)
                    self._emit(alone.row.stime + self.sizes[port], *sides)

    def _emit(self, stime: int, left: Row | None, right: Row | None) -> None:
        values = tuple(self.reading.value(typed, left, right) for _, typed in self.box.columns)
        order: list[Value] = []
        for row, stream in zip((left, right), self.inputs, strict=True):
            order += (row.stime, *row.order) if row is not None else [None] * (1 + len(stream.order))
        self.outlet.emit(0, Row(stime, values, tuple(order)))
