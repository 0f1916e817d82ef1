"""Values of one stream at the times of another, as a fold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from auroral.engine.fold import Given, Result, Row

Sample = tuple[int, Row]
"""Of a row of input 1: its stime, and the values of the fields that are asked for."""


@dataclass(slots=True)
class ResampleFold:
    """Rows of port 0 have all of their fields as values, rows of port 1 those that are asked for.

    A row of port 0 waits with the sample before it, if that is near enough, for the one after it.
    """

    within: int
    fields: int
    waiting: list[tuple[int, Row, Row, Sample | None]] = field(default_factory=list)
    last: Sample | None = None

    reasons: ClassVar[tuple[str, ...]] = ()

    def start(self, key: Row, state: Any) -> None:
        self.waiting, self.last = state or ([], None)

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        if port == 0:
            # What is further away than `within` has been forgotten.
            self.waiting.append((stime, order, values, self.last))
            return
        for one in self.waiting:
            yield self._result(stime, one, (stime, values))
        self.waiting, self.last = [], (stime, values)

    def due(self) -> int | None:
        stimes = [self.waiting[0][0]] if self.waiting else []
        if self.last is not None:
            stimes.append(self.last[0])
        return min(stimes) + self.within + 1 if stimes else None

    def boundary(self, stime: int) -> Iterator[Given]:
        over = [one for one in self.waiting if one[0] + self.within < stime]
        self.waiting = self.waiting[len(over) :]
        for one in over:
            yield self._result(one[0] + self.within, one, None)
        if self.last is not None and self.last[0] + self.within < stime:
            self.last = None

    def state(self) -> Any:
        return None if not self.waiting and self.last is None else (self.waiting, self.last)

    def _result(self, stime: int, one: tuple[int, Row, Row, Sample | None], after: Sample | None) -> Result:
        at, order, values, before = one
        found = [_at(at, before, after, i) for i in range(self.fields)]
        return Result(stime, (at, *order), (*values, *found))


def _at(stime: int, before: Sample | None, after: Sample | None, position: int) -> float | None:
    known = [(s[0], s[1][position]) for s in (before, after) if s is not None and s[1][position] is not None]
    if not known:
        return None
    if len(known) == 1 or known[1][0] == stime:
        return float(known[-1][1])
    (t0, low), (t1, high) = known
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.nan
    return float((Fraction(low) * (t1 - stime) + Fraction(high) * (stime - t0)) / (t1 - t0))
