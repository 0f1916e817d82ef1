"""Sorts by a buffer of rows, and by time."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.sorting import TypedBSort, TypedWSort
from auroral.model.stream import StreamType
from auroral.reference.machine import LATE, Outlet, picked
from auroral.reference.rows import Key, Row, Values, equality_key, group_value
from auroral.reference.stateless import Stateless


class BSortMachine(Stateless):
    def __init__(self, box: TypedBSort, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        (self.stream,) = inputs
        self.outlet = outlet
        self.waiting: dict[Key, list[Row]] = {}

    def on_row(self, port: int, row: Row) -> None:
        group = equality_key(picked(row, self.stream, self.box.group_by))
        waiting = self.waiting.setdefault(group, [])
        waiting.append(row)
        if len(waiting) > self.box.slack:
            # The first of equal ones, which is the one that came first.
            lowest = min(waiting, key=lambda one: equality_key(picked(one, self.stream, self.box.order_on)))
            waiting.remove(lowest)
            self.outlet.emit(0, Row(row.stime, lowest.values, row.order))


class Sorted:
    """One group: rows that wait, in the order in which they came, and what the last that went on is sorted by."""

    def __init__(self, values: Values):
        self.values = values
        self.waiting: list[Row] = []
        self.last: Key | None = None


class WSortMachine:
    def __init__(self, box: TypedWSort, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        (self.stream,) = inputs
        self.outlet = outlet
        self.groups: dict[Key, Sorted] = {}

    def _key(self, row: Row) -> Key:
        return equality_key(picked(row, self.stream, self.box.order_on))

    def on_row(self, port: int, row: Row) -> None:
        values = tuple(map(group_value, picked(row, self.stream, self.box.group_by)))
        group = self.groups.setdefault(equality_key(values), Sorted(values))
        if group.last is not None and self._key(row) < group.last:
            self.outlet.count(LATE)
        else:
            group.waiting.append(row)

    def on_boundary(self, stime: float) -> None:
        for group in self.groups.values():
            # Rows come by stime: the first that waits is the first whose time is up.
            while group.waiting and group.waiting[0].stime + self.box.timeout <= stime:
                due = group.waiting[0].stime + self.box.timeout
                in_order = sorted(group.waiting, key=self._key)
                over = [n for n, row in enumerate(in_order) if row.stime + self.box.timeout <= due]
                gone = in_order[: over[-1] + 1]
                for ordinal, row in enumerate(gone):
                    self.outlet.emit(0, Row(due - 1, row.values, (*group.values, ordinal)))
                group.last = self._key(gone[-1])
                group.waiting = [row for row in group.waiting if not any(row is one for one in gone)]
