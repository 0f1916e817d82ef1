"""Windows of values of a field, and windows of a number of rows: closed by rows, or by a timeout."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from auroral.model.boxes.aggregate import TypedTupleWindows, TypedValueWindows
from auroral.model.decimals import scaled
from auroral.model.expression.singles import nearest_single
from auroral.model.stream import StreamType
from auroral.model.types import INTEGER_BITS, FieldType, Kind
from auroral.model.windows import Alignment
from auroral.reference.exact import wrapped
from auroral.reference.machine import LATE, Outlet, picked, window_numbers
from auroral.reference.rows import Key, Row, Value, Values, equality_key
from auroral.reference.windows import Group, Grouping


def exact(value: Value) -> Fraction | None:
    """The number that a field holds; None where it is none: null, NaN and the infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return Fraction(value) if isinstance(value, int | float | Decimal) else None


def as_field(value: Fraction, kind: FieldType) -> Value:
    """The number as a field holds it, rounded down where the field is coarser; a floating one to the nearest."""
    if kind.is_float:
        return nearest_single(float(value)) if kind.kind is Kind.SINGLE else float(value)
    if kind.kind is Kind.DECIMAL:
        return scaled(math.floor(value * 10 ** (kind.scale or 0)), kind)
    return wrapped(math.floor(value), INTEGER_BITS.get(kind.kind, 64))


class Opened(Group):
    """A window that has rows, and when its first one came."""

    def __init__(self, values: Values, grouping: Grouping, stime: int):
        super().__init__(values, grouping.accumulators())
        self.stime = stime
        self.rows = 0
        self.first: Value = None


class ValuesOfGroup:
    """One group: its open windows by start, its largest values, and the end up to which timeouts have closed windows."""

    def __init__(self, values: Values):
        self.values = values
        self.origin: Fraction | None = None
        self.windows: dict[Fraction, Opened] = {}
        self.largest: list[Fraction] = []
        self.timed_out: Fraction | None = None


