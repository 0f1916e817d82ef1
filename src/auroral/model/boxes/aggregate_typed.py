"""Aggregates whose input is known, one class for each kind of window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.base import TypedBox
from auroral.model.expression import Typed
from auroral.model.schema import Field
from auroral.model.windows import Alignment, EventTimeWindow
from auroral.model.xxhash import Column, window_is_dropped


@dataclass(frozen=True, slots=True)
class WindowStart:
    """The output field that names a result's window: its start = value * unit + offset, in microseconds."""

    field: Field
    unit: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAggregateBox(TypedBox):
    """Common to all aggregates: output fields are group_by, then any `start`, then the functions."""

    functions: tuple[TypedAggregate, ...]
    group_by: tuple[str, ...]
    start: WindowStart | None = None

    def expressions(self) -> Iterator[Typed]:
        return (arg for function in self.functions for arg in function.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedStimeAggregate(TypedAggregateBox):
    """Windows [m*advance + phase, ... + size) of stime; the result's stime is the window's end - 1 us."""

    size: int
    advance: int
    phase: int = 0
    kept_windows: tuple[WindowSample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRevisedAggregate(TypedAggregateBox):
    """Windows of stime over rows that may be revised for `kept` microseconds. A result that such a row changes is taken back, and another one
    given, at the end of the bucket in which the revision came; both belong to the stime of the window's result."""

    size: int
    advance: int
    phase: int
    kept: int
    bucket: int
    anchors: tuple[str, ...] | None = None
    """Where it has its history from: views of streams before it, none of them for where rows come in; None for its own input."""


@dataclass(frozen=True, slots=True)
class WindowSample:
    """Which windows a window_drop upstream let through: those that it dropped must not appear half filled."""

    box: str
    rate: float
    batch: int

    def drops(self, group: Sequence[Column], number: int) -> bool:
        """Whether window `number` of the group went."""
        return window_is_dropped(self.box, group, number // self.batch, self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedEventTimeAggregate(TypedAggregateBox):
    """Output 0 has the results; with LatePolicy.SIDE, output 1 the rows late for every window of theirs."""

    counted: ClassVar[bool] = True

    window: EventTimeWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFirstAligned(TypedAggregateBox):
    """Windows [f + m*advance, ... + size) of stime, f the group's first stime; closed by a row of it."""

    size: int
    advance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLandmark(TypedAggregateBox):
    origin: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRuns(TypedAggregateBox):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedValueWindows(TypedAggregateBox):
    """Windows [origin + m*advance, ... + size) in values of `field`; origin is 0, or the group's first value.

    A window is closed once more than `slack` rows of its group had values at or past its end, by the last of them; or by the boundary
    `timeout` microseconds after its first row's stime. `size` and `advance` are in values as rows have them: microseconds of a timestamp.
    """

    counted: ClassVar[bool] = True

    field: str
    size: Fraction
    advance: Fraction
    alignment: Alignment
    slack: int
    timeout: int | None
    kept_windows: tuple[WindowSample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTupleWindows(TypedAggregateBox):
    """`size` rows of a group, from every `advance`-th row on; closed by the last of them, or by the boundary `timeout` after the first.

    With `field`, rows of a group are counted in its order: of each `slack` + 1 that wait, the lowest is next.
    """

    counted: ClassVar[bool] = True

    size: int
    advance: int
    timeout: int | None
    field: str | None
    slack: int
    kept_windows: tuple[WindowSample, ...] = ()
    """At most one: a second window_drop would count the rows that the first one left."""
