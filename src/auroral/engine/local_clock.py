"""Folds whose timeouts go by a clock that is an input: there is one state, with those of all groups, since a row of the clock is for all."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from auroral.engine.fold import Fold, Given, LeftOut, Result, Row, Untimed, passed
from auroral.engine.statecodec import decoded, encoded


@dataclass(slots=True)
class LocalClockFold(Untimed):
    """Values of rows of port 0 are the `groups` parts of a key, then what `inner` is handed; those of port 1 are how the clock stood.

    `inner` sees the microseconds since the first row of the clock as its stimes. `clock_order` is the size of the clock's order key.
    """

    inner: Fold
    groups: int
    clock_order: int
    first: int | None = None
    passed: int = 0
    keys: dict[bytes, tuple[int | None, Any]] = field(default_factory=dict)
    """What is due of each group, and its state."""

    reasons: ClassVar[tuple[str, ...]] = ("late",)

    def __copy__(self) -> LocalClockFold:
        """Jobs run at the same time: each has a fold of its own."""
        return replace(self, inner=copy(self.inner))

    def start(self, key: Row, state: Any) -> None:
        self.first, self.passed, keys = state or (None, 0, {})
        self.keys = dict(keys)

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        if port == 1:
            yield from self._told(stime, order, values[0])
            return
        key = values[: self.groups]
        written = encoded(key)
        self.inner.start(key, self.keys.get(written, (None, None))[1])
        for given in self.inner.row(0, self.passed, order, values[self.groups :]):
            if isinstance(given, LeftOut):
                yield LeftOut(stime, given.reason)
            else:
                *before, number = given.order
                yield Result(stime, (*before, *(None,) * self.clock_order, number), given.values)
        self._keep(written)

    def state(self) -> Any:
        return (self.first, self.passed, self.keys)

    def _told(self, stime: int, order: Row, clock: int | None) -> Iterator[Given]:
        if clock is None:
            return
        if self.first is None:
            self.first = clock
        # One that was set back stands still.
        self.passed = max(self.passed, clock - self.first)
        for written in sorted(key for key, (due, _) in self.keys.items() if due is not None and due <= self.passed):
            self.inner.start(decoded(written), self.keys[written][1])
            for number, given in enumerate(passed(self.inner, self.passed)):
                assert isinstance(given, Result)
                yield Result(stime, (*given.order[:-1], *order, number), given.values)
            self._keep(written)

    def _keep(self, written: bytes) -> None:
        left = self.inner.state()
        if left is None:
            self.keys.pop(written, None)
        else:
            self.keys[written] = (self.inner.due(), left)
