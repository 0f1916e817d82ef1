"""Windows with user aggregates. They keep no state: they see the rows of the whole horizon in each range."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from auroral.engine.accumulate import mergeable
from auroral.engine.failures import marked
from auroral.engine.fold import Row
from auroral.engine.folds import Aggregating, start_value
from auroral.model.boxes.aggregate import TypedStimeAggregate, WindowStart
from auroral.model.windows import EventTimeWindow


@dataclass(slots=True)
class _OverHorizon(Aggregating):
    """A row is (stime, order.., arguments..)."""

    orders: int
    ordered: bool
    key: Row = ()
    lo: int = 0
    hi: int = 0

    def _result(self, stime: int, order: Row, fields: Row, accumulated: Sequence[Any]) -> Row:
        return (stime, *(order if self.ordered else ()), *fields, *self._finals(accumulated))

    def _whole(self, rows: Sequence[Row], skip: int = 0) -> list[Any]:
        """The functions over these rows, of which `skip` values stand between order and arguments."""
        accumulated = self._fresh()
        for row in rows:
            self._add(accumulated, row[1 + self.orders + skip :])
        return accumulated


@dataclass(slots=True)
class UserWindows(_OverHorizon):
    """Windows of stime over rows of the whole horizon.

    With `in_parts`, where every function can combine, each part of a window is counted once for all windows that share it.
    The batch oracle counts every window from its rows, so that a `combine` that disagrees with `incr` shows.
    """

    typed: TypedStimeAggregate | None = None
    in_parts: bool = True
    rows: list[Row] | None = None

    def start(self, key: Row, lo: int, hi: int) -> None:
        self.key, self.lo, self.hi, self.rows = key, lo, hi, []

    def row(self, values: Row) -> None:
        assert self.rows is not None
        self.rows.append(values)

    def end(self) -> Iterator[Row]:
        assert self.typed is not None and self.rows is not None
        stimes = [row[0] for row in self.rows]
        parts = self._parts() if self.in_parts and mergeable(self.functions) else None
        starts = sorted(parts or ())
        for begin in self._filled(stimes):
            end = begin + self.typed.size
            if parts is None:
                accumulated = self._whole(self.rows[bisect_left(stimes, begin) : bisect_left(stimes, end)])
            else:
                inside = starts[bisect_left(starts, begin) : bisect_left(starts, end)]
                accumulated = self._merged([parts[start] for start in inside])
            start = self.typed.start
            fields = (*self.key, start_value(start, begin)) if start else self.key
            yield self._result(end - 1, self.key, fields, accumulated)

    def _filled(self, stimes: Sequence[int]) -> Iterator[int]:
        """The starts of windows that end in the range and have rows; from one to the next that has, gaps are skipped."""
        assert self.typed is not None
        size, advance, phase = self.typed.size, self.typed.advance, self.typed.phase
        number = (self.lo - phase - size) // advance + 1
        last = (self.hi - phase - size) // advance
        while number <= last:
            begin = number * advance + phase
            at = bisect_left(stimes, begin)
            if at == len(stimes):
                return
            if stimes[at] < begin + size:
                yield begin
                number += 1
            else:
                number = (stimes[at] - phase - size) // advance + 1

    def _parts(self) -> dict[int, list[Any]]:
        """One partial result for each slice between two window starts or ends."""
        assert self.typed is not None and self.rows is not None
        size, advance, phase = self.typed.size, self.typed.advance, self.typed.phase
        parts: dict[int, list[Any]] = {}
        for row in self.rows:
            number, into = divmod(row[0] - phase, advance)
            begin = number * advance + phase + (size % advance if into >= size % advance else 0)
            part = parts.get(begin)
            if part is None:
                part = parts[begin] = self._fresh()
            self._add(part, row[1 + self.orders :])
        return parts

    def _merged(self, parts: Sequence[list[Any]]) -> list[Any]:
        accumulated = self._fresh()
        for each in parts:
            for function, whole, part in zip(self.functions, accumulated, each, strict=True):
                try:
                    whole.merge(part)
                except BaseException as error:
                    raise marked(f"{self._called(function)}, combining", error) from error
        return accumulated


@dataclass(slots=True)
class UserEventWindows(_OverHorizon):
    """Windows of event time over rows of the whole horizon. A row is (stime, order.., event time, arguments..).

    A window has its result when it closes, of the rows that came before; with corrections also at the stime of each later
    row that is in time for one, of all rows up to it.
    """

    window: EventTimeWindow | None = None
    named: WindowStart | None = None
    windows: dict[int, list[Row]] | None = None

    def start(self, key: Row, lo: int, hi: int) -> None:
        self.key, self.lo, self.hi, self.windows = key, lo, hi, {}

    def row(self, values: Row) -> None:
        assert self.window is not None and self.windows is not None
        size, advance, event = self.window.size, self.window.advance, values[1 + self.orders]
        for number in range((event - size) // advance + 1, event // advance + 1):
            close = number * advance + size + self.window.lateness
            # A window that closes behind the range is a later range's; one that was done before it, an earlier one's.
            if close <= self.hi and max(self.lo, values[0]) < close + self.window.correct_for:
                self.windows.setdefault(number * advance, []).append(values)

    def end(self) -> Iterator[Row]:
        assert self.window is not None and self.windows is not None
        for begin in sorted(self.windows):
            rows = self.windows[begin]
            stimes = [row[0] for row in rows]
            close = begin + self.window.size + self.window.lateness
            in_time = bisect_left(stimes, close)
            if in_time and self.lo < close:
                yield self._of(begin, close - 1, rows[:in_time])
            for at in sorted({stime for stime in stimes[in_time:] if self.lo <= stime < self.hi}):
                yield self._of(begin, at, rows[: bisect_right(stimes, at)])

    def _of(self, begin: int, stime: int, rows: Sequence[Row]) -> Row:
        fields = (*self.key, start_value(self.named, begin)) if self.named else self.key
        return self._result(stime, (begin, *self.key), fields, self._whole(rows, skip=1))
