"""Boxes whose timeouts go by a clock that is an input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from auroral.model.boxes.local_clock import TypedOnLocalClock
from auroral.reference.machine import Machine, Outlet
from auroral.reference.rows import Key, Row, equality_key
from auroral.reference.stateless import Stateless


class LocalClockMachine(Stateless):
    """The box within takes the time that has passed on the clock for stime, and its results are put back into stime."""

    def __init__(self, box: TypedOnLocalClock, outlet: Outlet, make: Callable[[Outlet], Machine]):
        self.box, self.outlet = box, outlet
        self.within = Outlet(outlet.box, [[]], outlet.ledger)
        self.inner = make(self.within)
        self.first: int | None = None
        self.passed = 0

    def on_row(self, port: int, row: Row) -> None:
        if port == 0:
            self.inner.on_row(0, Row(self.passed, row.values, row.order))
            for given in self._given():
                *before, number = given.order
                order = (*before, *(None,) * self.box.clock_order, number)
                self.outlet.emit(0, Row(row.stime, given.values, order))
            return
        clock = row.values[1]
        if clock is None:
            return
        assert isinstance(clock, int)
        self.first = clock if self.first is None else self.first
        self.passed = max(self.passed, clock - self.first)
        self.inner.on_boundary(self.passed)
        numbers: Counter[Key] = Counter()
        for given in self._given():
            group = equality_key(given.order[:-1])
            self.outlet.emit(0, Row(row.stime, given.values, (*given.order[:-1], *row.order, numbers[group])))
            numbers[group] += 1

    def _given(self) -> Iterator[Row]:
        given, self.within.rows[0] = self.within.rows[0], []
        return iter(given)
