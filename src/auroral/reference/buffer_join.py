"""Joins with what buffers hold: a number of rows, or rows up to a distance of values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from auroral.model.boxes.join import TypedBufferJoin
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet, picked
from auroral.reference.names import Reading
from auroral.reference.row_windows import exact
from auroral.reference.rows import Row


class Buffer:
    """The rows of one side that wait, in the order in which they came, and the largest value of its field so far."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.largest: Fraction | None = None


class BufferJoinMachine:
    def __init__(self, box: TypedBufferJoin, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.inputs = inputs
        self.reading = Reading(inputs, ("left", "right"))
        self.outlet = outlet
        self.buffers = (Buffer(), Buffer())

    def on_row(self, port: int, row: Row) -> None:
        if self.box.looks[port]:
            for waiting in self.buffers[1 - port].rows:
                left, right = (row, waiting) if port == 0 else (waiting, row)
                if self.reading.value(self.box.predicate, left, right) is True:
                    values = tuple(self.reading.value(typed, left, right) for _, typed in self.box.columns)
                    order = (left.stime, *left.order, right.stime, *right.order)
                    self.outlet.emit(0, Row(row.stime, values, order))
        self._keep(port, row)

    def _keep(self, port: int, row: Row) -> None:
        buffer, kept = self.buffers[port], self.box.buffers[port]
        buffer.rows.append(row)
        if kept.rows is not None:
            buffer.rows = buffer.rows[max(0, len(buffer.rows) - kept.rows) :]
        if kept.field is not None and kept.size is not None:
            value = self._value(port, row)
            if value is not None and (buffer.largest is None or value > buffer.largest):
                buffer.largest = value
            near = None if buffer.largest is None else buffer.largest - kept.size
            found = [(waiting, self._value(port, waiting)) for waiting in buffer.rows]
            buffer.rows = [w for w, value in found if value is not None and near is not None and value >= near]

    def _value(self, port: int, row: Row) -> Fraction | None:
        field = self.box.buffers[port].field
        assert field is not None
        return exact(picked(row, self.inputs[port], (field,))[0])

    def on_boundary(self, stime: float) -> None:
        for side, buffer in enumerate(self.buffers):
            lifetime = self.box.lifetime(side)
            if lifetime is not None:
                buffer.rows = [row for row in buffer.rows if row.stime + lifetime > stime]
