"""Aggregate functions: the built-in ones and those that users define."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from auroral.model import types
from auroral.model.boxes.base import Report, TypedBox
from auroral.model.errors import DiagramError, Problem, unknown_name
from auroral.model.expression import (
    AggregateCall,
    Expr,
    Functions,
    Scope,
    Typed,
    judge_without_fields,
    parse_aggregate,
    resolve,
    user_functions,
    users_wrote,
)
from auroral.model.expression.functions import Function
from auroral.model.packages import Kind as Offered
from auroral.model.packages import loaded, names_offered, offered
from auroral.model.types import FieldType, Kind, UnknownType, allowed_types, parse_type

BUILT_IN = ("count", "sum", "avg", "min", "max", "stddev", "firstval", "lastval", "count_distinct")
ORDER_SENSITIVE = ("firstval", "lastval")

_NAME = re.compile(r"[^\W\d]\w*\Z")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """An aggregate in Python: `init() -> state`, `incr(state, *values) -> state`, `final(state) -> value`.

    Values are as functions have them. Rows come in processing order. With `combine(earlier, later) -> state`, partial results of parts of a
    window are combined instead of reading the whole window again; combining must equal counting on.
    """

    name: str
    init: Callable[[], Any] = field(compare=False)
    incr: Callable[..., Any] = field(compare=False)
    final: Callable[[Any], Any] = field(compare=False)
    returns: FieldType
    combine: Callable[[Any, Any], Any] | None = field(default=None, compare=False)
    package: str | None = field(default=None, compare=False, repr=False)
    """The installed package that offers it, where one does."""


_registered: dict[str, UserAggregate] = {}
REGISTERED: Mapping[str, UserAggregate] = MappingProxyType(_registered)


def register_aggregate(aggregate: UserAggregate) -> UserAggregate:
    """Make a user aggregate known by its name, in Python diagrams and in XML files alike."""
    name = aggregate.name.lower()  # as calls are read
    if name in BUILT_IN:
        raise DiagramError(
            [
                Problem(
                    f"{aggregate.name!r} is a built-in aggregate",
                    allowed=f"any name but {', '.join(BUILT_IN)}",
                    next_step="choose another name",
                )
            ]
        )
    _registered[name] = aggregate
    return aggregate


@dataclass(frozen=True, slots=True)
class TypedAggregate:
    """One aggregate of a box: `name` is the output field, `function` the built-in name or the user's."""

    name: str
    function: str
    args: tuple[Typed, ...]
    type: FieldType
    user: UserAggregate | None = None

    @property
    def order_sensitive(self) -> bool:
        return self.user is not None or self.function in ORDER_SENSITIVE


def called_functions(boxes: Iterable[TypedBox]) -> Functions:
    """All functions and aggregates of users that these boxes call: who checks the boxes again may not have registered them."""
    functions: dict[str, Function] = {}
    aggregates: dict[str, UserAggregate] = {}
    for box in boxes:
        functions |= {one.name: one for typed in box.expressions() for one in user_functions(typed)}
        for one in getattr(box, "functions", ()):
            if isinstance(one, TypedAggregate) and one.user is not None:
                aggregates[one.function] = one.user
    return Functions(MappingProxyType(functions), MappingProxyType(aggregates))


def typed_aggregate(name: str, text: str, scope: Scope, report: Report) -> TypedAggregate | None:
    """Parse and type one call such as `sum(bytes * 8)`."""
    report = report.at(text)
    found = _call(name, text, report, lambda arg: resolve(arg, scope, report.functions))
    if found is None:
        return None
    call, args, user = found
    if user is not None:
        return TypedAggregate(name, call.name, args, user.returns, user)
    result = _result_type(call.name, args[0].type if args else None)
    if result is None:
        report.add(
            f"aggregate {name!r}: {call.name} of a {args[0].type}",
            allowed="numbers" if call.name in ("sum", "avg", "stddev") else "any type but binary",
            next_step="take another field, or convert it in the argument, for example with double(x)",
        )
        return None
    return TypedAggregate(name, call.name, args, result)


def judge_aggregate_without_fields(name: str, text: str, report: Report) -> None:
    """Note what is wrong with a call whatever the fields are."""
    report = report.at(text)
    _call(name, text, report, lambda arg: judge_without_fields(arg, report.functions))


