"""Aggregates that boundaries close: windows on stime, and windows on event time with lateness."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.aggregate import (
    TypedAggregateBox,
    TypedEventTimeAggregate,
    TypedStimeAggregate,
    WindowSample,
    WindowStart,
)
from auroral.model.stream import StreamType
from auroral.model.types import INTEGER_BITS, LONG
from auroral.model.windows import LatePolicy
from auroral.reference.aggregates import Accumulators
from auroral.reference.exact import wrapped
from auroral.reference.machine import AHEAD, LATE, Outlet, picked, window_numbers
from auroral.reference.names import Reading
from auroral.reference.rows import Key, Row, Value, Values, equality_key, group_value


class Group:
    """One group's rows in one window."""

    def __init__(self, values: Values, accumulators: Accumulators):
        self.values = values
        self.accumulators = accumulators


class Grouping:
    """How a box tells groups apart, and what it makes of one group's window."""

    def __init__(self, box: TypedAggregateBox, inputs: Sequence[StreamType]):
        self.box = box
        (self.stream,) = inputs
        self.reading = Reading(inputs)

    def values(self, row: Row) -> Values:
        return tuple(map(group_value, picked(row, self.stream, self.box.group_by)))

    def add(self, window: dict[Key, Group], row: Row) -> Group:
        values = self.values(row)
        group = window.setdefault(equality_key(values), Group(values, self.accumulators()))
        group.accumulators.add(row)
        return group

    def accumulators(self) -> Accumulators:
        return Accumulators(self.box.functions, self.reading)

    def keeps(self, samples: Sequence[WindowSample], values: Values, number: int) -> bool:
        """Whether drops upstream left window `number` of a group whole: it must not appear half filled."""
        types = (self.stream.schema[name] for name in self.box.group_by)
        columns = list(zip(types, values, strict=True))
        return not any(sample.drops(columns, number) for sample in samples)

    def result(self, group: Group, start: int | None = None) -> Values:
        named: tuple[Value, ...] = ()
        if self.box.start is not None:
            assert start is not None
            named = (start_value(self.box.start, start),)
        return (*group.values, *named, *group.accumulators.results())


def start_value(named: WindowStart, start: int) -> Value:
    """A window's start in the unit of the field that names it, rounded down where that is coarser."""
    value = (start - named.offset) // named.unit
    return wrapped(value, INTEGER_BITS.get(named.field.type.kind, INTEGER_BITS[LONG.kind]))


class StimeMachine:
    def __init__(self, box: TypedStimeAggregate, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.windows: dict[int, dict[Key, Group]] = {}

    def on_row(self, port: int, row: Row) -> None:
        for m in window_numbers(row.stime, self.box.size, self.box.advance, self.box.phase):
            self.grouping.add(self.windows.setdefault(m, {}), row)

    def on_boundary(self, stime: float) -> None:
        for m in sorted(self.windows):
            start = m * self.box.advance + self.box.phase
            end = start + self.box.size
            if end > stime:
                continue
            for group in self.windows.pop(m).values():
                if self.grouping.keeps(self.box.kept_windows, group.values, m):
                    self.outlet.emit(0, Row(end - 1, self.grouping.result(group, start), group.values))


class EventTimeMachine:
    """A row counts for a window up to the window's end + lateness; from then on it is late for it."""

    def __init__(self, box: TypedEventTimeAggregate, inputs: Sequence[StreamType], outlet: Outlet):
        self.window = box.window
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.open: dict[int, dict[Key, Group]] = {}
        self.closed: dict[int, dict[Key, Group]] = {}
        self.corrections: dict[tuple[int, int, Key], Group] = {}

    def on_row(self, port: int, row: Row) -> None:
        window = self.window
        (event,) = picked(row, self.grouping.stream, (window.field,))
        if event is None:
            self._refuse(row, LATE)
            return
        assert isinstance(event, int)
        if event > row.stime + window.ahead:
            self._refuse(row, AHEAD)
            return
        taken = False
        for m in window_numbers(event, window.size, window.advance):
            start = m * window.advance
            close = start + window.size + window.lateness
            if row.stime < close:
                self.grouping.add(self.open.setdefault(start, {}), row)
                taken = True
            elif window.late is LatePolicy.CORRECT and row.stime < close + window.correct_for:
                group = self.grouping.add(self.closed.setdefault(start, {}), row)
                self.corrections[row.stime, start, equality_key(group.values)] = group
                taken = True
        if not taken:
            self._refuse(row, LATE)

    def _refuse(self, row: Row, reason: str) -> None:
        self.outlet.count(reason)
        if self.window.late is LatePolicy.SIDE:
            self.outlet.emit(1, row)

    def on_boundary(self, stime: float) -> None:
        # All rows of a correction's stime have come when the boundary passes it: one correction has them all.
        for at, start, key in list(self.corrections):
            if at < stime:
                self._emit(at, start, self.corrections.pop((at, start, key)))
        for start in sorted(self.open):
            close = start + self.window.size + self.window.lateness
            if close <= stime:
                groups = self.open.pop(start)
                for group in groups.values():
                    self._emit(close - 1, start, group)
                self.closed[start] = groups
        for start in list(self.closed):
            if start + self.window.size + self.window.lateness + self.window.correct_for <= stime:
                del self.closed[start]

    def _emit(self, stime: int, start: int, group: Group) -> None:
        self.outlet.emit(0, Row(stime, self.grouping.result(group, start), (start, *group.values)))
