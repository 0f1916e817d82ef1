"""Values of one stream at the times of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from auroral.model.boxes.resample import TypedResample
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet, picked
from auroral.reference.rows import Key, Row, Value, equality_key


class ResampleMachine:
    """Rows of input 0 wait, each with the last row of input 1 before it, for the next one."""

    def __init__(self, box: TypedResample, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.inputs = inputs
        self.outlet = outlet
        self.waiting: list[tuple[Key, Row, Row | None]] = []
        self.last: dict[Key, Row] = {}

    def on_row(self, port: int, row: Row) -> None:
        group = equality_key(picked(row, self.inputs[port], self.box.group_by))
        if port == 0:
            before = self.last.get(group)
            near = before is not None and before.stime >= row.stime - self.box.within
            self.waiting.append((group, row, before if near else None))
            return
        for waiting in [w for w in self.waiting if w[0] == group]:
            self.waiting.remove(waiting)
            self._emit(row.stime, waiting[1], waiting[2], row)
        self.last[group] = row

    def on_boundary(self, stime: float) -> None:
        for waiting in [w for w in self.waiting if w[1].stime + self.box.within < stime]:
            self.waiting.remove(waiting)
            self._emit(waiting[1].stime + self.box.within, waiting[1], waiting[2], None)

    def _emit(self, stime: int, point: Row, before: Row | None, after: Row | None) -> None:
        values = []
        for field in self.box.fields:
            first, second = (None if row is None else self._number(row, field) for row in (before, after))
            values.append(between(point.stime, before, first, after, second))
        self.outlet.emit(0, Row(stime, (*point.values, *values), (point.stime, *point.order)))

    def _number(self, row: Row, field: str) -> Value:
        return picked(row, self.inputs[1], (field,))[0]


def between(stime: int, before: Row | None, first: Value, after: Row | None, second: Value) -> Value:
    """The value at `stime` on the line from one row to the other; of one value alone, that one."""
    if first is None or before is None:
        return _double(second)
    if second is None or after is None:
        return _double(first)
    if after.stime == stime:
        return _double(second)
    if not all(math.isfinite(float(v)) for v in (first, second) if isinstance(v, float)):
        return math.nan
    low, high = (Fraction(v) if isinstance(v, int | float | Decimal) else Fraction(0) for v in (first, second))
    return float(low + (high - low) * Fraction(stime - before.stime, after.stime - before.stime))


def _double(value: Value) -> Value:
    return None if value is None else float(Fraction(value)) if isinstance(value, int | Decimal) else value
