"""Windows of time: on stime, by itself or in a field that carries it, and on an event time."""

from __future__ import annotations

from auroral.model.boxes.aggregate_typed import (
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedStimeAggregate,
    WindowStart,
)
from auroral.model.boxes.base import BoxClass, TypedBox
from auroral.model.boxes.resolving import Resolving
from auroral.model.boxes.window_sizes import LARGEST, not_too_many, step
from auroral.model.schema import Field
from auroral.model.stream import ClockField
from auroral.model.types import LONG, TIMESTAMP, Kind
from auroral.model.windows import Alignment, EventTimeWindow, FieldWindow, LatePolicy, StimeWindow


def on_stime(window: StimeWindow, given: Resolving) -> TypedBox | None:
    if window.alignment is Alignment.FIRST:
        return _from_the_first_row(window, given)
    start = None if given.start is None else WindowStart(Field(given.start, TIMESTAMP), 1, 0)
    clocks = () if given.start is None else (ClockField(given.start, 1, window.size - 1),)
    return _stime_windows(given, start, clocks, window.size, window.advance, 0)


def _from_the_first_row(window: StimeWindow, given: Resolving) -> TypedBox | None:
    if not given.stream.clocks:
        given.report.add(
            "windows aligned by the first row need a field that carries the stream's stime",
            allowed="streams whose input says stime=..., as long as that field is passed on",
            next_step="name the input's stime field, and keep it in every map before this box",
        )
        return None
    clock = given.stream.clocks[0]
    length = step(clock, given.stream)
    sizes = (window.size / length, window.advance / length)
    return on_clock(FieldWindow(clock.name, *sizes, Alignment.FIRST), clock, given)


def on_clock(window: FieldWindow, clock: ClockField, given: Resolving) -> TypedBox | None:
    """Windows on a field that carries stime: the boundary closes them, or, aligned by the first row, a row does."""
    stream, report = given.stream, given.report
    length, field_type = step(clock, stream), stream.schema[window.field]
    size, advance = (round(value * length) for value in (window.size, window.advance))
    if not 1 <= advance <= size < LARGEST:
        report.add(
            f"windows of size {window.size:g} that begin every {window.advance:g}, on {window.field!r}",
            allowed="at least a microsecond, and sizes that fit 64 bits",
            next_step=f"sizes on {window.field!r} are in steps of {length} us: mend them",
        )
        return None
    start = None
    clocks: tuple[ClockField, ...] = ()
    if window.named:
        start = WindowStart(Field(given.start or window.field, field_type), clock.unit, clock.offset)
        # What an integer names by the number before it does not tell the window's stime any more.
        if not (field_type.is_integer and (size % clock.unit or advance % clock.unit)):
            clocks = (ClockField(start.field.name, clock.unit, clock.offset + size - 1),)
    if window.slack:
        report.warn(
            "slack is not needed on stime windows: the boundary closes them, late rows are the source's affair",
            allowed="slack, which does nothing here",
            next_step="leave it out; how long a source waits for late rows is said by --delay",
        )
    if window.alignment is Alignment.INDEPENDENT:
        return _stime_windows(given, start, clocks, size, advance, clock.offset % advance)
    output = given.output(start, (*stream.order, LONG))
    if output is None or not not_too_many(window, report):
        return None
    return TypedFirstAligned(
        outputs=(output,),
        box_class=BoxClass.FOLD,
        order_sensitive=True,
        functions=given.functions,
        group_by=given.group_by,
        start=start,
        size=size,
        advance=advance,
    )


def _stime_windows(
    given: Resolving,
    start: WindowStart | None,
    clocks: tuple[ClockField, ...],
    size: int,
    advance: int,
    phase: int,
) -> TypedBox | None:
    output = given.output(start, given.group_types, clocks)
    if output is None:
        return None
    return TypedStimeAggregate(
        outputs=(output,),
        box_class=BoxClass.WINDOW,
        past=size,
        order_sensitive=given.order_sensitive,
        functions=given.functions,
        group_by=given.group_by,
        start=start,
        size=size,
        advance=advance,
        phase=phase,
    )


def on_event_time(window: EventTimeWindow, given: Resolving) -> TypedBox | None:
    stream = given.stream
    if stream.schema[window.field].kind is not Kind.TIMESTAMP:
        given.report.add(
            f"the event time {window.field!r} is a {stream.schema[window.field]}",
            allowed="a timestamp field",
            next_step="choose a timestamp field, or convert this one where rows come in",
        )
        return None
    start = None if given.start is None else WindowStart(Field(given.start, TIMESTAMP), 1, 0)
    output = given.output(start, (TIMESTAMP, *given.group_types))
    if output is None or not not_too_many(window, given.report):
        return None
    side = (stream,) if window.late is LatePolicy.SIDE else ()
    return TypedEventTimeAggregate(
        outputs=(output, *side),
        box_class=BoxClass.WINDOW,
        past=window.size + window.lateness + window.ahead + window.correct_for,
        order_sensitive=given.order_sensitive,
        functions=given.functions,
        group_by=given.group_by,
        start=start,
        window=window,
    )
