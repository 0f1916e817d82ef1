"""The expression language: text to syntax tree (`parse`), that to a typed tree (`resolve`), its functions.

Meaning is fixed here by types alone. `evaluate` computes values from a typed tree, one row at a time, for the reference and for boxes
that run in Python; `auroral.engine.expression` writes it as Spark SQL. Property tests hold the two against each other.
"""

from __future__ import annotations

from auroral.model.expression.builtins import BUILTINS, Builtin
from auroral.model.expression.functions import (
    Function,
    Functions,
    default_functions,
    function,
    register_function,
)
from auroral.model.expression.parse import parse, parse_aggregate
from auroral.model.expression.problems import ExpressionError, NotRegistered, users_wrote
from auroral.model.expression.resolve import judge_without_fields, resolve
from auroral.model.expression.scope import Scope
from auroral.model.expression.syntax import AggregateCall, Expr
from auroral.model.expression.typed import (
    FieldRef,
    SqlExpression,
    Typed,
    bare_field,
    fields_read,
    impure_functions,
    sql,
    user_functions,
)

__all__ = [
    "parse",
    "parse_aggregate",
    "resolve",
    "judge_without_fields",
    "sql",
    "Expr",
    "AggregateCall",
    "Scope",
    "Typed",
    "FieldRef",
    "SqlExpression",
    "ExpressionError",
    "NotRegistered",
    "users_wrote",
    "bare_field",
    "fields_read",
    "impure_functions",
    "user_functions",
    "Function",
    "Functions",
    "default_functions",
    "function",
    "register_function",
    "BUILTINS",
    "Builtin",
]
