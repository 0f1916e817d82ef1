"""What every box is while it runs: something that takes rows and boundaries and emits rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from auroral.model.stream import StreamType
from auroral.reference.rows import Row, Value

LATE = "late"
AHEAD = "ahead"
SHED = "shed"
REJECTED = "rejected"


class Machine(Protocol):
    """Rows come in processing order, those of equal stime port by port.

    `on_boundary(t)` says that no row with a smaller stime follows. It comes before the first row of a stime
    and once at the end; it is infinite when everything is to be closed.
    """

    def on_row(self, port: int, row: Row) -> None: ...

    def on_boundary(self, stime: float) -> None: ...


@dataclass(slots=True)
class Outlet:
    """Where a box leaves its rows, by output port, and the reasons for which it let rows go."""

    box: str
    rows: list[list[Row]]
    ledger: Counter[tuple[str, str]] = field(default_factory=Counter)

    def emit(self, port: int, row: Row) -> None:
        self.rows[port].append(row)

    def count(self, reason: str, rows: int = 1) -> None:
        if rows:
            self.ledger[self.box, reason] += rows


def picked(row: Row, stream: StreamType, names: tuple[str, ...]) -> tuple[Value, ...]:
    """The row's values of some fields."""
    return tuple(row.values[stream.schema.names.index(name)] for name in names)


def window_numbers(time: int, size: int, advance: int, phase: int = 0) -> range:
    """The m for which [m*advance + phase, m*advance + phase + size) contains `time`."""
    return range((time - phase - size) // advance + 1, (time - phase) // advance + 1)
