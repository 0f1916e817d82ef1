"""Aggregates that rows close: windows from a group's first row on, landmark windows, runs of equal rows."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.aggregate import TypedFirstAligned, TypedLandmark, TypedRuns
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet, window_numbers
from auroral.reference.rows import Key, Row, equality_key
from auroral.reference.stateless import Stateless
from auroral.reference.windows import Group, Grouping


class FirstAlignedMachine(Stateless):
    """Each group has windows of its own, counted from its first row; a row past a window's end closes it."""

    def __init__(self, box: TypedFirstAligned, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.first: dict[Key, int] = {}
        self.windows: dict[Key, dict[int, Group]] = {}

    def on_row(self, port: int, row: Row) -> None:
        values = self.grouping.values(row)
        key = equality_key(values)
        first = self.first.setdefault(key, row.stime)
        windows = self.windows.setdefault(key, {})
        for start in sorted(windows):
            if start + self.box.size <= row.stime:
                result = self.grouping.result(windows.pop(start), start)
                self.outlet.emit(0, Row(row.stime, result, (*row.order, start)))
        for m in window_numbers(row.stime, self.box.size, self.box.advance, first):
            if m >= 0:
                start = first + m * self.box.advance
                group = windows.setdefault(start, Group(values, self.grouping.accumulators()))
                group.accumulators.add(row)


class LandmarkMachine(Stateless):
    """Every row gives the result of its group over all rows so far."""

    def __init__(self, box: TypedLandmark, inputs: Sequence[StreamType], outlet: Outlet):
        self.origin = box.origin
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.groups: dict[Key, Group] = {}

    def on_row(self, port: int, row: Row) -> None:
        if self.origin is None or row.stime >= self.origin:
            group = self.grouping.add(self.groups, row)
            self.outlet.emit(0, Row(row.stime, self.grouping.result(group), row.order))


class RunsMachine(Stateless):
    """Aurora's Tumble: the first row with other group-by values closes the run, whatever its stime."""

    def __init__(self, box: TypedRuns, inputs: Sequence[StreamType], outlet: Outlet):
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.run: Group | None = None

    def on_row(self, port: int, row: Row) -> None:
        values = self.grouping.values(row)
        if self.run is None or equality_key(values) != equality_key(self.run.values):
            if self.run is not None:
                self.outlet.emit(0, Row(row.stime, self.grouping.result(self.run), row.order))
            self.run = Group(values, self.grouping.accumulators())
        self.run.accumulators.add(row)
