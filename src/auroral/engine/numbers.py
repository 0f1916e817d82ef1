"""Numbers of fields that rows are ordered on: exact, and as plain values in a fold's state."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from auroral.model.decimals import scaled
from auroral.model.expression.singles import nearest_single
from auroral.model.types import INTEGER_BITS, FieldType, Kind

Number = int | Fraction


def number_of(value: Any) -> Number | None:
    """The number that a field holds, whole ones as integers, which are faster; None for null, NaN and the infinities."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return whole(Fraction(value))


def whole(number: Number) -> Number:
    return int(number) if number.denominator == 1 else number


def plain(number: Number | None) -> Any:
    return (number.numerator, number.denominator) if isinstance(number, Fraction) else number


def from_plain(stored: Any) -> Any:
    return Fraction(*stored) if isinstance(stored, tuple) else stored


def in_field(number: Number, kind: FieldType) -> Any:
    """The number as a value of the field: the next lower one that it can hold, of floating fields the nearest."""
    if kind.is_float:
        return nearest_single(float(number)) if kind.kind is Kind.SINGLE else float(number)
    if kind.kind is Kind.DECIMAL:
        return scaled(math.floor(number * 10 ** (kind.scale or 0)), kind)
    half = 1 << (INTEGER_BITS.get(kind.kind, 64) - 1)
    return (math.floor(number) + half) % (2 * half) - half
