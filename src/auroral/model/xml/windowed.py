"""Aggregates and joins of Borealis files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.join import ALL, Join, JoinBuffer
from auroral.model.expression import parse_aggregate
from auroral.model.windows import Alignment, FieldWindow, TupleWindow
from auroral.model.xml.parameters import Parameters

SIZE_BYS = ("VALUES", "TUPLES")
ORDER_BYS = ("FIELD", "TUPLENUM")

_BARE = re.compile(r"(?:left|right)\.(\w+)|(\w+)")


def aggregate(parameters: Parameters, _inputs: int) -> BoxSpec:
    """`drop-mode` and `last-agg` steered how the old engine passed on dropped windows: an aggregate here knows what was dropped."""
    by_tuples = parameters.choice("window-size-by", SIZE_BYS) == "TUPLES"
    by_field = parameters.choice("order-by", ORDER_BYS) == "FIELD"
    field = parameters.text("order-on-field")
    if not field and (by_field or not by_tuples) and not parameters.failed:
        parameters.fail(
            "'order-on-field' is needed with window-size-by VALUES or order-by FIELD",
            allowed="the field that the windows are on",
            at="order-by" if by_field else "window-size-by",
            next_step='add <parameter name="order-on-field" value="..."/>',
        )
    functions, names = (
        parameters.expressions("aggregate-function", parse_aggregate),
        parameters.run("aggregate-function-output-name"),
    )
    calls = tuple((names[n] if n < len(names) else f"agg_{n}", call) for n, call in enumerate(functions))
    timeout, slack = _timeout(parameters), parameters.whole("slack") or 0
    independent = parameters.flag("independent-window-alignment")
    group_by = parameters.names("group-by")
    if parameters.flag("drop-empty-outputs") is False:
        parameters.warn("drop-empty-outputs", "drop-empty-outputs is 0, and a window without rows gives nothing here")
    if slack and not by_field:
        parameters.warn("slack", "slack does nothing with order-by TUPLENUM: rows are in the order of arrival already")
        slack = 0
    # Files from before results had the order field: Borealis would give two fields of one name.
    repeated = [n for n, (name, _) in enumerate(calls) if by_field and name == field]
    if repeated:
        function = f"aggregate-function-output-name.{repeated[0]}"
        reason = f"order-on-field and {function} both name the result's {field!r}: it has the function's"
        parameters.warn(function, reason, "give the function's field another name to have both")
    if by_field and field in group_by:
        reason = f"group-by and order-on-field both name the result's {field!r}: it has the group's"
        parameters.warn("group-by", reason, "group by a copy of it, made in a map before, to have both")
    named = not repeated and not (by_field and field in group_by)
    if by_tuples:
        counts = [parameters.whole(name, 1) or 1 for name in ("window-size", "advance")]
        order = field if by_field else None
        return Aggregate(calls, TupleWindow(counts[0], counts[1], timeout, order, slack, named), group_by)
    sizes = [parameters.number(name, 0, above=True) or 1 for name in ("window-size", "advance")]
    alignment = Alignment.INDEPENDENT if independent else Alignment.FIRST
    window = FieldWindow(field or "", sizes[0], sizes[1], alignment, slack, timeout)
    return Aggregate(calls, replace(window, named=by_field and named, by_values=not by_field), group_by)


def join(type_name: str, left_size: str, right_size: str) -> Callable[[Parameters, int], BoxSpec]:
    """The maker of one of the joins, which differ in what they call the sizes of their buffers."""

    def make(parameters: Parameters, _inputs: int) -> BoxSpec:
        left = _buffer(parameters, "left", left_size)
        right = _buffer(parameters, "right", right_size)
        looks = [type_name != "sjoin" or not _is_off(parameters, name) for name in ("leftjoin", "rightjoin")]
        timeout = _timeout(parameters)
        predicate, columns = parameters.expression("predicate") or "", _columns(parameters)
        if not any(looks):
            parameters.warn(
                "rightjoin", "leftjoin and rightjoin are both off: no row looks for a partner, and none is found"
            )
        given = Join(predicate, left, right, columns, timeout=timeout, type_name=type_name)
        return replace(given, looks=(looks[0], looks[1]))

    return make


def joinstatic(parameters: Parameters, _inputs: int) -> BoxSpec:
    """Rows of the first input meet all rows that the second has had; these look for nothing."""
    predicate, columns = parameters.expression("predicate") or "", _columns(parameters)
    none_kept = JoinBuffer(0, tuples=True)
    return Join(predicate, none_kept, ALL, columns, type_name="joinstatic", looks=(True, False))


def _is_off(parameters: Parameters, name: str) -> bool:
    """Whether arriving rows of that side do not look for partners. Borealis knew one word for it: false."""
    value = (parameters.text(name) or "").lower()
    if value in ("0", "no", "off"):
        parameters.warn(name, f"{name} is {value!r}, which counts as true", "write false to switch it off")
    return value == "false"


def _buffer(parameters: Parameters, side: str, size_name: str) -> JoinBuffer:
    by_tuples = parameters.choice(f"{side}-order-by", ("TUPLES", "VALUES")) == "TUPLES"
    field = parameters.text(f"{side}-order-on-field")
    if by_tuples:
        return JoinBuffer(int(parameters.number(size_name, 0) or 0), tuples=True)
    if not field and f"{side}-order-by" in parameters.given:
        parameters.fail(
            f"'{side}-order-on-field' is needed with {side}-order-by VALUES",
            allowed="the field that the buffer is on",
            at=f"{side}-order-by",
            next_step=f'add <parameter name="{side}-order-on-field" value="..."/>',
        )
    return JoinBuffer(parameters.number(size_name, 0) or 0, field or None)


def _columns(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    fields, names = parameters.expressions("out-field"), parameters.run("out-field-name")
    columns = []
    for number, expression in enumerate(fields):
        bare = _BARE.fullmatch(expression)
        if number < len(names):
            columns.append((names[number], expression))
        elif bare is not None:
            columns.append((bare[1] or bare[2], expression))
        else:
            parameters.fail(
                f"there is a parameter 'out-field.{number}' but no 'out-field-name.{number}'",
                "a name for each output field",
                at=f"out-field.{number}",
                next_step=f'add <parameter name="out-field-name.{number}" value="..."/>',
            )
    if len(names) > len(fields):
        extra = f"out-field-name.{len(fields)}"
        parameters.fail(
            f"there is a parameter {extra!r} but no 'out-field.{len(fields)}'",
            "an expression for each name",
            f'add <parameter name="out-field.{len(fields)}" value="..."/>',
            at=extra,
        )
    return tuple(columns)


def _timeout(parameters: Parameters) -> float | None:
    """Seconds; nothing, 0 and below mean that there is none."""
    return max(parameters.number("timeout", -1e12, 1e12) or 0, 0) or None
