"""Constants as literals of Spark SQL."""

from __future__ import annotations

import math
from decimal import Decimal

from auroral.engine.sqltext import string_literal
from auroral.model.expression.singles import shortest_single
from auroral.model.expression.typed import Value
from auroral.model.types import FieldType, Kind


def constant(type: FieldType, value: Value) -> str:
    """A literal of exactly this type; negative numbers start with their sign."""
    match value:
        case None:
            return f"CAST(NULL AS {type.spark})"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _integer(type, value)
        case float():
            return _floating(type, value)
        case str():
            return string_literal(value)
        case Decimal():
            return _decimal(type, value)
        case bytes():
            return f"X'{value.hex().upper()}'"


def _integer(type: FieldType, value: int) -> str:
    match type.kind:
        case Kind.INT:
            return str(value)
        case Kind.LONG:
            return f"{value}L"
        case Kind.TIMESTAMP:
            return f"timestamp_micros({value}L)"
        case Kind.DATE:
            return f"date_from_unix_date({value})"
        case _:
            return f"CAST({value} AS {type.spark})"


def _floating(type: FieldType, value: float) -> str:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{name}' AS {type.spark})"
    if type.kind is Kind.SINGLE:
        return f"{shortest_single(value)}F".replace("e", "E")
    return f"{value!r}D".replace("e", "E")


def _decimal(type: FieldType, value: Decimal) -> str:
    text = f"{value:f}BD"
    digits = len(value.as_tuple().digits)
    exact = type.scale == 0 and value.as_tuple().exponent == 0 and digits == type.precision
    return text if exact else f"CAST({text} AS {type.spark})"
