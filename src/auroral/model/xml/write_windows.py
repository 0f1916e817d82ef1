"""The parameters that say the window of a box."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.windows import (
    Alignment,
    EventTimeWindow,
    FieldWindow,
    Landmark,
    Runs,
    StimeWindow,
    TupleWindow,
    Window,
)
from auroral.model.xml.stime_windows import EVENT_TIME, KIND, LANDMARK, RUNS, STIME
from auroral.model.xml.windowed import BY_VALUES, NAMED, names_its_field
from auroral.model.xml.write_parameters import Parameter, flags, length, number


def window_parameters(window: Window) -> Iterator[Parameter]:
    match window:
        case FieldWindow():
            arrival = _in_order_of_arrival(window)
            yield from sizes("VALUES", "TUPLENUM" if arrival else "FIELD", window.size, window.advance)
            yield Parameter("order-on-field", window.field)
            yield from flags((BY_VALUES, window.by_values and not arrival))
            if window.alignment is Alignment.INDEPENDENT:
                yield Parameter("independent-window-alignment", "1")
            yield from _slack_and_timeout(window)
        case TupleWindow():
            yield from sizes("TUPLES", "TUPLENUM" if window.field is None else "FIELD", window.size, window.advance)
            if window.field is not None:
                yield Parameter("order-on-field", window.field)
            yield from _slack_and_timeout(window)
        case StimeWindow():
            yield from lengths(STIME, window.size, window.advance)
            if window.alignment is not Alignment.INDEPENDENT:
                yield Parameter("auroral:alignment", str(window.alignment))
        case EventTimeWindow():
            yield from lengths(EVENT_TIME, window.size, window.advance)
            yield Parameter("auroral:on", window.field)
            yield Parameter("auroral:lateness", length(window.lateness))
            yield Parameter("auroral:late", str(window.late))
            yield Parameter("auroral:ahead", length(window.ahead))
            if window.correct_for:
                yield Parameter("auroral:correct-for", length(window.correct_for))
        case Landmark():
            yield Parameter(KIND, LANDMARK)
            if window.origin is not None:
                yield Parameter("auroral:since", str(window.origin))
        case Runs():
            yield Parameter(KIND, RUNS)


def _slack_and_timeout(window: FieldWindow | TupleWindow) -> Iterator[Parameter]:
    if window.slack:
        yield Parameter("slack", str(window.slack))
    if window.timeout is not None:
        yield Parameter("timeout", number(window.timeout))


def _in_order_of_arrival(window: FieldWindow) -> bool:
    """What a file says by order-by TUPLENUM, of windows of values: rows are taken as they come, and results lack the field."""
    return window.by_values and not window.named and not window.slack


def named(spec: Aggregate, window: FieldWindow | TupleWindow) -> Iterator[Parameter]:
    """Whether results have the field that windows are on, where a reader would think otherwise."""
    by_field = window.field is not None and not (isinstance(window, FieldWindow) and _in_order_of_arrival(window))
    usual = (
        names_its_field(window.field, spec.functions, spec.group_by) if by_field else isinstance(window, TupleWindow)
    )
    if window.named != usual:
        yield Parameter(NAMED, str(int(window.named)))


def sizes(by: str, order: str, size: float, advance: float, advance_name: str = "advance") -> Iterator[Parameter]:
    yield Parameter("window-size-by", by)
    yield Parameter("window-size", number(size))
    yield Parameter(advance_name, number(advance))
    yield Parameter("order-by", order)


def lengths(kind: str, size: float, advance: float) -> Iterator[Parameter]:
    yield Parameter(KIND, kind)
    yield Parameter("auroral:size", length(size))
    if advance != size:
        yield Parameter("auroral:advance", length(advance))
