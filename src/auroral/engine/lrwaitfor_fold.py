"""Rows that wait until another stream has come as far as they are, as a fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.engine.fold import Given, LeftOut, Result, Row, Untimed
from auroral.engine.numbers import Number, from_plain, number_of, plain
from auroral.model.boxes.lrwaitfor import TypedLRWaitFor


@dataclass(slots=True)
class LRWaitForFold(Untimed):
    """A row's values are its key and, on port 0, all of its fields."""

    typed: TypedLRWaitFor
    reached: Number | None = None
    waiting: list[tuple[Number, int, Row, Row]] = field(default_factory=list)
    """Key, stime, order key and fields."""

    reasons: ClassVar[tuple[str, ...]] = ("late",)

    def start(self, key: Row, state: Any) -> None:
        first = None if self.typed.from_data else plain(self.typed.start)
        reached, waiting = state or (first, [])
        self.reached = from_plain(reached)
        self.waiting = [(from_plain(one[0]), *one[1:]) for one in waiting]

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        at = number_of(values[0])
        if at is None:
            yield LeftOut(stime, "late")
            return
        if port == 0:
            if self.reached is None and self.typed.from_data:
                self.reached = at
            if self.reached is None or at > self.reached:
                self.waiting.append((at, stime, order, values[1:]))
            else:
                yield Result(stime, (stime, *order), values[1:])
        elif self.reached is None or at > self.reached:
            self.reached = at
            for _, came, key, fields in (one for one in self.waiting if one[0] <= at):
                yield Result(stime, (came, *key), fields)
            self.waiting = [one for one in self.waiting if one[0] > at]

    def state(self) -> Any:
        if self.reached is None and not self.waiting:
            return None
        return (plain(self.reached), [(plain(one[0]), *one[1:]) for one in self.waiting])
