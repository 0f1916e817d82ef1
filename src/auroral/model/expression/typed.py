"""The typed tree of an expression: every node has its type, and every conversion is a node of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from auroral.model.errors import Problem
from auroral.model.expression.builtins import BUILTINS
from auroral.model.expression.functions import Function
from auroral.model.expression.problems import ExpressionError
from auroral.model.types import FieldType, UnknownType, allowed_types, parse_type

Value = bool | int | float | str | bytes | Decimal | None


@dataclass(frozen=True, slots=True)
class Constant:
    type: FieldType
    value: Value


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field, or the pseudo-field `stime`, of the input `qualifier`."""

    type: FieldType
    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Convert:
    """`operand` as another type: written by the user, as `int(x)`, or implied by an operator."""

    type: FieldType
    operand: Typed


@dataclass(frozen=True, slots=True)
class Prefix:
    """Unary `-` or `not`."""

    type: FieldType
    op: str
    operand: Typed


@dataclass(frozen=True, slots=True)
class Infix:
    """A binary operator; its operands have been converted to the types that it works on."""

    type: FieldType
    op: str
    left: Typed
    right: Typed


@dataclass(frozen=True, slots=True)
class Choice:
    type: FieldType
    condition: Typed
    then: Typed
    otherwise: Typed


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call of a built-in function, or of the user's `function`."""

    type: FieldType
    name: str
    args: tuple[Typed, ...]
    function: Function | None = None


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A field that an SqlExpression reads; its name is text[at:end]."""

    at: int
    end: int
    field: FieldRef


@dataclass(frozen=True, slots=True)
class SqlExpression:
    """Spark SQL with a declared type, to which the result is cast.

    Once resolved, it knows which fields it reads; what only Spark can judge, the engine has judged before a run begins.
    """

    type: FieldType
    text: str
    columns: tuple[SqlColumn, ...] = ()

    def __str__(self) -> str:
        return self.text


Typed = Constant | FieldRef | Convert | Prefix | Infix | Choice | Invoke | SqlExpression


def sql(text: str, type: str | FieldType) -> SqlExpression:
    """A Spark SQL expression in place of one in our language, as in `sql("upper(site)", "string")`."""
    if not text.strip():
        raise ExpressionError(
            text,
            [
                Problem(
                    "the SQL expression is empty", allowed="one Spark SQL expression", next_step="write Spark SQL in it"
                )
            ],
        )
    try:
        return SqlExpression(parse_type(type) if isinstance(type, str) else type, text)
    except UnknownType as error:
        raise ExpressionError(
            text,
            [
                Problem(
                    f"the SQL expression {text!r}: {error}",
                    allowed=allowed_types(),
                    next_step=error.next_step("mend the type, the second argument"),
                )
            ],
        ) from None


def walk(root: Typed) -> Iterator[Typed]:
    """Every node, parents first, from left to right."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def children(node: Typed) -> tuple[Typed, ...]:
    match node:
        case Convert() | Prefix():
            return (node.operand,)
        case Infix():
            return (node.left, node.right)
        case Choice():
            return (node.condition, node.then, node.otherwise)
        case Invoke():
            return node.args
        case _:
            return ()


def impure_functions(root: Typed) -> tuple[str, ...]:
    """The functions in it that read a clock, a random source or a counter, in order of appearance."""
    names = (n.name for n in walk(root) if isinstance(n, Invoke) and n.function is None)
    return tuple(dict.fromkeys(name for name in names if not BUILTINS[name].pure))


def user_functions(root: Typed) -> tuple[Function, ...]:
    """The user's functions in it, in order of appearance."""
    found = (n.function for n in walk(root) if isinstance(n, Invoke) and n.function is not None)
    return tuple({function.name: function for function in found}.values())


def fields_read(root: Typed) -> frozenset[tuple[str | None, str]]:
    """The (qualifier, name) of every field in it, `stime` included."""
    read = [n for n in walk(root) if isinstance(n, FieldRef)]
    read += [column.field for n in walk(root) if isinstance(n, SqlExpression) for column in n.columns]
    return frozenset((field.qualifier, field.name) for field in read)


def bare_field(root: Typed) -> FieldRef | None:
    """The field, when the whole expression is nothing else."""
    return root if isinstance(root, FieldRef) else None
