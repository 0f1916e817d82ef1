"""Windows of values of a field, as a fold: closed by rows past their end, or by a timeout."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.engine.fold import Given, LeftOut, Result, Row
from auroral.engine.folds import Aggregating
from auroral.engine.numbers import Number, from_plain, in_field, number_of, plain, whole
from auroral.model.boxes.aggregate import TypedValueWindows
from auroral.model.types import FieldType
from auroral.model.windows import Alignment


@dataclass(slots=True)
class ValueWindowsFold(Aggregating):
    """A row's values are that of the windows' field, then the functions' arguments. `orders` is the size of the input's order key.

    Windows go by number: window m begins at origin + m * advance. `largest` are the slack + 1 largest values so far, from the
    smallest: what ends at or before the first of them is closed.
    """

    typed: TypedValueWindows
    orders: int
    groups: tuple[FieldType, ...]
    key: Row = ()
    origin: Number | None = None
    largest: list[Number] = field(default_factory=list)
    timed_out: int | None = None
    windows: dict[int, tuple[int, Any]] = field(default_factory=dict)

    reasons: ClassVar[tuple[str, ...]] = ("late",)

    def start(self, key: Row, state: Any) -> None:
        self.key = key
        origin, largest, self.timed_out, windows = state or (None, [], None, {})
        self.origin, self.largest = from_plain(origin), [from_plain(value) for value in largest]
        self.windows = {m: (opened, self._loaded(dumped)) for m, (opened, dumped) in windows.items()}
        if self.origin is None and self.typed.alignment is Alignment.INDEPENDENT:
            self.origin = 0

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        value = number_of(values[0])
        if value is None:
            yield LeftOut(stime, "late")
            return
        if self.origin is None:
            self.origin = value
        insort(self.largest, value)
        if len(self.largest) > self.typed.slack + 1:
            del self.largest[0]
        over = [m for m in self.windows if self._is_closed(m)]
        yield from self._closed(over, stime, order)
        size, advance = whole(self.typed.size), whole(self.typed.advance)
        last = (value - self.origin) // advance
        first = (value - self.origin - size) // advance + 1
        if self.typed.alignment is Alignment.FIRST:
            first = max(first, 0)
        taken = False
        for m in range(first, last + 1):
            if not self._is_closed(m):
                taken = True
                if m not in self.windows:
                    self.windows[m] = (stime, self._fresh())
                self._add(self.windows[m][1], values[1:])
        if not taken:
            yield LeftOut(stime, "late")

    def due(self) -> int | None:
        if self.typed.timeout is None or not self.windows:
            return None
        return min(opened for opened, _ in self.windows.values()) + self.typed.timeout

    def boundary(self, stime: int) -> Iterator[Given]:
        assert self.typed.timeout is not None
        last = max(m for m, (opened, _) in self.windows.items() if opened + self.typed.timeout <= stime)
        # A window that is given up early is not opened again, and neither are those before it.
        self.timed_out = last if self.timed_out is None else max(last, self.timed_out)
        yield from self._closed([m for m in self.windows if m <= last], stime - 1, (None,) * self.orders)

    def state(self) -> Any:
        windows = {m: (opened, self._dumped(accumulated)) for m, (opened, accumulated) in self.windows.items()}
        origin = plain(self.origin) if self.typed.alignment is Alignment.FIRST else None
        return (origin, [plain(value) for value in self.largest], self.timed_out, windows)

    def _begin(self, m: int) -> Number:
        assert self.origin is not None
        return whole(self.origin + m * whole(self.typed.advance))

    def _is_closed(self, m: int) -> bool:
        if self.timed_out is not None and m <= self.timed_out:
            return True
        return len(self.largest) > self.typed.slack and self._begin(m) + self.typed.size <= self.largest[0]

    def _closed(self, numbers: list[int], stime: int, order: Row) -> Iterator[Given]:
        named, group = self.typed.start, tuple(zip(self.groups, self.key, strict=True))
        for ordinal, m in enumerate(sorted(numbers)):
            _, accumulated = self.windows.pop(m)
            if any(sample.drops(group, m) for sample in self.typed.kept_windows):
                continue
            start = () if named is None else (in_field(self._begin(m), named.field.type),)
            fields = (*self.key, *start, *self._finals(accumulated))
            yield Result(stime, (*order, *self.key, ordinal), fields)
