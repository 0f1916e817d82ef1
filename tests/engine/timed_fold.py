"""A fold with two inputs, two outputs and timers, for tests of what runs folds: sessions that end after some time without a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.engine.fold import Given, LeftOut, Result, Row


@dataclass(slots=True)
class Sessions:
    """Rows of port 0 have a number. A session of a key is over when nothing came for `gap`: port 0 gives its numbers, one microsecond before
    its end. Rows of port 1 with value 0 are left out; others close the session, and port 1 gives how many numbers it had."""

    reasons: ClassVar[tuple[str, ...]] = ("late", "odd")
    gap: int
    key: Row = ()
    last: int | None = None
    numbers: list[int] = field(default_factory=list)

    def start(self, key: Row, state: Any) -> None:
        self.key = key
        self.last, self.numbers = (None, []) if state is None else state

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        if port == 0:
            self.last = stime
            self.numbers.append(values[0])
        elif values[0] == 0:
            yield LeftOut(stime, "odd")
        else:
            yield Result(stime, order, (*self.key, len(self.numbers)), port=1)
            self.last, self.numbers = None, []

    def due(self) -> int | None:
        return None if self.last is None else self.last + self.gap

    def boundary(self, stime: int) -> Iterator[Given]:
        if len(self.numbers) == 1:
            yield LeftOut(stime - 1, "late")
        else:
            yield Result(stime - 1, (len(self.numbers),), (*self.key, "".join(map(str, self.numbers))))
        self.last, self.numbers = None, []

    def state(self) -> Any:
        return None if self.last is None else (self.last, self.numbers)
