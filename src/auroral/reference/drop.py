"""Load shedding by hash: every replica drops the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from auroral.model.boxes.drop import TypedRandomDrop, TypedWindowDrop
from auroral.model.stream import StreamType
from auroral.model.types import LONG, STRING, FieldType
from auroral.reference.machine import SHED, Outlet, picked, window_numbers
from auroral.reference.rows import Key, Row, Value, equality_key
from auroral.reference.stateless import Stateless
from auroral.reference.xxhash import falls_below

Column = tuple[FieldType, Value]


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
        batches = {m // box.batch for m in window_numbers(row.stime, box.size, box.advance, box.phase)}
        if all(window_is_dropped(box.seed, group, batch, box.rate) for batch in batches):
            self.outlet.count(SHED)
        else:
            self.outlet.emit(0, row)


def window_is_dropped(box: str, group: Sequence[Column], batch: int, rate: float) -> bool:
    """What the window_drop called `box` does with a batch of consecutive windows of one group."""
    return falls_below([(STRING, box), *group, (LONG, batch)], rate)
