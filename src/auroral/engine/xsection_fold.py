"""Cross-sections as a fold: aggregates over the newest row of each of many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.engine.fold import Given, Result, Row
from auroral.engine.folds import Aggregating, same


@dataclass(slots=True)
class XSectionFold(Aggregating):
    """There is one key, for all rows. A row's values are the `across` fields that it is known by, then the functions' arguments."""

    across: int
    within: int | None
    newest: list[tuple[int, Row]] = field(default_factory=list)
    """Stimes and values, in the order in which they came."""

    reasons: ClassVar[tuple[str, ...]] = ()

    def start(self, key: Row, state: Any) -> None:
        self.newest = state or []

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        known = values[: self.across]
        self.newest = [one for one in self.newest if not same(one[1][: self.across], known)]
        self.newest.append((stime, values))
        accumulated = self._fresh()
        for _, one in self.newest:
            self._add(accumulated, one[self.across :])
        yield Result(stime, order, self._finals(accumulated))

    def due(self) -> int | None:
        return None if self.within is None or not self.newest else self.newest[0][0] + self.within + 1

    def boundary(self, stime: int) -> Iterator[Given]:
        assert self.within is not None
        self.newest = [one for one in self.newest if one[0] + self.within >= stime]
        return iter(())

    def state(self) -> Any:
        return self.newest or None
