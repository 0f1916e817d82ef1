"""The value of an expression, tuple at a time, written from the language's own rules.

Rows hold plain Python values: timestamps are microseconds and dates days since 1970, a single is a float that
a binary32 can hold, null is None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Protocol

from auroral.model.expression.builtins import TRIGONOMETRIC
from auroral.model.expression.singles import nearest_single
from auroral.model.expression.typed import (
    Choice,
    Constant,
    Convert,
    FieldRef,
    Infix,
    Invoke,
    Prefix,
    SqlExpression,
    Typed,
)
from auroral.model.expression.uservalues import as_arguments, as_result
from auroral.model.on_error import error_text
from auroral.model.types import INTEGER_BITS, FieldType, Kind

_BLANK = "[ \t\r\n]*"
_INTEGER = re.compile(rf"{_BLANK}([+-]?[0-9]+){_BLANK}")
_NUMBER = re.compile(rf"{_BLANK}([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?){_BLANK}")


class Row(Protocol):
    """What (qualifier, field) stands for: a mapping, or what looks it up."""

    def __getitem__(self, name: tuple[str | None, str], /) -> Any: ...


_WIDEST_PAD = 65536

# Wide enough that no sum or product of two 38-digit decimals is rounded before it is meant to be.
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)


class CannotEvaluate(Exception):
    """The expression has no value outside Spark, or none that could be repeated."""


class CallFailed(Exception):
    """A function of the user's raised an error."""


def evaluate(typed: Typed, row: Row) -> Any:
    """The value of a typed expression for one row, which maps (qualifier, field) to values."""
    match typed:
        case Constant():
            return typed.value
        case FieldRef():
            return row[typed.qualifier, typed.name]
        case Convert():
            return convert(evaluate(typed.operand, row), typed.operand.type, typed.type)
        case Prefix():
            return _prefix(typed, evaluate(typed.operand, row))
        case Infix(op="and" | "or"):
            known = evaluate(typed.left, row)
            # What decides by itself leaves the other side alone.
            decided = known is (typed.op == "or")
            return known if decided else _logic(typed.op, known, evaluate(typed.right, row))
        case Infix():
            left, right = evaluate(typed.left, row), evaluate(typed.right, row)
            if left is None or right is None:
                return None
            if typed.type.kind is Kind.BOOL:
                return _compare(typed.op, left, right)
            return _arithmetic(typed.op, typed.type, left, right)
        case Choice():
            taken = typed.then if evaluate(typed.condition, row) is True else typed.otherwise
            return evaluate(taken, row)
        case Invoke():
            args = []
            for arg in typed.args:
                args.append(evaluate(arg, row))
            return _invoke(typed, args)
        case SqlExpression():
            raise CannotEvaluate(f"only Spark can evaluate the SQL expression {typed.text!r}")


def _prefix(node: Prefix, value: Any) -> Any:
    if value is None:
        return None
    if node.op == "not":
        return not value
    return _EXACT.minus(value) if isinstance(value, Decimal) else fit(-value, node.type)


def _logic(op: str, left: bool | None, right: bool | None) -> bool | None:
    decisive = op == "or"
    if left is decisive or right is decisive:
        return decisive
    return None if left is None or right is None else not decisive


def _compare(op: str, left: Any, right: Any) -> bool:
    same = equal(left, right)
    if op in ("=", "!="):
        return same == (op == "=")
    if same:
        return op in ("<=", ">=")
    return (first_least([left, right]) is left) == (op in ("<", "<="))


def equal(left: Any, right: Any) -> bool:
    """NaN equals NaN; -0.0 equals 0.0."""
    if isinstance(left, float) and math.isnan(left):
        return isinstance(right, float) and math.isnan(right)
    return bool(left == right)


def _arithmetic(op: str, result: FieldType, left: Any, right: Any) -> Any:
    if result.kind is Kind.DECIMAL:
        return _decimal(op, result, left, right)
    match op:
        case "+":
            return fit(left + right, result)
        case "-":
            return fit(left - right, result)
        case "*":
            return fit(left * right, result)
        case "/":
            return _quotient(result, left, right)
        case _:
            return _remainder(result, left, right)


def fit(value: Any, result: FieldType) -> Any:
    """An exact or double result at the width of its type: integers wrap, singles are rounded."""
    if result.is_integer or result.kind is Kind.TIMESTAMP:
        return wrapped(value, INTEGER_BITS.get(result.kind, 64))
    return nearest_single(value) if result.kind is Kind.SINGLE else value


def wrapped(value: int, bits: int) -> int:
    """Two's complement."""
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _quotient(result: FieldType, left: Any, right: Any) -> Any:
    if result.is_integer:
        if right == 0:
            return None
        size = abs(left) // abs(right)
        return fit(size if (left < 0) == (right < 0) else -size, result)
    if right != 0:
        return fit(left / right, result)
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left)


def _remainder(result: FieldType, left: Any, right: Any) -> Any:
    if right == 0:
        return None
    if result.is_integer:
        size = abs(left) % abs(right)
        return -size if left < 0 else size
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _decimal(op: str, result: FieldType, left: Decimal, right: Decimal) -> Decimal | None:
    exact = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[op](left, right)
    rounded = exact.quantize(Decimal(1).scaleb(-(result.scale or 0)), context=_EXACT)
    rounded = _EXACT.add(rounded, Decimal(0))  # Python has a decimal -0, SQL has not
    # abs would round to the digits of Python's own context.
    return rounded if rounded.copy_abs() < Decimal(10) ** ((result.precision or 0) - (result.scale or 0)) else None