def _call(
    name: str, text: str, report: Report, judge: Callable[[Expr], T]
) -> tuple[AggregateCall, tuple[T, ...], UserAggregate | None] | None:
    """The call, its arguments as `judge` has them, and who wrote its function; None where that is wrong, or missing, which is noted."""
    try:
        call = parse_aggregate(text)
        args = tuple(judge(arg) for arg in call.args)
        user = report.functions.aggregates.get(call.name) or _user_aggregate(call.name)
    except DiagramError as error:
        report.take(error, f"aggregate {name!r}")
        return None
    if user is not None:
        return call, args, user
    if call.name not in BUILT_IN and users_wrote(call.name):
        report.missing.append(
            Problem(
                f"aggregate {name!r}: the aggregate function {call.name!r} is not built in: users of Borealis wrote it",
                report.place,
                allowed="built-in aggregates, and those that are registered",
                next_step=f'register one of that name: auroral.aggregate_function("{call.name}", ...), in a file for --functions',
            )
        )
        return None
    if call.name not in BUILT_IN:
        report.problems.append(unknown_name("aggregate function", call.name, _known(), report.place))
        return None
    if len(args) != 1 and not (call.name == "count" and not args):
        report.add(
            f"aggregate {name!r}: {call.name} takes one argument, not {len(args)}",
            allowed="one expression; count may have none",
            next_step=f"write {call.name}(x); several values go into one expression, as in {call.name}(x + y)",
        )
        return None
    return call, args, None


def _known() -> list[str]:
    return names_offered(Offered.AGGREGATE, [*BUILT_IN, *_registered])


def _user_aggregate(name: str) -> UserAggregate | None:
    """The one that this program registered, or an installed package offers; a name that two have is an error."""
    registered = _registered.get(name)
    taken = "built in" if name in BUILT_IN else "registered by this program" if registered is not None else None
    return packaged_aggregate(name, taken) or registered


def packaged_aggregate(name: str, taken: str | None = None) -> UserAggregate | None:
    """The aggregate of that name that an installed package offers; `taken` says who has the name already."""
    offer = offered(Offered.AGGREGATE, name, taken)
    if offer is None:
        return None
    found: UserAggregate = loaded(offer, UserAggregate, "an aggregate made by auroral.extend.aggregate")
    return replace(found, name=name, package=offer.package)


def _result_type(function: str, arg: FieldType | None) -> FieldType | None:
    if function in ("count", "count_distinct") or arg is None:
        return types.LONG
    if function in ("firstval", "lastval"):
        return arg
    if function in ("min", "max"):
        return None if arg.kind is Kind.BINARY else arg
    if not arg.is_numeric:
        return None
    if function == "sum":
        if arg.kind is Kind.DECIMAL:
            assert arg.precision is not None and arg.scale is not None
            return types.decimal(min(38, arg.precision + 10), arg.scale)
        return types.LONG if arg.is_integer else types.DOUBLE
    return types.DOUBLE


def aggregate_function(
    name: str,
    *,
    init: Callable[[], Any],
    incr: Callable[..., Any],
    final: Callable[[Any], Any],
    returns: str | FieldType,
    combine: Callable[[Any, Any], Any] | None = None,
) -> UserAggregate:
    """Make an aggregate of four functions known by its name: see UserAggregate for what each of them does."""
    made = make_aggregate(name, init=init, incr=incr, final=final, returns=returns, combine=combine)
    return register_aggregate(made)


def make_aggregate(
    name: str,
    *,
    init: Callable[[], Any],
    incr: Callable[..., Any],
    final: Callable[[Any], Any],
    returns: str | FieldType,
    combine: Callable[[Any, Any], Any] | None = None,
) -> UserAggregate:
    """A checked aggregate, which nothing knows yet."""
    problems = []
    if not isinstance(name, str) or not _NAME.match(name):  # type: ignore[redundant-expr]  # users err
        problems.append(
            Problem(
                f"{name!r} cannot be the name of an aggregate",
                allowed="letters, digits and _",
                next_step="give it a name as Python has them",
            )
        )
    parts: dict[str, object] = {"init": init, "incr": incr, "final": final}
    if combine is not None:
        parts["combine"] = combine
    problems += [
        Problem(
            f"aggregate {name!r}: {part} is {value!r}",
            allowed="a function",
            next_step=f"give {part} a function, by name or as a lambda",
        )
        for part, value in parts.items()
        if not callable(value)
    ]
    try:
        result = parse_type(returns) if isinstance(returns, str) else returns
    except UnknownType as error:
        problems.append(
            Problem(
                f"aggregate {name!r}: {error}", allowed=allowed_types(), next_step='write returns="long", for example'
            )
        )
    if problems:
        raise DiagramError(problems)
    return UserAggregate(name, init, incr, final, result, combine)
