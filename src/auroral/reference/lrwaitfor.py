"""Rows that wait until another stream has come as far as they are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from auroral.model.boxes.lrwaitfor import TypedLRWaitFor
from auroral.model.stream import StreamType
from auroral.reference.machine import LATE, Outlet, picked
from auroral.reference.row_windows import exact
from auroral.reference.rows import Key, Row, equality_key
from auroral.reference.stateless import Stateless


class LRWaitForMachine(Stateless):
    def __init__(self, box: TypedLRWaitFor, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.inputs = inputs
        self.outlet = outlet
        self.reached: dict[Key, Fraction] = {}
        self.waiting: dict[Key, list[tuple[Fraction, Row]]] = {}

    def on_row(self, port: int, row: Row) -> None:
        group = equality_key(picked(row, self.inputs[port], self.box.group_by))
        key = exact(picked(row, self.inputs[port], (self.box.key,))[0])
        if key is None:
            self.outlet.count(LATE)
            return
        if group not in self.reached and self.box.start is not None and not self.box.from_data:
            self.reached[group] = self.box.start
        if port == 1:
            self.reached[group] = max(key, self.reached.get(group, key))
        else:
            if group not in self.reached and self.box.from_data:
                self.reached[group] = key
            self.waiting.setdefault(group, []).append((key, row))
        reached = self.reached.get(group)
        for one in list(self.waiting.get(group, [])):
            if reached is not None and one[0] <= reached:
                self.waiting[group].remove(one)
                self.outlet.emit(0, Row(row.stime, one[1].values, (one[1].stime, *one[1].order)))
