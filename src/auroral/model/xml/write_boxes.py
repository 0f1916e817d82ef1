"""The type and the parameters that a box has in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxSpec, Source
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join, JoinBuffer, JoinKind
from auroral.model.boxes.later import Later
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.user import UserBox
from auroral.model.boxes.user_class import Form
from auroral.model.duration import spell
from auroral.model.expression import SqlExpression
from auroral.model.on_error import OnError
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """`sql` is the type that the value gives, where it is Spark SQL."""

    name: str
    value: str
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class Unwritable(Exception):
    """A box that no text can hold: why, and what to do instead."""

    why: str
    instead: str


def written_box(spec: BoxSpec) -> tuple[str, tuple[Parameter, ...]]:
    """Its type and parameters. Raises Unwritable."""
    return getattr(spec, "type_name", spec.type), tuple(_parameters(spec))


def _parameters(spec: BoxSpec) -> Iterator[Parameter]:
    match spec:
        case Filter():
            yield from _run("expression", spec.predicates)
            if spec.else_port:
                yield Parameter("pass-on-false-port", "1")
            yield from _on_error(spec.on_error)
        case Map():
            yield from _run("expression", (source for _, source in spec.columns))
            yield from _run("output-field-name", (name for name, _ in spec.columns))
            yield from _on_error(spec.on_error)
        case Union():
            pass
        case Aggregate():
            yield from _run("aggregate-function", (call for _, call in spec.functions))
            yield from _run("aggregate-function-output-name", (name for name, _ in spec.functions))
            yield from _window(spec.window)
            yield from _names("group-by", spec.group_by)
            if spec.start is not None:
                yield Parameter("auroral:start", spec.start)
        case Join():
            yield from _join(spec)
        case Delay():
            yield Parameter("delay-ms", str(spec.delay_ms))
            if spec.selectivity != 1:
                yield Parameter("selectivity", _number(spec.selectivity))
        case RandomDrop():
            yield Parameter("drop_rate", _number(spec.rate))
            yield Parameter("max_batch_size", str(spec.max_batch_size))
            yield from _seed(spec.seed)
        case WindowDrop():
            yield from _window_drop(spec)
        case SUnion():
            yield Parameter("interval", str(spec.interval_ms))
            yield from _run("max-delay", map(str, spec.max_delay_ms))
            yield from _given(spec.parameters)
        case SOutput() | Later():
            yield from _given(spec.parameters)
        case Apply():
            name = getattr(spec.function, "__qualname__", type(spec.function).__qualname__)
            raise Unwritable(
                f"it applies the Python function {name!r}, which no text can hold",
                "make a box type of it in a package (docs/user-boxes.md): then a file can name it",
            )
        case UserBox():
            yield from _user(spec)
        case _:
            raise Unwritable(f"boxes of type {spec.type!r} are the system's own", "write the diagram as it was begun")


def _user(spec: UserBox) -> Iterator[Parameter]:
    if spec.package is None:
        raise Unwritable(
            f"its class {spec.type_name!r} is of this program, and no installed package offers it",
            "let a package offer it by an entry point (docs/user-boxes.md)",
        )
    for parameter, value in spec.given():
        if parameter.form is Form.FIELDS and any("," in name for name in value):
            raise Unwritable(f"{parameter.name} has a name with a comma in it", "rename the field by a map before")
        yield Parameter(parameter.name, parameter.text(value))


def _join(spec: Join) -> Iterator[Parameter]:
    yield _expression("predicate", spec.predicate)
    sizes = ("down-size", "up-size") if spec.type_name == "aurorajoin" else ("left-buffer-size", "right-buffer-size")
    for side, buffer, size in zip(("left", "right"), (spec.left, spec.right), sizes, strict=True):
        yield from _buffer(side, buffer, size)
    yield from _run("out-field", (source for _, source in spec.columns))
    yield from _run("out-field-name", (name for name, _ in spec.columns))
    if spec.timeout is not None:
        yield Parameter("timeout", _number(spec.timeout))
    if spec.kind is not JoinKind.INNER:
        yield Parameter("auroral:kind", str(spec.kind))
    if spec.unmatched_when_missing:
        yield Parameter("auroral:unmatched-when-missing", "1")
    if spec.sides_named:
        yield Parameter("auroral:sides-named", "1")


def _buffer(side: str, buffer: JoinBuffer, size: str) -> Iterator[Parameter]:
    if buffer.field is None and not buffer.tuples:
        yield Parameter(f"auroral:{side}-within", _length(buffer.size))
        return
    yield Parameter(f"{side}-order-by", "TUPLES" if buffer.tuples else "VALUES")
    yield Parameter(size, _number(buffer.size))
    if buffer.field is not None:
        yield Parameter(f"{side}-order-on-field", buffer.field)


def _window(window: Window) -> Iterator[Parameter]:
    match window:
        case FieldWindow():
            yield from _sizes("VALUES", "FIELD", window.size, window.advance)
            yield Parameter("order-on-field", window.field)
            if window.alignment is Alignment.INDEPENDENT:
                yield Parameter("independent-window-alignment", "1")
            if window.slack:
                yield Parameter("slack", str(window.slack))
            if window.timeout is not None:
                yield Parameter("timeout", _number(window.timeout))
        case TupleWindow():
            yield from _sizes("TUPLES", "TUPLENUM", window.size, window.advance)
            if window.timeout is not None:
                yield Parameter("timeout", _number(window.timeout))
        case StimeWindow():
            yield from _lengths(STIME, window.size, window.advance)
            if window.alignment is not Alignment.INDEPENDENT:
                yield Parameter("auroral:alignment", str(window.alignment))
        case EventTimeWindow():
            yield from _lengths(EVENT_TIME, window.size, window.advance)
            yield Parameter("auroral:on", window.field)
            yield Parameter("auroral:lateness", _length(window.lateness))
            yield Parameter("auroral:late", str(window.late))
            yield Parameter("auroral:ahead", _length(window.ahead))
            if window.correct_for:
                yield Parameter("auroral:correct-for", _length(window.correct_for))
        case Landmark():
            yield Parameter(KIND, LANDMARK)
            if window.origin is not None:
                yield Parameter("auroral:since", str(window.origin))
        case Runs():
            yield Parameter(KIND, RUNS)


def _window_drop(spec: WindowDrop) -> Iterator[Parameter]:
    yield Parameter("drop_rate", _number(spec.rate))
    yield Parameter("max_batch_size", str(spec.max_batch_size))
    if spec.field is None and not spec.tuples:
        yield from _lengths(STIME, spec.size, spec.advance)
    else:
        by, order = ("TUPLES", "TUPLENUM") if spec.tuples else ("VALUES", "FIELD")
        yield from _sizes(by, order, spec.size, spec.advance, "window-slide")
        if spec.field is not None:
            yield Parameter("order-on-field", spec.field)
    yield from _names("group-by", spec.group_by)
    yield from _seed(spec.seed)


def _sizes(by: str, order: str, size: float, advance: float, advance_name: str = "advance") -> Iterator[Parameter]:
    yield Parameter("window-size-by", by)
    yield Parameter("window-size", _number(size))
    yield Parameter(advance_name, _number(advance))
    yield Parameter("order-by", order)


def _lengths(kind: str, size: float, advance: float) -> Iterator[Parameter]:
    yield Parameter(KIND, kind)
    yield Parameter("auroral:size", _length(size))
    if advance != size:
        yield Parameter("auroral:advance", _length(advance))


def _on_error(on_error: OnError) -> Iterator[Parameter]:
    if on_error is not OnError.STOP:
        yield Parameter("auroral:on-error", str(on_error))


def _seed(seed: str | None) -> Iterator[Parameter]:
    if seed is not None:
        yield Parameter("auroral:seed", seed)


def _given(parameters: Iterable[tuple[str, str]]) -> Iterator[Parameter]:
    return (Parameter(name, value) for name, value in parameters)


def _names(name: str, values: tuple[str, ...]) -> Iterator[Parameter]:
    if any("," in value or value != value.strip() for value in values):
        yield from _run(f"auroral:{name}", values)
    elif values:
        yield Parameter(name, ", ".join(values))


def _run(name: str, values: Iterable[Source]) -> Iterator[Parameter]:
    return (_expression(f"{name}.{number}", value) for number, value in enumerate(values))


def _expression(name: str, value: Source) -> Parameter:
    if isinstance(value, SqlExpression):
        return Parameter(name, value.text, str(value.type))
    return Parameter(name, str(value))


def _length(microseconds: float) -> str:
    return spell(int(microseconds)) if microseconds == int(microseconds) else f"{microseconds}us"


def _number(value: float) -> str:
    """The shortest text that is read as the same number."""
    return str(int(value)) if value == int(value) else repr(float(value))
