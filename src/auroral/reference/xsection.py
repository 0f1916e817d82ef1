"""Cross-sections: aggregates over the newest row of each of many."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.xsection import TypedXSection
from auroral.model.stream import StreamType
from auroral.reference.aggregates import Accumulators
from auroral.reference.machine import Outlet, picked
from auroral.reference.names import Reading
from auroral.reference.rows import Key, Row, equality_key
from auroral.reference.stateless import Stateless


class XSectionMachine(Stateless):
    def __init__(self, box: TypedXSection, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        (self.stream,) = inputs
        self.reading = Reading(inputs)
        self.outlet = outlet
        self.newest: dict[Key, Row] = {}

    def on_row(self, port: int, row: Row) -> None:
        key = equality_key(picked(row, self.stream, self.box.across))
        # Out and in again: the rows stay in the order in which they came.
        self.newest.pop(key, None)
        self.newest[key] = row
        accumulators = Accumulators(self.box.functions, self.reading)
        for one in self.newest.values():
            if self.box.within is None or one.stime + self.box.within >= row.stime:
                accumulators.add(one)
        self.outlet.emit(0, Row(row.stime, accumulators.results(), row.order))
