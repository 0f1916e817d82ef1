"""Windows of a number of rows, as a fold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.engine.fold import Given, LeftOut, Result, Row
from auroral.engine.folds import Aggregating
from auroral.engine.numbers import Number, from_plain, number_of, plain
from auroral.model.boxes.aggregate import TypedTupleWindows
from auroral.model.types import FieldType


@dataclass(slots=True)
class Filling:
    """A window that is not full: the stime at which it was opened, the order field of its first row, and its rows so far."""

    opened: int
    first: Any
    rows: int
    accumulated: Any


@dataclass(slots=True)
class TupleWindowsFold(Aggregating):
    """A row's values are the field that orders rows, if any does, then the functions' arguments."""

    typed: TypedTupleWindows
    orders: int
    groups: tuple[FieldType, ...]
    key: Row = ()
    waiting: list[tuple[Number, Row]] = field(default_factory=list)
    """Rows that are not counted yet, by order; equal ones as they came."""
    counted: Number | None = None
    since: int = 0
    """Rows since a window began; where a window_drop left out rows before, the number that the next one had at least."""
    windows: list[Filling] = field(default_factory=list)

    reasons: ClassVar[tuple[str, ...]] = ("late",)

    def start(self, key: Row, state: Any) -> None:
        self.key = key
        waiting, counted, self.since, windows = state or ([], None, 0, [])
        self.waiting = [(from_plain(value), row) for value, row in waiting]
        self.counted = from_plain(counted)
        self.windows = [Filling(opened, first, rows, self._loaded(dumped)) for opened, first, rows, dumped in windows]

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        if self.typed.field is None:
            yield from self._count(None, values, stime, order)
            return
        value = number_of(values[0])
        if value is None or (self.counted is not None and value < self.counted):
            yield LeftOut(stime, "late")
            return
        self.waiting.insert(bisect_right(self.waiting, value, key=lambda waiting: waiting[0]), (value, values))
        if len(self.waiting) > self.typed.slack:
            self.counted, lowest = self.waiting.pop(0)
            yield from self._count(lowest[0], lowest[1:], stime, order)

    def due(self) -> int | None:
        if self.typed.timeout is None or not self.windows:
            return None
        return self.windows[0].opened + self.typed.timeout

    def boundary(self, stime: int) -> Iterator[Given]:
        assert self.typed.timeout is not None
        over = [w for w in self.windows if w.opened + self.typed.timeout <= stime]
        del self.windows[: len(over)]
        for ordinal, window in enumerate(over):
            yield self._result(window, stime - 1, (*(None,) * self.orders, *self.key, ordinal))

    def state(self) -> Any:
        waiting = [(plain(value), row) for value, row in self.waiting]
        windows = [(w.opened, w.first, w.rows, self._dumped(w.accumulated)) for w in self.windows]
        return (waiting, plain(self.counted), self.since, windows)

    def _count(self, ordered: Any, arguments: Row, stime: int, order: Row) -> Iterator[Given]:
        if self._opens():
            self.windows.append(Filling(stime, ordered, 0, self._fresh()))
        for window in self.windows:
            self._add(window.accumulated, arguments)
            window.rows += 1
        if self.windows[0].rows == self.typed.size:
            yield self._result(self.windows.pop(0), stime, (*order, *self.key, 0))

    def _opens(self) -> bool:
        """Whether a window begins with the next row, which is counted."""
        if not self.typed.kept_windows:
            opens = not self.windows or self.since == self.typed.advance
            self.since = 1 if opens else self.since + 1
            return opens
        # All rows of a window that was kept are there: this is the next that lies in one.
        while not any(map(self._kept, range(max(0, self._first()), self.since // self.typed.advance + 1))):
            self.since += 1
        number, self.since = self.since, self.since + 1
        return number % self.typed.advance == 0 and self._kept(number // self.typed.advance)

    def _first(self) -> int:
        return (self.since - self.typed.size) // self.typed.advance + 1

    def _kept(self, number: int) -> bool:
        group = tuple(zip(self.groups, self.key, strict=True))
        return not any(sample.drops(group, number) for sample in self.typed.kept_windows)

    def _result(self, window: Filling, stime: int, order: Row) -> Result:
        first = () if self.typed.start is None else (window.first,)
        return Result(stime, order, (*self.key, *first, *self._finals(window.accumulated)))
