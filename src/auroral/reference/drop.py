"""Load shedding by hash: every replica drops the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from auroral.model.boxes.drop import TypedRandomDrop, TypedRowDrop, TypedWindowDrop
from auroral.model.stream import StreamType
from auroral.model.types import LONG, STRING
from auroral.model.xxhash import Column, falls_below
from auroral.reference.machine import SHED, Outlet, picked, window_numbers
from auroral.reference.row_windows import exact
from auroral.reference.rows import Key, Row, equality_key
from auroral.reference.stateless import Stateless


class RandomDropMachine:
    """The hash is over the box's name, stime, columns and the ordinal among equal rows, counted in processing order."""

    def __init__(self, box: TypedRandomDrop, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.types = [field.type for field in inputs[0].schema.fields]
        self.outlet = outlet
        self.equals: Counter[Key] = Counter()

    def on_row(self, port: int, row: Row) -> None:
        key = equality_key((row.stime, *row.values))
        ordinal = self.equals[key]
        self.equals[key] += 1
        columns: list[Column] = [
            (STRING, self.box.seed),
            (LONG, row.stime),
            *zip(self.types, row.values, strict=True),
            (LONG, ordinal),
        ]
        if falls_below(columns, self.box.rate):
            self.outlet.count(SHED)
        else:
            self.outlet.emit(0, row)

    def on_boundary(self, stime: float) -> None:
        # Equal rows have equal stimes.
        self.equals.clear()


class WindowDropMachine(Stateless):
    """A row stays if one of its windows does."""

    def __init__(self, box: TypedWindowDrop, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        (self.stream,) = inputs
        self.types = [self.stream.schema[field] for field in box.group_by]
        self.outlet = outlet

    def on_row(self, port: int, row: Row) -> None:
        box = self.box
        group = list(zip(self.types, picked(row, self.stream, box.group_by), strict=True))
        numbers = window_numbers(row.stime, box.size, box.advance, box.phase)
        if all(box.sample.drops(group, m) for m in numbers):
            self.outlet.count(SHED)
        else:
            self.outlet.emit(0, row)


class RowDropMachine(Stateless):
    """The same of windows of values, or of the rows of each group by their numbers."""

    def __init__(self, box: TypedRowDrop, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        (self.stream,) = inputs
        self.types = [self.stream.schema[field] for field in box.group_by]
        self.outlet = outlet
        self.counts: Counter[Key] = Counter()

    def on_row(self, port: int, row: Row) -> None:
        group = picked(row, self.stream, self.box.group_by)
        if self.box.field is None:
            place: Fraction | int | None = self.counts[equality_key(group)]
            self.counts[equality_key(group)] += 1
        else:
            place = exact(picked(row, self.stream, (self.box.field,))[0])
        columns = list(zip(self.types, group, strict=True))
        if place is not None and all(self.box.sample.drops(columns, m) for m in self._numbers(place)):
            self.outlet.count(SHED)
        else:
            self.outlet.emit(0, row)

    def _numbers(self, place: Fraction | int) -> Iterator[int]:
        m = place // self.box.advance
        while m * self.box.advance + self.box.size > place:
            if m >= 0 or self.box.field is not None:
                yield m
            m -= 1