class ValueWindowsMachine:
    """A window is closed once more than `slack` rows of its group lie at or past its end, or by its timeout and with those before it."""

    def __init__(self, box: TypedValueWindows, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.groups: dict[Key, ValuesOfGroup] = {}

    def on_row(self, port: int, row: Row) -> None:
        values = self.grouping.values(row)
        group = self.groups.setdefault(equality_key(values), ValuesOfGroup(values))
        value = exact(picked(row, self.grouping.stream, (self.box.field,))[0])
        if value is None:
            self.outlet.count(LATE)
            return
        group.largest = sorted([*group.largest, value])[-self.box.slack - 1 :]
        self._close(group, row.stime, row.order)
        starts = [start for start in self._starts(group, value) if not self._is_closed(group, start)]
        for start in starts:
            window = group.windows.setdefault(start, Opened(values, self.grouping, row.stime))
            window.accumulators.add(row)
        if not starts:
            self.outlet.count(LATE)

    def on_boundary(self, stime: float) -> None:
        timeout = self.box.timeout
        if timeout is None:
            return
        for group in self.groups.values():
            while group.windows:
                due = min(window.stime for window in group.windows.values()) + timeout
                if due > stime:
                    break
                over = [s for s, window in group.windows.items() if window.stime + timeout == due]
                ends = [start + self.box.size for start in over]
                group.timed_out = max([*ends, *([group.timed_out] if group.timed_out is not None else [])])
                self._close(group, due - 1, (None,) * len(self.grouping.stream.order))

    def _starts(self, group: ValuesOfGroup, value: Fraction) -> Iterator[Fraction]:
        """Of the windows that the value lies in."""
        if group.origin is None:
            group.origin = value if self.box.alignment is Alignment.FIRST else Fraction(0)
        number = (value - group.origin) // self.box.advance
        start = group.origin + number * self.box.advance
        while start + self.box.size > value:
            if self.box.alignment is Alignment.INDEPENDENT or start >= group.origin:
                yield start
            start -= self.box.advance

    def _is_closed(self, group: ValuesOfGroup, start: Fraction) -> bool:
        end = start + self.box.size
        past = sum(value >= end for value in group.largest)
        return past > self.box.slack or (group.timed_out is not None and end <= group.timed_out)

    def _close(self, group: ValuesOfGroup, stime: int, order: Values) -> None:
        closed = sorted(start for start in group.windows if self._is_closed(group, start))
        for ordinal, start in enumerate(closed):
            window = group.windows.pop(start)
            if not self.grouping.keeps(self.box.kept_windows, window.values, int(start // self.box.advance)):
                continue
            named = (as_field(start, self.box.start.field.type),) if self.box.start is not None else ()
            result = (*window.values, *named, *window.accumulators.results())
            self.outlet.emit(0, Row(stime, result, (*order, *group.values, ordinal)))


class RowsOfGroup:
    """One group: rows that wait to be put in order, open windows from the oldest, and rows since the last one opened."""

    def __init__(self, values: Values):
        self.values = values
        self.waiting: list[tuple[Fraction, int, Row]] = []
        self.arrived = 0
        self.counted: Fraction | None = None
        self.windows: list[Opened] = []
        self.since = 0
        self.number = 0


class TupleWindowsMachine:
    """The first row opens a window, and so does every `advance`-th after it, and one that finds none open after a timeout."""

    def __init__(self, box: TypedTupleWindows, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.grouping = Grouping(box, inputs)
        self.outlet = outlet
        self.groups: dict[Key, RowsOfGroup] = {}

    def on_row(self, port: int, row: Row) -> None:
        values = self.grouping.values(row)
        group = self.groups.setdefault(equality_key(values), RowsOfGroup(values))
        if self.box.field is None:
            self._count(group, row, row)
            return
        value = exact(picked(row, self.grouping.stream, (self.box.field,))[0])
        if value is None or (group.counted is not None and value < group.counted):
            self.outlet.count(LATE)
            return
        group.waiting.append((value, group.arrived, row))
        group.arrived += 1
        if len(group.waiting) > self.box.slack:
            lowest = min(group.waiting, key=lambda waiting: waiting[:2])
            group.waiting.remove(lowest)
            group.counted = lowest[0]
            self._count(group, lowest[2], row)

    def on_boundary(self, stime: float) -> None:
        timeout = self.box.timeout
        if timeout is None:
            return
        nothing = (None,) * len(self.grouping.stream.order)
        for group in self.groups.values():
            # Windows are opened one after the other: the oldest is the first to time out.
            while group.windows and group.windows[0].stime + timeout <= stime:
                opened = group.windows[0].stime
                over = [window for window in group.windows if window.stime == opened]
                for ordinal, window in enumerate(over):
                    group.windows.remove(window)
                    self._emit(group, window, opened + timeout - 1, (*nothing, *group.values, ordinal))

    def _count(self, group: RowsOfGroup, row: Row, arrived: Row) -> None:
        if self._opens(group):
            group.windows.append(Opened(group.values, self.grouping, arrived.stime))
            group.since = 0
            if self.box.field is not None:
                (group.windows[-1].first,) = picked(row, self.grouping.stream, (self.box.field,))
        group.since += 1
        for window in group.windows:
            window.accumulators.add(row)
            window.rows += 1
        if group.windows[0].rows == self.box.size:
            self._emit(group, group.windows.pop(0), arrived.stime, (*arrived.order, *group.values, 0))

    def _opens(self, group: RowsOfGroup) -> bool:
        """Whether a window begins with the next row."""
        if not self.box.kept_windows:
            return not group.windows or group.since == self.box.advance
        # Rows are missing before this one; it is the first, by its number in the group, that lies in a window which was kept.
        while not any(self._kept(group, m) for m in window_numbers(group.number, self.box.size, self.box.advance)):
            group.number += 1
        number, group.number = group.number, group.number + 1
        return number % self.box.advance == 0 and self._kept(group, number // self.box.advance)

    def _kept(self, group: RowsOfGroup, number: int) -> bool:
        return number >= 0 and self.grouping.keeps(self.box.kept_windows, group.values, number)

    def _emit(self, group: RowsOfGroup, window: Opened, stime: int, order: Values) -> None:
        named = (window.first,) if self.box.start is not None else ()
        self.outlet.emit(0, Row(stime, (*group.values, *named, *window.accumulators.results()), order))
