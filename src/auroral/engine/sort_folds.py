"""Sorts by a buffer of rows and by time, as folds. A row's values are all of its fields."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
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


@dataclass(slots=True, eq=False)
class Held:
    """A row that waits, or has gone on."""

    came: int
    values: Row
    place: SortKey
    waits: bool = True


@dataclass(slots=True)
class WSortFold:
    """`waiting` are rows in order, equal ones as they came; `queue` has them as they came, with others that have gone on since: neither is
    gone through for one row. `last` is the row that went on last."""

    positions: tuple[int, ...]
    timeout: int
    key: Row = ()
    waiting: list[Held] = field(default_factory=list)
    queue: deque[Held] = field(default_factory=deque)
    last: Row | None = None

    reasons: ClassVar[tuple[str, ...]] = ("late",)

    def start(self, key: Row, state: Any) -> None:
        self.key = key
        waiting, self.last = state or ([], None)
        self.waiting = [Held(came, values, sort_key(values, self.positions)) for came, values in waiting]
        self.queue = deque(sorted(self.waiting, key=lambda held: held.came))

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        place = sort_key(values, self.positions)
        if self.last is not None and place < sort_key(self.last, self.positions):
            yield LeftOut(stime, "late")
            return
        held = Held(stime, values, place)
        self.waiting.insert(bisect_right(self.waiting, place, key=lambda one: one.place), held)
        self.queue.append(held)

    def due(self) -> int | None:
        while self.queue and not self.queue[0].waits:
            self.queue.popleft()
        return self.queue[0].came + self.timeout if self.queue else None

    def boundary(self, stime: int) -> Iterator[Given]:
        end = 0
        # Of rows with one place, those that came at the same time go on together.
        for place, came in {(one.place, one.came) for one in self._over(stime)}:
            end = max(end, bisect_right(self.waiting, (place, came), key=lambda one: (one.place, one.came)))
        gone = self.waiting[:end]
        del self.waiting[:end]
        for ordinal, held in enumerate(gone):
            held.waits = False
            yield Result(stime - 1, (*self.key, ordinal), held.values)
        self.last = gone[-1].values

    def _over(self, stime: int) -> Iterator[Held]:
        """Those whose time is up."""
        while self.queue and self.queue[0].came + self.timeout <= stime:
            held = self.queue.popleft()
            if held.waits:
                yield held

    def state(self) -> Any:
        waiting = [(held.came, held.values) for held in self.waiting]
        return None if not waiting and self.last is None else (waiting, self.last)
