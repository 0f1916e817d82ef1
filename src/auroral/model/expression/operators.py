"""The types of operators: what the operands are converted to, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.model.types import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    FieldType,
    Kind,
    common_type,
    decimal,
    string,
)

LOGIC = ("or", "and")
COMPARISONS = ("!=", "=", "<", "<=", ">", ">=")

_MOST_DIGITS = 38
_LEAST_SCALE = 6  # what Spark keeps after the point when digits run out
_INTEGER_DIGITS = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INT: 10, Kind.LONG: 20}


@dataclass(frozen=True, slots=True)
class Operation:
    """The types that an operator's two operands are converted to, and its result's."""

    left: FieldType
    right: FieldType
    result: FieldType


def promoted(given: FieldType) -> FieldType:
    """As in C: integers narrower than int are computed as int."""
    return INT if given.kind in (Kind.BYTE, Kind.SHORT) else given


def binary(op: str, a: FieldType, b: FieldType) -> Operation | None:
    """How `op` works on these types, or None when it does not."""
    if op in LOGIC:
        return Operation(BOOL, BOOL, BOOL) if a.kind is b.kind is Kind.BOOL else None
    if op in COMPARISONS:
        common = exact_common(a, b)
        return Operation(common, common, BOOL) if common is not None else None
    return _arithmetic(op, a, b)


def _arithmetic(op: str, a: FieldType, b: FieldType) -> Operation | None:
    kinds = (a.kind, b.kind)
    if op == "+" and kinds == (Kind.STRING, Kind.STRING):
        sized = a.size is not None and b.size is not None
        return Operation(a, b, string((a.size or 0) + (b.size or 0)) if sized else STRING)
    if op == "-" and kinds == (Kind.TIMESTAMP, Kind.TIMESTAMP):
        return Operation(TIMESTAMP, TIMESTAMP, LONG)
    if op in "+-" and a.kind is Kind.TIMESTAMP and b.is_integer:
        return Operation(TIMESTAMP, LONG, TIMESTAMP)
    if op == "+" and a.is_integer and b.kind is Kind.TIMESTAMP:
        return Operation(LONG, TIMESTAMP, TIMESTAMP)
    if not (a.is_numeric and b.is_numeric):
        return None
    if Kind.DECIMAL in kinds and not (a.is_float or b.is_float):
        if op in "/%":
            return Operation(DOUBLE, DOUBLE, DOUBLE)
        a, b = as_decimal(a), as_decimal(b)
        return Operation(a, b, _decimal_result(op, a, b))
    common = common_type(promoted(a), promoted(b))
    return Operation(common, common, common) if common is not None else None


def as_decimal(given: FieldType) -> FieldType:
    return given if given.kind is Kind.DECIMAL else decimal(_INTEGER_DIGITS[given.kind], 0)


def _decimal_result(op: str, a: FieldType, b: FieldType) -> FieldType:
    (pa, sa), (pb, sb) = _digits(a), _digits(b)
    if op == "*":
        precision, scale = pa + pb + 1, sa + sb
    else:
        scale = max(sa, sb)
        precision = max(pa - sa, pb - sb) + scale + 1
    if precision <= _MOST_DIGITS:
        return decimal(precision, scale)
    # Spark's rule: digits before the point are kept first, but not at the cost of the first six after it.
    before = precision - scale
    return decimal(_MOST_DIGITS, max(_MOST_DIGITS - before, min(scale, _LEAST_SCALE)))


def exact_common(a: FieldType, b: FieldType) -> FieldType | None:
    """The type that both convert to without overflow, for comparing and choosing, or None."""
    if Kind.DECIMAL in (a.kind, b.kind) and a.is_numeric and b.is_numeric and not (a.is_float or b.is_float):
        (pa, sa), (pb, sb) = _digits(as_decimal(a)), _digits(as_decimal(b))
        if max(pa - sa, pb - sb) + max(sa, sb) > _MOST_DIGITS:
            return None
    return common_type(a, b)


def accepts(given: FieldType | None, wanted: FieldType) -> bool:
    """Whether a value of type `given` (None: a bare null) may be passed where `wanted` is declared."""
    if given is None or given.kind is wanted.kind is Kind.STRING:
        return True
    return exact_common(given, wanted) == wanted


def _digits(given: FieldType) -> tuple[int, int]:
    return given.precision or 0, given.scale or 0
