"""Rows, and the two orders of rows: the one that boxes work in and the one that outputs are shown in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

Value = bool | int | float | str | bytes | Decimal | None
Values = tuple[Value, ...]
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """`order` places the row among rows of equal stime; a source's row has (seq,).

    Timestamps are microseconds, dates days, singles floats that a single can hold.
    """

    stime: int
    values: Values
    order: Values = ()


def value_key(value: Value) -> tuple[object, ...]:
    """Nulls first, NaN last, strings and bytes by their bytes; -0.0 and 0.0 are the same here."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    # Code points and UTF-8 bytes order strings alike.
    return (1, value)


def values_key(values: Values) -> Key:
    """A total order. Signs of zeros come last: they decide only between rows that are otherwise equal."""
    return (tuple(map(value_key, values)), tuple(map(_positive, values)))


def _positive(value: Value) -> bool:
    return not (isinstance(value, float) and value == 0 and math.copysign(1, value) < 0)


def processing_key(row: Row) -> Key:
    """The order in which boxes see the rows of one stream."""
    return (row.stime, values_key(row.order))


def canonical_key(row: Row) -> Key:
    """The order of an output stream: stime, then the columns in schema order."""
    return (row.stime, values_key(row.values))


def equality_key(values: Values) -> Key:
    """Equal keys are equal groups: nulls are equal, NaNs are equal, -0.0 is 0.0."""
    return tuple(map(value_key, values))


def group_value(value: Value) -> Value:
    """The value that stands for its group: 0.0 for both zeros."""
    return 0.0 if isinstance(value, float) and value == 0 else value
