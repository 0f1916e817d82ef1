"""Aggregates over windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.aggregates import typed_aggregate
from auroral.model.boxes.aggregate_typed import (
    TypedAggregateBox,
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRevisedAggregate,
    TypedRuns,
    TypedStimeAggregate,
    TypedTupleWindows,
    TypedValueWindows,
    WindowSample,
    WindowStart,
)
from auroral.model.boxes.base import BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.resolving import Resolving
from auroral.model.boxes.revised_windows import aligned, revised
from auroral.model.boxes.row_windows import by_tuples, by_values, without_a_start
from auroral.model.boxes.stateless import schema_of
from auroral.model.boxes.time_windows import on_clock, on_event_time, on_stime
from auroral.model.boxes.window_sizes import check_sizes, step
from auroral.model.duration import UNITS
from auroral.model.stream import StreamType
from auroral.model.types import LONG
from auroral.model.windows import (
    Alignment,
    EventTimeWindow,
    FieldWindow,
    Landmark,
    LatePolicy,
    Runs,
    StimeWindow,
    TupleWindow,
    Window,
)

__all__ = [
    "Aggregate",
    "TypedAggregateBox",
    "TypedEventTimeAggregate",
    "TypedFirstAligned",
    "TypedLandmark",
    "TypedRevisedAggregate",
    "TypedRuns",
    "TypedStimeAggregate",
    "TypedTupleWindows",
    "TypedValueWindows",
    "WindowSample",
    "WindowStart",
]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`functions` are (output field, call) pairs; `start` names an output field for the window's start."""

    functions: tuple[tuple[str, str], ...]
    window: Window
    group_by: tuple[str, ...] = ()
    start: str | None = None

    type: ClassVar[str] = "aggregate"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window on stime or event time; fold on other fields, on numbers of rows, from the first row, landmark, runs",
        ports="1 in, 1 out (2 with a side output of late rows)",
        closing_event="boundary past the window's end (+ lateness); a row for folds, or the boundary past opening + timeout",
        result_stime="window's end (+ lateness) - 1 us; the closing row's for folds, or opening + timeout - 1 us",
        order_key="group key; the closing row's for folds",
        state="slices in dyadic levels; a state per group for folds",
        horizon="size (+ lateness + ahead + correct_for)",
        deterministic=True,
        convergent="yes; folds no",
        repeatable=False,
        compiles_to="GROUP BY over slices; a scan in processing order for folds and user aggregates",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        """Typed by its window; everything else about it is the same for all windows."""
        side = isinstance(self.window, EventTimeWindow) and self.window.late is LatePolicy.SIDE
        if not expect_ports(report, "aggregate", inputs, outputs, 1, 1 + side):
            return None
        stream = inputs[0]
        if not self.functions:
            report.add(
                "an aggregate needs at least one function",
                allowed="one call for each field of the result",
                next_step="for example count()",
            )
            return None
        for name in self.group_by:
            report.field(name, stream)
        scope = report.scope(stream)
        typed = [typed_aggregate(name, text, scope, report) for name, text in self.functions]
        functions = tuple(t for t in typed if t is not None)
        check_sizes(self.window, report)
        if isinstance(self.window, FieldWindow | EventTimeWindow | TupleWindow) and self.window.field is not None:
            report.field(self.window.field, stream)
        if report.problems or report.missing:
            # Of a result whose types are not known, the names can still be judged.
            schema_of(((name, LONG) for name in self._names()), report)
            return None
        given = Resolving(stream, functions, self.group_by, self.start, report)
        if stream.kept is None:
            return _typed(self.window, given)
        found = _typed(aligned(self.window, given), given)
        return None if found is None else revised(found, given)

    def _names(self) -> list[str]:
        window = self.window
        field = window.field if isinstance(window, FieldWindow | TupleWindow) and window.named else None
        start = self.start or field
        return [*self.group_by, *([start] if start is not None else []), *(name for name, _ in self.functions)]


def _typed(window: Window, given: Resolving) -> TypedBox | None:
    match window:
        case StimeWindow():
            return on_stime(window, given)
        case EventTimeWindow():
            return on_event_time(window, given)
        case FieldWindow():
            return _on_field(window, given)
        case TupleWindow():
            return by_tuples(window, given)
        case Landmark() | Runs():
            return without_a_start(window, given)


def _on_field(window: FieldWindow, given: Resolving) -> TypedBox | None:
    """On a field that carries stime, a window of stime, unless a row or a timeout is to close it."""
    clock = given.stream.clock(window.field)
    independent = window.alignment is Alignment.INDEPENDENT
    if clock is None or window.by_values or not (independent or window.named):
        return by_values(window, given)
    if window.timeout is None:
        return on_clock(window, clock, given)
    if not independent or window.timeout * UNITS["s"] < window.size * step(clock, given.stream):
        return by_values(window, given)
    given.report.warn(
        f"timeout {window.timeout:g} does nothing: the boundary closes a window of {window.size:g} sooner",
        allowed="a timeout shorter than the window",
        next_step="leave it out",
    )
    return on_clock(window, clock, given)
