"""The user's batch function, called bucket by bucket."""

from __future__ import annotations

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

    What lies within `past` outside the bucket is another bucket's to give, which sees the same rows; what lies further
    away, or nowhere, is rejected. Without a stime, a result gets the end - 1.
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
            horizon = [[row for row in rows if row.stime < hi] for rows in self.rows]
            for given, values in self.function(*horizon):
                at = hi - 1 if given is None else given
                if isinstance(at, Stime) or not lo - self.past <= at < hi + self.past:
                    self.outlet.count(REJECTED)
                elif lo <= at < hi:
                    self.outlet.emit(0, Row(at, tuple(values), tuple(values)))
