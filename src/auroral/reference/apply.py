"""The user's batch function, called bucket by bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from auroral.model.boxes.apply import TypedApply
from auroral.model.stream import StreamType
from auroral.reference.machine import REJECTED, Outlet
from auroral.reference.rows import Row, Values


class Stime(Enum):
    """What a function may give in the place of a stime."""

    NULL = "null"


Applied = Callable[..., Iterable[tuple[int | Stime | None, Values]]]
"""A stand-in for a DataFrame function: a list of rows for each input -> (stime, values) pairs.

A stime of None is that of a DataFrame without such a column.
"""


class ApplyMachine:
    """For each bucket whose horizon holds a row: the function of the rows from its start - past to its end.

    Without a stime, a result gets the end - 1. What lies behind the bucket, by up to `past`, is left to the bucket that it lies
    in. What no bucket can give any more (it lies before, or too far behind, or nowhere) is rejected, unless the rows before the
    bucket have as many such results with that stime by themselves: then it was there before.
    """

    def __init__(self, box: TypedApply, inputs: Sequence[StreamType], outlet: Outlet, function: Applied, bucket: int):
        self.past = box.past
        self.function = function
        self.bucket = bucket
        self.outlet = outlet
        self.rows: tuple[list[Row], ...] = tuple([] for _ in inputs)
        self.due: set[int] = set()

    def on_row(self, port: int, row: Row) -> None:
        self.rows[port].append(row)
        self.due.update(range(row.stime // self.bucket, (row.stime + self.past) // self.bucket + 1))

    def on_boundary(self, stime: float) -> None:
        for number in sorted(self.due):
            lo, hi = number * self.bucket, (number + 1) * self.bucket
            if hi > stime:
                break
            self.due.remove(number)
            for rows in self.rows:
                rows[:] = [row for row in rows if row.stime >= lo - self.past]
            outside = Counter[int | Stime]()
            for given, values in self._results(hi):
                at = hi - 1 if given is None else given
                if self._is_outside(at, lo, hi):
                    outside[at] += 1
                elif not isinstance(at, Stime) and at < hi:
                    self.outlet.emit(0, Row(at, tuple(values), tuple(values)))
            if outside:
                outside -= Counter(at for at, _ in self._results(lo) if at is not None)
                self.outlet.count(REJECTED, outside.total())

    def _results(self, end: int) -> Iterable[tuple[int | Stime | None, Values]]:
        """Of the rows before `end`; without any, the function is not called."""
        seen = [[row for row in rows if row.stime < end] for rows in self.rows]
        return self.function(*seen) if any(seen) else ()

    def _is_outside(self, at: int | Stime, lo: int, hi: int) -> bool:
        return isinstance(at, Stime) or not lo <= at < hi + self.past
