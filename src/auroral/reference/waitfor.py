"""Rows that wait until a row of another stream lets them go on."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.waitfor import TypedWaitFor
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet
from auroral.reference.names import Reading
from auroral.reference.rows import Row


class WaitForMachine:
    def __init__(self, box: TypedWaitFor, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.reading = Reading(inputs, ("buffered", "enabler"))
        self.outlet = outlet
        self.waiting: list[Row] = []

    def on_row(self, port: int, row: Row) -> None:
        if port == 0:
            self.waiting.append(row)
            return
        held = []
        for waiting in self.waiting:
            if self.reading.value(self.box.predicate, waiting, row) is True:
                self.outlet.emit(0, Row(row.stime, waiting.values, (*row.order, waiting.stime, *waiting.order)))
            else:
                held.append(waiting)
        self.waiting = held

    def on_boundary(self, stime: float) -> None:
        self.waiting = [row for row in self.waiting if row.stime + self.box.timeout > stime]
