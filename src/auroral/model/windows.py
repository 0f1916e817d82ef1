"""Windows: over which rows an aggregate is taken, and what closes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Alignment(StrEnum):
    INDEPENDENT = "independent"
    """Starts are multiples of the advance: windows of every replica and every restart fall together."""
    FIRST = "first"
    """The first row of a group starts its first window."""


@dataclass(frozen=True, slots=True)
class StimeWindow:
    """[m*advance, m*advance + size) in microseconds of stime, closed by the boundary.

    Aligned by the first row it is a window on the stream's clock field, whichever that is.
    """

    size: int
    advance: int
    alignment: Alignment = Alignment.INDEPENDENT


@dataclass(frozen=True, slots=True)
class FieldWindow:
    """[v, v + size) in values of `field`, or in seconds where it is a timestamp. On a field that carries stime, this is a window on stime.

    On another field a window is closed by the row after `slack` others of its group past its end, or `timeout` seconds of stime after its
    first row. Results have the window's start unless it is not `named`. `by_values` says that the user wants just this of
    any field: it is not taken for the input's stime, and nothing is said of the time that it does not carry.
    """

    field: str
    size: float
    advance: float
    alignment: Alignment = Alignment.FIRST
    slack: int = 0
    timeout: float | None = None
    named: bool = True
    by_values: bool = False


@dataclass(frozen=True, slots=True)
class TupleWindow:
    """`size` rows, every `advance` rows, closed by the last of them or `timeout` seconds of stime after the first.

    With `field`, rows are first put in its order, as far as `slack` rows allow; results have the field of the first row.
    """

    size: int
    advance: int
    timeout: float | None = None
    field: str | None = None
    slack: int = 0
    named: bool = True


class LatePolicy(StrEnum):
    LEDGER = "ledger"
    """A row too late for a window is counted."""
    SIDE = "side"
    """It goes to a second output stream, and is counted."""
    CORRECT = "correct"
    """The closed window's result is sent again, with the row, at the row's stime."""


@dataclass(frozen=True, slots=True)
class EventTimeWindow:
    """[m*advance, m*advance + size) of a timestamp field that is not the stream's stime.

    Closed when the boundary passes the window's end + `lateness`. A row may be ahead of its stime by at most
    `ahead` (what a bounded horizon needs); rows further ahead go the way of late ones. Under CORRECT a window
    takes late rows for `correct_for` after it closed.
    """

    field: str
    size: int
    advance: int
    lateness: int
    late: LatePolicy = LatePolicy.LEDGER
    ahead: int = 0
    correct_for: int = 0


@dataclass(frozen=True, slots=True)
class Landmark:
    """From `origin` (microseconds of stime; None: the start) on, each row gives a result over all so far."""

    origin: int | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """Aurora's Tumble: consecutive rows with equal group-by values, closed by the first row with others."""


Window = StimeWindow | FieldWindow | TupleWindow | EventTimeWindow | Landmark | Runs
