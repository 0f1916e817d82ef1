"""What a user's function gave, as a value of the type that it declares."""

from __future__ import annotations

from typing import Any

from auroral.model.expression.singles import nearest_single
from auroral.model.types import INTEGER_BITS, FieldType, Kind

_CLASSES: dict[Kind, type | tuple[type, ...]] = {
    **dict.fromkeys(INTEGER_BITS, int),
    Kind.SINGLE: (float, int),
    Kind.DOUBLE: (float, int),
    Kind.STRING: str,
    Kind.BOOL: bool,
    Kind.BINARY: (bytes, bytearray),
}
"""Of the other kinds, the engine and the reference have Python values of different classes."""


def as_result(value: Any, declared: FieldType) -> Any:
    """`value`, an integer as a float where one is declared. Raises TypeError for what Spark would take for null without a word."""
    wanted = _CLASSES.get(declared.kind)
    if value is None or wanted is None:
        return value
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()  # a number of numpy's
    fits = isinstance(value, wanted) and isinstance(value, bool) == (declared.kind is Kind.BOOL)
    bits = INTEGER_BITS.get(declared.kind)
    if not fits or (bits is not None and not -(1 << (bits - 1)) <= value < 1 << (bits - 1)):
        raise TypeError(f"it gave {value!r}, which is not of type {declared}")
    if declared.kind is Kind.DOUBLE:
        return float(value)
    return nearest_single(float(value)) if declared.kind is Kind.SINGLE else value
