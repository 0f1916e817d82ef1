"""Aggregates and joins of Borealis files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec, Source
from auroral.model.boxes.join import Join, JoinBuffer, JoinKind
from auroral.model.boxes.later import ARRIVAL_WINDOWS, ONE_SIDED_JOINS, REPEATED_FIELDS, Later
from auroral.model.expression import parse_aggregate
from auroral.model.windows import Alignment, FieldWindow, TupleWindow
from auroral.model.xml.parameters import Parameters
from auroral.model.xml.stime_windows import KIND, our_window

WITHIN = ("auroral:left-within", "auroral:right-within")
"""How long rows of a side wait, in stime."""
_KIND, _UNMATCHED, _SIDES = "auroral:kind", "auroral:unmatched-when-missing", "auroral:sides-named"
JOIN_PARAMETERS = (*WITHIN, _KIND, _UNMATCHED, _SIDES)
SIZE_BYS = ("VALUES", "TUPLES")
ORDER_BYS = ("FIELD", "TUPLENUM")

_BARE = re.compile(r"(?:left|right)\.(\w+)|(\w+)")


def aggregate(parameters: Parameters, _inputs: int) -> BoxSpec:
    """`drop-empty-outputs`, `drop-mode` and `last-agg` steered how the old engine passed on dropped windows.

    They have no meaning here: an empty window emits nothing, and an aggregate knows what was dropped.
    """
    if KIND in parameters.given:
        window = our_window(parameters)
        return Aggregate(_calls(parameters), window, parameters.names("group-by"), parameters.text("auroral:start"))
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
    calls, start = _calls(parameters), parameters.text("auroral:start")
    timeout, slack = _timeout(parameters), parameters.whole("slack") or 0
    independent = parameters.flag("independent-window-alignment")
    group_by = parameters.names("group-by")
    if by_tuples:
        counts = [parameters.whole(name, 1) or 1 for name in ("window-size", "advance")]
        return Aggregate(calls, TupleWindow(counts[0], counts[1], timeout), group_by, start)
    sizes = [parameters.number(name, 0, above=True) or 1 for name in ("window-size", "advance")]
    if not by_field and not parameters.failed:
        parameters.warn("order-by", ARRIVAL_WINDOWS.why, "write order-by FIELD if rows come in its order")
        return Later("aggregate", parameters.rest(), ARRIVAL_WINDOWS)
    repeated = [n for n, (name, _) in enumerate(calls) if name == field]
    if repeated:
        # Files from before results had the order field: Borealis would give two fields of one name.
        reason = f"order-on-field and aggregate-function-output-name.{repeated[0]} both name the result's {field!r}"
        parameters.warn(
            f"aggregate-function-output-name.{repeated[0]}", reason, "give the function's field another name"
        )
        return Later("aggregate", parameters.rest(), replace(REPEATED_FIELDS, why=reason))
    alignment = Alignment.INDEPENDENT if independent else Alignment.FIRST
    return Aggregate(calls, FieldWindow(field or "", sizes[0], sizes[1], alignment, slack, timeout), group_by, start)


def _calls(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    functions = parameters.expressions("aggregate-function", parse_aggregate)
    named = parameters.run("aggregate-function-output-name")
    return tuple((named[n] if n < len(named) else f"agg_{n}", call) for n, call in enumerate(functions))


def join(type_name: str, left_size: str, right_size: str) -> Callable[[Parameters, int], BoxSpec]:
    """The maker of one of the joins, which differ in what they call the sizes of their buffers."""

    def make(parameters: Parameters, _inputs: int) -> BoxSpec:
        left = _buffer(parameters, "left", left_size)
        right = _buffer(parameters, "right", right_size)
        deaf = [name for name in ("leftjoin", "rightjoin") if type_name == "sjoin" and _is_off(parameters, name)]
        timeout = _timeout(parameters)
        predicate, columns = parameters.source("predicate") or "", _columns(parameters)
        if deaf:
            parameters.warn(deaf[0], f"{deaf[0]} is off: {ONE_SIDED_JOINS.why}", "leave it out to join both ways")
            return Later(type_name, parameters.rest(), ONE_SIDED_JOINS, Join(predicate, left, right, columns))
        return Join(
            predicate,
            left,
            right,
            columns,
            parameters.one_of(_KIND, JoinKind, JoinKind.INNER),
            bool(parameters.flag(_UNMATCHED)),
            bool(parameters.flag(_SIDES)),
            timeout,
            type_name,
        )

    return make


def _is_off(parameters: Parameters, name: str) -> bool:
    """Whether arriving rows of that side do not look for partners. Borealis knew one word for it: false."""
    value = (parameters.text(name) or "").lower()
    if value in ("0", "no", "off"):
        parameters.warn(name, f"{name} is {value!r}, which counts as true", "write false to switch it off")
    return value == "false"


def _buffer(parameters: Parameters, side: str, size_name: str) -> JoinBuffer:
    if (within := parameters.length(f"auroral:{side}-within")) is not None:
        return JoinBuffer(within)
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


def _columns(parameters: Parameters) -> tuple[tuple[str, Source], ...]:
    fields, names = parameters.sources("out-field"), parameters.run("out-field-name")
    columns: list[tuple[str, Source]] = []
    for number, expression in enumerate(fields):
        bare = _BARE.fullmatch(expression) if isinstance(expression, str) else None
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
