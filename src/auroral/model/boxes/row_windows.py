"""Windows that rows close: of values of a field, of a number of rows, of all rows so far, of runs of equal rows."""

from __future__ import annotations

import math
from fractions import Fraction

from auroral.model.boxes.aggregate_typed import (
    TypedLandmark,
    TypedRuns,
    TypedTupleWindows,
    TypedValueWindows,
    WindowStart,
)
from auroral.model.boxes.base import BoxClass, NotStime, Report, TypedBox
from auroral.model.boxes.resolving import Resolving
from auroral.model.boxes.window_sizes import not_too_many
from auroral.model.duration import UNITS
from auroral.model.schema import Field
from auroral.model.stream import StreamType
from auroral.model.types import LONG, FieldType, Kind
from auroral.model.windows import FieldWindow, Landmark, Runs, TupleWindow


def by_values(window: FieldWindow, given: Resolving) -> TypedBox | None:
    """Windows of a field's values, whatever stime the rows have."""
    stream, kind = given.stream, given.stream.schema[window.field]
    if not ordering_field(window.field, stream, given.report) or not timeout_is_fine(window.timeout, given.report):
        return None
    if not not_too_many(window, given.report):
        return None
    start = WindowStart(Field(given.start or window.field, kind), 1, 0) if window.named else None
    output = given.output(start, (*stream.order, *given.group_types, LONG))
    if output is None:
        return None
    unit = value_unit(kind)
    return TypedValueWindows(
        outputs=(output,),
        box_class=BoxClass.FOLD,
        order_sensitive=True,
        waits=microseconds(window.timeout) or 0,
        not_stime=() if window.by_values or stream.clock(window.field) else (NotStime(0, window.field),),
        functions=given.functions,
        group_by=given.group_by,
        start=start,
        field=window.field,
        size=as_written(window.size) * unit,
        advance=as_written(window.advance) * unit,
        alignment=window.alignment,
        slack=window.slack,
        timeout=microseconds(window.timeout),
    )


def by_tuples(window: TupleWindow, given: Resolving) -> TypedBox | None:
    """Windows of a number of rows."""
    stream = given.stream
    if window.field is not None and not ordering_field(window.field, stream, given.report):
        return None
    if not timeout_is_fine(window.timeout, given.report):
        return None
    if not not_too_many(window, given.report):
        return None
    start = None
    if window.field is not None and window.named:
        start = WindowStart(Field(given.start or window.field, stream.schema[window.field]), 1, 0)
    output = given.output(start, (*stream.order, *given.group_types, LONG))
    if output is None:
        return None
    return TypedTupleWindows(
        outputs=(output,),
        box_class=BoxClass.FOLD,
        order_sensitive=True,
        waits=microseconds(window.timeout) or 0,
        functions=given.functions,
        group_by=given.group_by,
        start=start,
        size=window.size,
        advance=window.advance,
        timeout=microseconds(window.timeout),
        field=window.field,
        slack=window.slack,
    )


def without_a_start(window: Landmark | Runs, given: Resolving) -> TypedBox | None:
    if given.start is not None:
        given.report.add(
            "a landmark window and a run of rows have no start to name",
            allowed="`start` on windows that have one: of stime or event time",
            next_step="leave `start` out",
        )
        return None
    output = given.output(None, given.stream.order)
    if output is None:
        return None
    if isinstance(window, Runs):
        return TypedRuns(
            outputs=(output,),
            box_class=BoxClass.FOLD,
            order_sensitive=True,
            functions=given.functions,
            group_by=given.group_by,
        )
    return TypedLandmark(
        outputs=(output,),
        box_class=BoxClass.FOLD,
        order_sensitive=True,
        functions=given.functions,
        group_by=given.group_by,
        origin=window.origin,
    )


def ordering_field(name: str, stream: StreamType, report: Report) -> bool:
    """Whether rows can be ordered on the field, at distances that are numbers; note why not."""
    kind = stream.schema[name]
    if kind.is_numeric or kind.kind is Kind.TIMESTAMP:
        return True
    report.add(
        f"field {name!r}, which orders the rows, is a {kind}",
        allowed="a number or a timestamp",
        next_step="choose another field, or convert this one with a map before this box",
    )
    return False


def value_unit(kind: FieldType) -> int:
    """What a size of 1 is in values of such a field as rows have them: a timestamp counts microseconds, its sizes seconds."""
    return UNITS["s"] if kind.kind is Kind.TIMESTAMP else 1


def as_written(size: float) -> Fraction:
    """The number that was written, exactly: 0.1 is a tenth, not the double next to it."""
    return Fraction(repr(size))


def microseconds(timeout: float | None) -> int | None:
    return None if timeout is None else max(1, round(timeout * UNITS["s"]))


def timeout_is_fine(timeout: float | None, report: Report) -> bool:
    if timeout is None or (math.isfinite(timeout) and 0 < timeout < 9e12):
        return True
    report.add(
        f"the timeout is {timeout:g} s", allowed="a length of stime above 0", next_step="mend it, or leave it out"
    )
    return False
