"""Values that the user's functions and aggregates are given and give, as Python has them.

Elsewhere a timestamp is its microseconds and a date its days since 1970: plain numbers know no time zone and no last year.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from auroral.model.expression.singles import nearest_single
from auroral.model.types import INTEGER_BITS, FieldType, Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.date()
_MICROSECOND = timedelta(microseconds=1)

_CLASSES: dict[Kind, tuple[type, ...]] = {
    **dict.fromkeys(INTEGER_BITS, (int,)),
    Kind.SINGLE: (float, int),
    Kind.DOUBLE: (float, int),
    Kind.STRING: (str,),
    Kind.TIMESTAMP: (datetime,),
    Kind.BOOL: (bool,),
    Kind.DECIMAL: (Decimal, int),
    Kind.DATE: (date,),
    Kind.BINARY: (bytes, bytearray),
}


def as_arguments(types: Sequence[FieldType]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What turns values of these types into what a function is given; it raises OverflowError for times that Python has not."""
    converters = [_ARGUMENTS.get(type.kind) for type in types]
    if not any(converters):
        return lambda values: values
    return lambda values: [
        value if value is None or convert is None else convert(value)
        for value, convert in zip(values, converters, strict=True)
    ]


def _datetime(micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise OverflowError(f"{micros} microseconds since 1970 are outside Python's years 1 to 9999") from None


def _date(days: int) -> date:
    try:
        return _EPOCH_DAY + timedelta(days=days)
    except OverflowError:
        raise OverflowError(f"{days} days since 1970 are outside Python's years 1 to 9999") from None


_ARGUMENTS: dict[Kind, Callable[[Any], Any]] = {Kind.TIMESTAMP: _datetime, Kind.DATE: _date, Kind.BINARY: bytes}


def as_result(declared: FieldType) -> Callable[[Any], Any]:
    """What turns a function's result into a plain value of the declared type; an integer may stand for a float or a decimal.

    It raises an error for anything else: Spark would take that for null without a word, or fail without naming the box.
    """
    wanted, plain_of = _CLASSES[declared.kind], _plain(declared)
    # True is an int to Python, and a datetime is a date.
    unwanted = {Kind.BOOL: (), Kind.DATE: (datetime,)}.get(declared.kind, (bool,))

    def result(value: Any) -> Any:
        if value is None:
            return None
        if hasattr(value, "dtype") and hasattr(value, "item"):
            value = value.item()  # a number of numpy's
        plain = plain_of(value) if isinstance(value, wanted) and not isinstance(value, unwanted) else None
        if plain is None:
            raise TypeError(f"it gave {value!r}, which is not of type {declared}")
        return plain

    return result


def _plain(declared: FieldType) -> Callable[[Any], Any]:
    """From values of the right class, or of subclasses, which would not travel to Spark; None for what the type does not hold."""
    match declared.kind:
        case Kind.TIMESTAMP:
            return _micros
        case Kind.DATE:
            return lambda value: (value - _EPOCH_DAY).days
        case Kind.DECIMAL:
            return _decimal(declared)
        case Kind.STRING:
            # Raises for halves of surrogate pairs, which cannot be stored.
            return lambda value: str.encode(value).decode()
        case Kind.BINARY:
            return bytes
        case Kind.SINGLE:
            return lambda value: nearest_single(float(value))
        case Kind.DOUBLE:
            return float
        case Kind.BOOL:
            return bool
        case integer:
            half = 1 << (INTEGER_BITS[integer] - 1)
            return lambda value: int(value) if -half <= value < half else None


def _micros(value: datetime) -> int | None:
    if value.tzinfo is None:
        # Which instant it is would depend on the machine's zone.
        raise TypeError(f"it gave {value!r}, which has no time zone")
    micros, rest = divmod(value - _EPOCH, _MICROSECOND)
    return None if rest else micros  # pandas has nanoseconds


def _decimal(declared: FieldType) -> Callable[[Decimal | int], Decimal | None]:
    """With exactly the declared digits after the point; rounding is left to the user."""
    exact = Context(prec=declared.precision, traps=[Inexact, InvalidOperation])
    unit = Decimal(1).scaleb(-(declared.scale or 0))

    def plain(value: Decimal | int) -> Decimal | None:
        try:
            scaled = Decimal(value).quantize(unit, context=exact)
        except (Inexact, InvalidOperation):
            return None
        # Python has a decimal -0, SQL has not.
        return exact.add(scaled, Decimal(0)) if scaled.is_finite() else None

    return plain
