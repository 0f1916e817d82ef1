"""The type and the parameters that a box has in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.changes import TableChanges
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import ALL, Join, JoinBuffer, JoinKind
from auroral.model.boxes.later import Later
from auroral.model.boxes.local_clock import LOCAL, OnLocalClock
from auroral.model.boxes.revisable import Revisable, Settled
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.user import UserBox
from auroral.model.boxes.user_class import Form
from auroral.model.on_error import OnError
from auroral.model.windows import FieldWindow, TupleWindow
from auroral.model.xml.queries import CHANGES
from auroral.model.xml.stime_windows import STIME
from auroral.model.xml.windowed import ALL_ROWS, LOCAL_CLOCK, LOOKS, SIDES, is_static
from auroral.model.xml.write_parameters import (
    Parameter,
    Unwritable,
    columns,
    expression,
    flags,
    length,
    names,
    number,
    run,
)
from auroral.model.xml.write_rowwise import rowwise_parameters
from auroral.model.xml.write_windows import lengths, named, sizes, window_parameters


def written_box(spec: BoxSpec) -> tuple[str, tuple[Parameter, ...]]:
    """Its type and parameters. Raises Unwritable."""
    if isinstance(spec, TableChanges):
        return CHANGES, ()
    return getattr(spec, "type_name", spec.type), tuple(_parameters(spec))


def _parameters(spec: BoxSpec) -> Iterator[Parameter]:
    match spec:
        case Filter():
            yield from run("expression", spec.predicates)
            yield from flags(("pass-on-false-port", spec.else_port))
            yield from _on_error(spec.on_error)
        case Map():
            yield from columns("expression", "output-field-name", spec.columns)
            yield from _on_error(spec.on_error)
        case Union():
            pass
        case Aggregate():
            yield from columns("aggregate-function", "aggregate-function-output-name", spec.functions)
            yield from window_parameters(spec.window)
            if isinstance(spec.window, FieldWindow | TupleWindow):
                yield from named(spec, spec.window)
            yield from names("group-by", spec.group_by)
            if spec.start is not None:
                yield Parameter("auroral:start", spec.start)
        case Join():
            yield from _join(spec)
        case Delay():
            yield Parameter("delay-ms", str(spec.delay_ms))
            if spec.selectivity != 1:
                yield Parameter("selectivity", number(spec.selectivity))
        case RandomDrop():
            yield Parameter("drop_rate", number(spec.rate))
            yield Parameter("max_batch_size", str(spec.max_batch_size))
            yield from _seed(spec.seed)
        case WindowDrop():
            yield from _window_drop(spec)
        case SUnion():
            yield Parameter("interval", str(spec.interval_ms))
            yield from run("max-delay", map(str, spec.max_delay_ms))
            yield from _given(spec.parameters)
        case Revision():
            yield from _parameters(spec.like)
            if spec.mode is not None:
                yield Parameter("processing-mode", spec.mode)
            if spec.anchors:
                yield Parameter("anchor", " ".join(spec.anchors))
            yield from run("inverse", spec.inverses)
        case Revisable():
            yield Parameter("keep", length(spec.keep))
            yield from names("key", spec.key)
        case Settled():
            pass
        case SOutput() | Later():
            yield from _given(spec.parameters)
        case Apply():
            name = getattr(spec.function, "__qualname__", type(spec.function).__qualname__)
            raise Unwritable(
                f"it applies the Python function {name!r}, which no text can hold",
                "make a box type of it in a package (docs/user-boxes.md): then a file can name it",
            )
        case OnLocalClock():
            yield from _parameters(spec.inner)
            yield Parameter(LOCAL_CLOCK, LOCAL)
        case UserBox():
            yield from _user(spec)
        case _:
            found = rowwise_parameters(spec)
            if found is not None:
                yield from found
                return
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
    yield expression("predicate", spec.predicate)
    if spec.type_name == "joinstatic":
        yield from _static(spec)
        return
    sizes = ("down-size", "up-size") if spec.type_name == "aurorajoin" else ("left-buffer-size", "right-buffer-size")
    for side, buffer, size in zip(("left", "right"), (spec.left, spec.right), sizes, strict=True):
        yield from _buffer(side, buffer, size)
    yield from columns("out-field", "out-field-name", spec.columns)
    if spec.timeout is not None:
        yield Parameter("timeout", number(spec.timeout))
    if spec.kind is not JoinKind.INNER:
        yield Parameter("auroral:kind", str(spec.kind))
    own = ("leftjoin", "rightjoin") if spec.type_name == "sjoin" else LOOKS
    yield from (Parameter(name, "false") for name, looks in zip(own, spec.looks, strict=True) if not looks)
    yield from flags(("auroral:unmatched-when-missing", spec.unmatched_when_missing), (SIDES, spec.sides_named))


def _static(spec: Join) -> Iterator[Parameter]:
    if not is_static(spec):
        raise Unwritable(
            "a joinstatic has no buffers, timeout or kind to say, and this one has",
            "make it a join",
        )
    yield from columns("out-field", "out-field-name", spec.columns)
    yield from flags((SIDES, spec.sides_named))


def _buffer(side: str, buffer: JoinBuffer, size: str) -> Iterator[Parameter]:
    if buffer == ALL:
        yield Parameter(f"auroral:{side}-within", ALL_ROWS)
        return
    if buffer.field is None and not buffer.tuples:
        yield Parameter(f"auroral:{side}-within", length(buffer.size))
        return
    yield Parameter(f"{side}-order-by", "TUPLES" if buffer.tuples else "VALUES")
    yield Parameter(size, number(buffer.size))
    if buffer.field is not None:
        yield Parameter(f"{side}-order-on-field", buffer.field)


def _window_drop(spec: WindowDrop) -> Iterator[Parameter]:
    yield Parameter("drop_rate", number(spec.rate))
    yield Parameter("max_batch_size", str(spec.max_batch_size))
    if spec.field is None and not spec.tuples:
        yield from lengths(STIME, spec.size, spec.advance)
    else:
        by = "TUPLES" if spec.tuples else "VALUES"
        order = "TUPLENUM" if spec.tuples or spec.by_values else "FIELD"
        yield from sizes(by, order, spec.size, spec.advance, "window-slide")
        if spec.field is not None:
            yield Parameter("order-on-field", spec.field)
    yield from names("group-by", spec.group_by)
    yield from _seed(spec.seed)


def _on_error(on_error: OnError) -> Iterator[Parameter]:
    if on_error is not OnError.STOP:
        yield Parameter("auroral:on-error", str(on_error))


def _seed(seed: str | None) -> Iterator[Parameter]:
    if seed is not None:
        yield Parameter("auroral:seed", seed)


def _given(parameters: Iterable[tuple[str, str]]) -> Iterator[Parameter]:
    return (Parameter(name, value) for name, value in parameters)
