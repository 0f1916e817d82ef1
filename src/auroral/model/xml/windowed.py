"""Aggregates and joins of Borealis files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec, Source
from auroral.model.boxes.join import ALL, Join, JoinBuffer, JoinKind
from auroral.model.boxes.local_clock import LOCAL, OnLocalClock
from auroral.model.boxes.sorting import WSort
from auroral.model.expression import parse_aggregate
from auroral.model.windows import Alignment, FieldWindow, TupleWindow
from auroral.model.xml.parameters import Parameters
from auroral.model.xml.stime_windows import KIND, our_window

WITHIN = ("auroral:left-within", "auroral:right-within")
"""How long rows of a side wait, in stime."""
ALL_ROWS = "all"
"""Said there, of a side all of whose rows are kept."""
LOOKS = ("auroral:leftjoin", "auroral:rightjoin")
"""What `leftjoin` and `rightjoin` are of an sjoin, for the joins that Borealis gave none."""
_KIND, _UNMATCHED, SIDES = "auroral:kind", "auroral:unmatched-when-missing", "auroral:sides-named"
JOIN_PARAMETERS = (*WITHIN, _KIND, _UNMATCHED, SIDES)
NAMED, BY_VALUES = "auroral:named", "auroral:by-values"
ROW_WINDOW_PARAMETERS = (NAMED, BY_VALUES)
LOCAL_CLOCK = "auroral:clock"
"""Of windows that rows close: whether results have the field that they are on, and whether it is that field and never the stime."""
SIZE_BYS = ("VALUES", "TUPLES")
ORDER_BYS = ("FIELD", "TUPLENUM")

_BARE = re.compile(r"(?:left|right)\.(\w+)|(\w+)")


def aggregate(parameters: Parameters, _inputs: int) -> BoxSpec:
    return on_clock(_aggregate(parameters), parameters)


def on_clock(spec: Aggregate | WSort, parameters: Parameters) -> BoxSpec:
    """The box, with timeouts by the clock that a parameter of ours names."""
    return spec if parameters.choice(LOCAL_CLOCK, (LOCAL,)) is None else OnLocalClock(spec)


def _aggregate(parameters: Parameters) -> Aggregate:
    """`drop-mode` and `last-agg` steered how the old engine passed on dropped windows: an aggregate here knows what was dropped."""
    if KIND in parameters.given:
        start, group_by = parameters.text("auroral:start"), parameters.names("group-by")
        return Aggregate(named_calls(parameters), our_window(parameters), group_by, start)
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
    calls, start = named_calls(parameters), parameters.text("auroral:start")
    timeout, slack = _timeout(parameters), parameters.whole("slack") or 0
    independent = parameters.flag("independent-window-alignment")
    group_by = parameters.names("group-by")
    if parameters.flag("drop-empty-outputs") is False:
        parameters.warn("drop-empty-outputs", "drop-empty-outputs is 0, and a window without rows gives nothing here")
    own_name = parameters.flag(NAMED)
    if slack and not by_field:
        parameters.warn("slack", "slack does nothing with order-by TUPLENUM: rows are in the order of arrival already")
        # Of windows of rows it does nothing anyway; of windows of values it would.
        slack = slack if by_tuples else 0
    if by_field and own_name is None:
        _say_repeated(parameters, str(field), calls, group_by)
    usual = names_its_field(field, calls, group_by) if by_field else by_tuples
    named = usual if own_name is None else own_name
    if by_tuples:
        counts = [parameters.whole(name, 1) or 1 for name in ("window-size", "advance")]
        order = field if by_field else None
        return Aggregate(calls, TupleWindow(counts[0], counts[1], timeout, order, slack, named), group_by, start)
    sizes = [parameters.number(name, 0, above=True) or 1 for name in ("window-size", "advance")]
    alignment = Alignment.INDEPENDENT if independent else Alignment.FIRST
    by_values = not by_field or bool(parameters.flag(BY_VALUES))
    window = FieldWindow(field or "", sizes[0], sizes[1], alignment, slack, timeout, named, by_values)
    return Aggregate(calls, window, group_by, start)


def names_its_field(field: str | None, calls: tuple[tuple[str, str], ...], group_by: tuple[str, ...]) -> bool:
    """Whether results have the order field, of a file that does not say: Borealis would give two fields of one name."""
    return field not in (*(name for name, _ in calls), *group_by)


def _say_repeated(
    parameters: Parameters, field: str, calls: tuple[tuple[str, str], ...], group_by: tuple[str, ...]
) -> None:
    # Files from before results had the order field.
    repeated = [n for n, (name, _) in enumerate(calls) if name == field]
    if repeated:
        function = f"aggregate-function-output-name.{repeated[0]}"
        reason = f"order-on-field and {function} both name the result's {field!r}: it has the function's"
        parameters.warn(function, reason, "give the function's field another name to have both")
    if field in group_by:
        reason = f"group-by and order-on-field both name the result's {field!r}: it has the group's"
        parameters.warn("group-by", reason, "group by a copy of it, made in a map before, to have both")


def named_calls(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """Of an aggregate or a cross section."""
    functions = parameters.expressions("aggregate-function", parse_aggregate)
    names = parameters.names_of(len(functions), "aggregate-function-output-name", "aggregate-function")
    named = enumerate(zip(names, functions, strict=True))
    return tuple((f"agg_{n}" if name is None else name, call) for n, (name, call) in named)


def join(type_name: str, left_size: str, right_size: str) -> Callable[[Parameters, int], BoxSpec]:
    """The maker of one of the joins, which differ in what they call the sizes of their buffers."""

    def make(parameters: Parameters, _inputs: int) -> BoxSpec:
        left = _buffer(parameters, "left", left_size)
        right = _buffer(parameters, "right", right_size)
        own = ("leftjoin", "rightjoin") if type_name == "sjoin" else LOOKS
        looks = [not _is_off(parameters, name) for name in own]
        timeout = _timeout(parameters)
        predicate, columns = parameters.source("predicate") or "", _columns(parameters)
        if not any(looks):
            reason = f"{own[0]} and {own[1]} are both off: no row looks for a partner, and none is found"
            parameters.warn(own[1], reason)
        return Join(
            predicate,
            left,
            right,
            columns,
            parameters.one_of(_KIND, JoinKind, JoinKind.INNER),
            bool(parameters.flag(_UNMATCHED)),
            bool(parameters.flag(SIDES)),
            timeout,
            (looks[0], looks[1]),
            type_name,
        )

    return make


def joinstatic(parameters: Parameters, _inputs: int) -> BoxSpec:
    """Rows of the first input meet all rows that the second has had; these look for nothing."""
    predicate, columns = parameters.source("predicate") or "", _columns(parameters)
    return _static(predicate, columns, bool(parameters.flag(SIDES)))


def _static(predicate: Source, columns: tuple[tuple[str, Source], ...], sides_named: bool) -> Join:
    none_kept = JoinBuffer(0, tuples=True)
    given = Join(predicate, none_kept, ALL, columns, type_name="joinstatic", looks=(True, False))
    return replace(given, sides_named=sides_named)


def is_static(join: Join) -> bool:
    """Whether a join is what `joinstatic` says, and no more."""
    return join == _static(join.predicate, join.columns, join.sides_named)


def _is_off(parameters: Parameters, name: str) -> bool:
    """Whether arriving rows of that side do not look for partners. Borealis knew one word for it: false."""
    value = (parameters.text(name) or "").lower()
    if value in ("0", "no", "off"):
        parameters.warn(name, f"{name} is {value!r}, which counts as true", "write false to switch it off")
    return value == "false"


def _buffer(parameters: Parameters, side: str, size_name: str) -> JoinBuffer:
    if parameters.text(f"auroral:{side}-within") == ALL_ROWS:
        return ALL
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
