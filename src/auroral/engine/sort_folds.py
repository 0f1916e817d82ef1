"""Sorts by a buffer of rows and by time, as folds. A row's values are all of its fields."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.engine.fold import Given, LeftOut, Result, Row, Untimed

SortKey = tuple[tuple[int, Any], ...]


def sort_key(values: Row, positions: Sequence[int]) -> SortKey:
    """Nulls first, NaN last, as in all orders here."""
    return tuple(_place(values[i]) for i in positions)


def _place(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


@dataclass(slots=True)
class BSortFold(Untimed):
    """`waiting` is in order, equal rows as they came."""

    positions: tuple[int, ...]
    slack: int
    waiting: list[Row] = field(default_factory=list)

    def start(self, key: Row, state: Any) -> None:
        self.waiting = state or []

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        at = bisect_right(self.waiting, self._key(values), key=self._key)
        self.waiting.insert(at, values)
        if len(self.waiting) > self.slack:
            yield Result(stime, order, self.waiting.pop(0))

    def state(self) -> Any:
        return self.waiting or None

    def _key(self, values: Row) -> SortKey:
        return sort_key(values, self.positions)


@dataclass(slots=True)
class WSortFold:
    """`waiting` are stimes and rows, in order; `last` is the row that went on last."""

    positions: tuple[int, ...]
    timeout: int
    key: Row = ()
    waiting: list[tuple[int, Row]] = field(default_factory=list)
    last: Row | None = None

    reasons: ClassVar[tuple[str, ...]] = ("late",)

    def start(self, key: Row, state: Any) -> None:
        self.key = key
        self.waiting, self.last = state or ([], None)

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        place = sort_key(values, self.positions)
        if self.last is not None and place < sort_key(self.last, self.positions):
            yield LeftOut(stime, "late")
            return
        at = bisect_right(self.waiting, place, key=lambda waiting: sort_key(waiting[1], self.positions))
        self.waiting.insert(at, (stime, values))

    def due(self) -> int | None:
        return min((stime + self.timeout for stime, _ in self.waiting), default=None)

    def boundary(self, stime: int) -> Iterator[Given]:
        last = max(n for n, (came, _) in enumerate(self.waiting) if came + self.timeout <= stime)
        gone, self.waiting = self.waiting[: last + 1], self.waiting[last + 1 :]
        for ordinal, (_, values) in enumerate(gone):
            yield Result(stime - 1, (*self.key, ordinal), values)
        self.last = gone[-1][1]

    def state(self) -> Any:
        return None if not self.waiting and self.last is None else (self.waiting, self.last)
