"""Rows of several streams put together by a key."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.combine import TypedCombine
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet, picked
from auroral.reference.names import Reading
from auroral.reference.rows import Key, Row, equality_key
from auroral.reference.stateless import Stateless


class CombineMachine(Stateless):
    def __init__(self, box: TypedCombine, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.inputs = inputs
        self.reading = Reading(inputs, box.names)
        self.outlet = outlet
        self.waiting: dict[Key, list[list[Row]]] = {}

    def on_row(self, port: int, row: Row) -> None:
        key = equality_key(picked(row, self.inputs[port], (self.box.key,)))
        queues = self.waiting.setdefault(key, [[] for _ in self.inputs])
        queues[port].append(row)
        if all(queues):
            rows = [queue.pop(0) for queue in queues]
            values = tuple(self.reading.value(typed, *rows) for _, typed in self.box.columns)
            order = tuple(part for one in rows for part in (one.stime, *one.order))
            self.outlet.emit(0, Row(row.stime, values, order))