def _invoke(node: Invoke, args: list[Any]) -> Any:
    if node.function is None:
        return call_builtin(node.name, node.type, args)
    if node.function.call is None:
        raise CannotEvaluate(f"the function {node.name} was declared without Python code")
    try:
        return as_result(node.function.returns)(node.function.call(*as_arguments(node.function.args)(args)))
    except (Exception, SystemExit) as error:
        raise CallFailed(error_text(node.name, error)) from error


def convert(value: Any, given: FieldType, wanted: FieldType) -> Any:
    """`value` of type `given` as type `wanted`; null where it cannot be read as one."""
    if value is None or given.kind is Kind.TIMESTAMP:
        return value  # a timestamp is its microseconds already
    if given.kind is Kind.STRING:
        return _read(value, wanted)
    if wanted.is_integer:
        return _to_integer(value, given, INTEGER_BITS[wanted.kind])
    if wanted.kind is Kind.SINGLE:
        # A decimal goes by way of double, and is rounded twice.
        return nearest_single(float(value) if isinstance(value, Decimal) else value)
    if wanted.kind is Kind.DOUBLE:
        return float(value)
    if wanted.kind is Kind.DECIMAL:
        return Decimal(value)
    return str(value)


def _to_integer(value: Any, given: FieldType, bits: int) -> int:
    if given.is_float:
        # As Java does: cut off, saturated at int or long; what is narrower then wraps.
        return wrapped(_saturated(value, max(bits, 32)), bits)
    return wrapped(int(value), bits)


def _saturated(value: float, bits: int) -> int:
    if math.isnan(value):
        return 0
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, int(value)))


def _read(text: str, wanted: FieldType) -> Any:
    """A number from text, with blanks around it; null when malformed or, for integers, out of range."""
    match = (_INTEGER if wanted.is_integer else _NUMBER).fullmatch(text)
    if match is None:
        return None
    if wanted.is_integer:
        digits = match[1].lstrip("+-").lstrip("0") or "0"
        if len(digits) > 19:
            return None
        value, bits = int(match[1][0] + digits if match[1][0] in "+-" else digits), INTEGER_BITS[wanted.kind]
        return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None
    number = float(match[1])
    return nearest_single(number) if wanted.kind is Kind.SINGLE else number


def call_builtin(name: str, result: FieldType, args: Sequence[Any]) -> Any:
    """The value of a built-in function; null as soon as one argument is."""
    if any(arg is None for arg in args):
        return None
    if name in _PLAIN:
        return _PLAIN[name](*args)
    if name in _DOUBLES:
        return _DOUBLES[name](*args)
    if name == "abs":
        return _absolute(args[0], result)
    raise ValueError(f"{name}() cannot be repeated, so it has no value here; the checker refuses it")


def first_least(values: Sequence[Any]) -> Any:
    """The least value, the first of equals; NaN is above everything."""
    return _first(values, lambda a, b: (_is_nan(b) and not _is_nan(a)) or a < b)


def first_greatest(values: Sequence[Any]) -> Any:
    return _first(values, lambda a, b: (_is_nan(a) and not _is_nan(b)) or a > b)


def _first(values: Sequence[Any], better: Callable[[Any, Any], bool]) -> Any:
    best = values[0]
    for value in values[1:]:
        if better(value, best):
            best = value
    return best


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _absolute(value: Any, result: FieldType) -> Any:
    if isinstance(value, Decimal):
        return value.copy_abs()
    if result.is_integer and value == -(1 << (INTEGER_BITS[result.kind] - 1)):
        return value  # the smallest integer has no positive counterpart: it wraps to itself
    return abs(value)


def _pad(text: str, width: int) -> str:
    return text.ljust(min(width, _WIDEST_PAD))


def _total(function: Callable[[float], float]) -> Callable[[float], float]:
    """Python raises where IEEE 754 has a value: NaN outside the domain, infinity beyond the range."""

    def value(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            # exp and cosh are positive out there; sinh has the sign of its argument.
            return math.copysign(math.inf, x) if function is math.sinh else math.inf

    return value


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else math.nan if x < 0 else function(x)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    # From 2^52 on every double is whole. Results are never -0.0.
    return lambda x: float(function(x)) if abs(x) < 2.0**52 else x


def _power(x: float, y: float) -> float:
    if y == 0:
        return 1.0
    if math.isnan(y) or (abs(x) == 1 and math.isinf(y)):
        return math.nan  # as in Java; C says 1
    odd = math.isfinite(y) and math.fmod(y, 2) in (1, -1)
    sign = math.copysign(1.0, x) if odd else 1.0
    if x == 0 and y < 0:
        return math.copysign(math.inf, sign)
    try:
        return math.pow(x, y)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.copysign(math.inf, sign)


_PLAIN: dict[str, Callable[..., Any]] = {
    "strlen": len,
    "pad": _pad,
    "min": lambda *values: first_least(values),
    "max": lambda *values: first_greatest(values),
}

_DOUBLES: dict[str, Callable[..., float]] = {
    "ln": _logarithm(math.log),
    "log": _logarithm(math.log10),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "pow": _power,
    # As Spark has it, which takes -0.0 for 0.0.
    "atan2": lambda y, x: math.atan2(y + 0.0, x + 0.0),
    **{name: _total(getattr(math, name)) for name in (*TRIGONOMETRIC, "sqrt", "exp")},
}
