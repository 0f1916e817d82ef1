"""What packages are written with that offer functions, aggregates and boxes (docs/user-boxes.md).

Nothing here makes anything known by itself: the package's entry points do. What a program needs only for itself it registers with
`auroral.function` and `auroral.aggregate_function`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auroral.model.aggregates import UserAggregate, make_aggregate
from auroral.model.boxes.user_class import Box, FieldName, FieldNames, Fold, FoldRow, Length
from auroral.model.duration import Duration, microseconds
from auroral.model.expression.functions import Function, make_function, signature_parts
from auroral.model.schema import Schema, SchemaLike

__all__ = [
    "Box",
    "FieldName",
    "FieldNames",
    "Fold",
    "FoldRow",
    "Length",
    "Schema",
    "SchemaLike",
    "Function",
    "UserAggregate",
    "aggregate",
    "function",
    "length",
]


def function(signature: str) -> Callable[[Callable[..., Any]], Function]:
    """A decorator: `@function("double, double -> double")`. What it gives can still be called."""
    args, returns = signature_parts(signature)
    return lambda call: make_function(call.__name__, call, args, returns)


def aggregate(
    *,
    init: Callable[[], Any],
    incr: Callable[..., Any],
    final: Callable[[Any], Any],
    returns: str,
    combine: Callable[[Any, Any], Any] | None = None,
) -> UserAggregate:
    """An aggregate of four functions, as `auroral.aggregate_function` takes them; its entry point gives it a name."""
    return make_aggregate("unnamed", init=init, incr=incr, final=final, returns=returns, combine=combine)


def length(text: Duration) -> int:
    """Microseconds of "10s", for defaults of parameters."""
    return microseconds(text)
