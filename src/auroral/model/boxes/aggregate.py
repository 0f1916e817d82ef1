"""Aggregates over windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.aggregates import TypedAggregate, typed_aggregate
from auroral.model.boxes.aggregate_typed import (
    TypedAggregateBox,
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRuns,
    TypedStimeAggregate,
    WindowSample,
    WindowStart,
)
from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.later import FIELD_WINDOWS, FRACTIONS, TUPLE_WINDOWS, WINDOW_TIMEOUTS, NotStime, later
from auroral.model.boxes.stateless import schema_of
from auroral.model.boxes.window_sizes import LARGEST, check_sizes, step
from auroral.model.schema import Field
from auroral.model.stream import ClockField, StreamType
from auroral.model.types import LONG, TIMESTAMP, FieldType, Kind
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
    "TypedRuns",
    "TypedStimeAggregate",
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
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window on stime or event time; fold on first-tuple alignment, landmark, runs",
        ports="1 in, 1 out (2 with a side output of late rows)",
        closing_event="boundary past the window's end (+ lateness); a row for folds",
        result_stime="window's end (+ lateness) - 1 us; the closing row's for folds",
        order_key="group key",
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
        if isinstance(self.window, FieldWindow | EventTimeWindow):
            report.field(self.window.field, stream)
        if report.problems or report.missing:
            # Of a result whose types are not known, the names can still be judged.
            schema_of(((name, LONG) for name in self._names()), report)
            return None
        if isinstance(self.window, FieldWindow):
            return self._on_field(self.window, stream, functions, report)
        if isinstance(self.window, TupleWindow):
            # Whether the result has an order field, which rows counted do not need, is not kept.
            return later(TUPLE_WINDOWS)
        return self._on_time(self.window, stream, functions, report)

    def _on_time(
        self,
        window: StimeWindow | EventTimeWindow | Landmark | Runs,
        stream: StreamType,
        functions: tuple[TypedAggregate, ...],
        report: Report,
    ) -> TypedBox | None:
        start = WindowStart(Field(self.start, TIMESTAMP), 1, 0) if self.start is not None else None
        if start is not None and isinstance(window, Landmark | Runs):
            report.add(
                "a landmark window and a run of rows have no start to name",
                allowed="`start` on windows that have one: of stime or event time",
                next_step="leave `start` out",
            )
            return None
        match window:
            case StimeWindow(size, advance, Alignment.FIRST):
                return self._first_aligned(size, advance, stream, functions, report)
            case StimeWindow(size, advance):
                clocks = () if self.start is None else (ClockField(self.start, 1, size - 1),)
                return self._stime_windows(stream, functions, start, clocks, size, advance, 0, report)
            case EventTimeWindow():
                return self._event_time(window, stream, functions, start, report)
            case Landmark(origin):
                output = self._output(stream, functions, None, (), (*stream.order,), report)
                if output is None:
                    return None
                return TypedLandmark(
                    outputs=(output,),
                    box_class=BoxClass.FOLD,
                    order_sensitive=True,
                    functions=functions,
                    group_by=self.group_by,
                    origin=origin,
                )
            case Runs():
                output = self._output(stream, functions, None, (), (*stream.order,), report)
                if output is None:
                    return None
                return TypedRuns(
                    outputs=(output,),
                    box_class=BoxClass.FOLD,
                    order_sensitive=True,
                    functions=functions,
                    group_by=self.group_by,
                )

    def _first_aligned(
        self,
        size: int,
        advance: int,
        stream: StreamType,
        functions: tuple[TypedAggregate, ...],
        report: Report,
    ) -> TypedBox | None:
        if not stream.clocks:
            report.add(
                "windows aligned by the first row need a field that carries the stream's stime",
                allowed="streams whose input says stime=..., as long as that field is passed on",
                next_step="name the input's stime field, and keep it in every map before this box",
            )
            return None
        clock = stream.clocks[0]
        length = step(clock, stream)
        window = FieldWindow(clock.name, size / length, advance / length, Alignment.FIRST)
        return self._on_field(window, stream, functions, report)

    def _on_field(
        self, window: FieldWindow, stream: StreamType, functions: tuple[TypedAggregate, ...], report: Report
    ) -> TypedBox | None:
        clock, field_type = stream.clock(window.field), stream.schema[window.field]
        if clock is None or window.timeout is not None:
            field = WindowStart(Field(self.start or window.field, field_type), 1, 0)
            output = self._output(stream, functions, field, (), (), report)
            if output is None:
                return None
            if clock is not None:
                return later(WINDOW_TIMEOUTS, (output,))
            return later(FIELD_WINDOWS, (output,), NotStime(0, window.field))
        length = step(clock, stream)
        size, advance = (round(value * length) for value in (window.size, window.advance))
        if not 1 <= advance <= size < LARGEST:
            report.add(
                f"windows of size {window.size:g} that begin every {window.advance:g}, on {window.field!r}",
                allowed="at least a microsecond, and sizes that fit 64 bits",
                next_step=f"sizes on {window.field!r} are in steps of {length} us: mend them",
            )
            return None
        start = WindowStart(Field(self.start or window.field, field_type), clock.unit, clock.offset)
        if field_type.is_integer and (size % clock.unit or advance % clock.unit):
            output = self._output(stream, functions, start, (), (), report)
            return None if output is None else later(FRACTIONS, (output,))
        clocks = (ClockField(start.field.name, clock.unit, clock.offset + size - 1),)
        if window.slack:
            report.warn(
                "slack is not needed on stime windows: the boundary closes them, late rows are the source's affair",
                allowed="slack, which does nothing here",
                next_step="leave it out; how long a source waits for late rows is said by --delay",
            )
        if window.alignment is Alignment.INDEPENDENT:
            return self._stime_windows(stream, functions, start, clocks, size, advance, clock.offset % advance, report)
        output = self._output(stream, functions, start, (), (*stream.order, LONG), report)
        if output is None:
            return None
        return TypedFirstAligned(
            outputs=(output,),
            box_class=BoxClass.FOLD,
            order_sensitive=True,
            functions=functions,
            group_by=self.group_by,
            start=start,
            size=size,
            advance=advance,
        )

    def _stime_windows(
        self,
        stream: StreamType,
        functions: tuple[TypedAggregate, ...],
        start: WindowStart | None,
        clocks: tuple[ClockField, ...],
        size: int,
        advance: int,
        phase: int,
        report: Report,
    ) -> TypedBox | None:
        output = self._output(stream, functions, start, clocks, self._group_types(stream), report)
        if output is None:
            return None
        return TypedStimeAggregate(
            outputs=(output,),
            box_class=BoxClass.WINDOW,
            past=size,
            order_sensitive=any(f.order_sensitive for f in functions),
            functions=functions,
            group_by=self.group_by,
            start=start,
            size=size,
            advance=advance,
            phase=phase,
        )

    def _event_time(
        self,
        window: EventTimeWindow,
        stream: StreamType,
        functions: tuple[TypedAggregate, ...],
        start: WindowStart | None,
        report: Report,
    ) -> TypedBox | None:
        if stream.schema[window.field].kind is not Kind.TIMESTAMP:
            report.add(
                f"the event time {window.field!r} is a {stream.schema[window.field]}",
                allowed="a timestamp field",
                next_step="choose a timestamp field, or convert this one where rows come in",
            )
            return None
        order = (TIMESTAMP, *self._group_types(stream))
        output = self._output(stream, functions, start, (), order, report)
        if output is None:
            return None
        side = (stream,) if window.late is LatePolicy.SIDE else ()
        return TypedEventTimeAggregate(
            outputs=(output, *side),
            box_class=BoxClass.WINDOW,
            past=window.size + window.lateness + window.ahead + window.correct_for,
            order_sensitive=any(f.order_sensitive for f in functions),
            functions=functions,
            group_by=self.group_by,
            start=start,
            window=window,
        )

    def _names(self) -> list[str]:
        start = self.start or (self.window.field if isinstance(self.window, FieldWindow) else None)
        return [*self.group_by, *([start] if start is not None else []), *(name for name, _ in self.functions)]

    def _group_types(self, stream: StreamType) -> tuple[FieldType, ...]:
        return tuple(stream.schema[name] for name in self.group_by)

    def _output(
        self,
        stream: StreamType,
        functions: tuple[TypedAggregate, ...],
        start: WindowStart | None,
        clocks: tuple[ClockField, ...],
        order: tuple[FieldType, ...],
        report: Report,
    ) -> StreamType | None:
        fields = [(name, stream.schema[name]) for name in self.group_by]
        if start is not None:
            fields.append((start.field.name, start.field.type))
        fields += [(f.name, f.type) for f in functions]
        schema = schema_of(fields, report)
        return None if schema is None else StreamType(schema, clocks, order)
