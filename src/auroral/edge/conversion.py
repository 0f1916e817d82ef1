"""Values as they stand in files, converted to a field's type; those that do not convert are found, not
guessed.

Columns are converted as a whole; only where that fails is the column halved until the offending values are
known.

A timestamp may be written as

| form | meaning |
|---|---|
| `2026-03-01T12:30:00.123456Z`, `2026-03-01 12:30:00+01:00` | ISO 8601 with a zone |
| `2026-03-01T12:30:00`, `2026-03-01` | ISO 8601 without a zone: UTC |
| whole number, 0 or at least 10^14 from it | microseconds since 1970 |
| other whole numbers | refused: seconds, milliseconds and dates like 20260301 look like this |
| more than six digits of a second | refused, not cut |
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auroral.model.types import INTEGER_BITS, FieldType, Kind

_DIGITS = r"^[+-]?[0-9]+$"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})$"
_UTC = pa.timestamp("us", tz="UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SURELY_MICROSECONDS = 10**14
"""Below it (March 1973) a whole number is rather a count of seconds or milliseconds, or a date written as a number."""
_AMBIGUOUS = (
    "it could be seconds, milliseconds or a date: whole numbers count microseconds since 1970, and those below 10^14 are "
    "not guessed at; write 2026-03-01T12:30:00Z, or declare the field a long"
)
# What may be wrong with values; anything else is a mistake of ours and must not be taken for one of theirs.
_WRONG = (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError, InvalidOperation)


@dataclass(frozen=True, slots=True)
class Bad:
    """A value that does not convert: its index in the column, and why."""

    index: int
    why: str


@dataclass(frozen=True, slots=True)
class Converted:
    """`column` has nulls in the places of `bad` values."""

    column: pa.Array
    bad: tuple[Bad, ...] = ()


def from_text(column: pa.Array, field: FieldType, target: pa.DataType) -> Converted:
    """Convert a column of CSV text. Numbers and times may have blanks around them."""
    if field.kind is Kind.STRING:
        return Converted(column)
    trimmed = pc.utf8_trim_whitespace(column)

    def convert(part: pa.Array) -> pa.Array:
        return _text_cast(part, field, target)

    return _halving(trimmed, convert, target)


def from_arrow(column: pa.Array, field: FieldType, target: pa.DataType) -> Converted:
    """Convert a column of a Parquet file; text columns as in CSV."""
    if column.type.equals(target):
        return Converted(column)
    if pa.types.is_string(column.type) and field.kind is not Kind.STRING:
        return from_text(column, field, target)

    def convert(part: pa.Array) -> pa.Array:
        if pa.types.is_timestamp(part.type) and part.type.tz is None:
            return pc.assume_timezone(part.cast(pa.timestamp("us")), "UTC")
        if field.kind is Kind.TIMESTAMP and pa.types.is_integer(part.type):
            _refuse_ambiguous(part)
        cast = part.cast(target)
        return _finite(cast, pc.is_finite(part)) if pa.types.is_floating(part.type) and field.is_float else cast

    return _halving(column, convert, target)


def from_json(values: Sequence[Any], field: FieldType, target: pa.DataType) -> Converted:
    """Convert values as the JSON parser gives them. A string is read as CSV text would be."""
    spelt = _JSON[field.kind]
    texts: list[int] = []
    plain: list[Any] = []
    bad: dict[int, str] = {}
    for index, value in enumerate(values):
        if value is not None and isinstance(value, str) and field.kind is not Kind.STRING:
            texts.append(index)
            value = None
        elif value is not None:
            try:
                value = spelt(value, field)
            except _WRONG as error:
                bad[index] = str(error)
                value = None
        plain.append(value)
    column = pa.array(plain, target)
    if texts:
        read = from_text(pa.array([values[i] for i in texts], pa.string()), field, target)
        bad |= {texts[b.index]: b.why for b in read.bad}
        mask = np.zeros(len(values), dtype=bool)
        mask[texts] = True
        column = pc.replace_with_mask(column, pa.array(mask), read.column)
    return Converted(column, tuple(Bad(index, bad[index]) for index in sorted(bad)))


def _halving(column: pa.Array, convert: Callable[[pa.Array], pa.Array], target: pa.DataType) -> Converted:
    bad: list[Bad] = []
    done: list[pa.Array] = []
    pending = [(0, column)] if len(column) else []
    while pending:
        start, part = pending.pop()
        try:
            done.append(convert(part))
        except _WRONG as error:
            if len(part) == 1:
                done.append(pa.nulls(1, target))
                bad.append(Bad(start, str(error).splitlines()[0]))
            else:
                half = len(part) // 2
                pending.append((start + half, part[half:]))
                pending.append((start, part[:half]))
    whole = pa.concat_arrays(done) if done else pa.array([], target)
    return Converted(whole, tuple(bad))


def _text_cast(part: pa.Array, field: FieldType, target: pa.DataType) -> pa.Array:
    if field.is_integer:
        if pc.all(pc.match_substring_regex(part, _DIGITS)).as_py() is False:
            raise ValueError("not a whole number")
        return pc.utf8_ltrim(part, "+").cast(target)
    if field.is_float:
        infinite = pc.match_substring_regex(part, "(?i)^[+-]?(inf|infinity|nan)$")
        return _finite(part.cast(target), pc.invert(infinite))
    if field.kind is Kind.TIMESTAMP:
        return _timestamps(part)
    if field.kind is Kind.BINARY:
        return pa.array([None if t is None else _base64(t) for t in part.to_pylist()], target)
    return part.cast(target)


def _finite(cast: pa.Array, expected: pa.Array) -> pa.Array:
    """Refuse what became infinite only by being too large for the type."""
    if pc.any(pc.and_(expected, pc.is_inf(cast))).as_py():
        raise ValueError("too large for the type")
    return cast


def _timestamps(part: pa.Array) -> pa.Array:
    """Whole numbers are microseconds since 1970; ISO text without a zone is UTC."""
    whole = pc.match_substring_regex(part, _DIGITS)
    # A date has a hyphen where a zone offset could stand, so that only text with a time of day may carry one.
    zoned = pc.and_(pc.match_substring_regex(part, _ZONE), pc.match_substring(part, ":"))
    counts = pc.utf8_ltrim(pc.if_else(whole, part, None), "+").cast(pa.int64())
    _refuse_ambiguous(counts)
    numbers = counts.cast(_UTC)
    with_zone = pc.if_else(pc.and_(zoned, pc.invert(whole)), part, None).cast(_UTC)
    rest = pc.if_else(pc.or_(whole, zoned), None, part).cast(pa.timestamp("us"))
    return pc.coalesce(numbers, with_zone, pc.assume_timezone(rest, "UTC"))


def _refuse_ambiguous(counts: pa.Array) -> None:
    # Zero is the same moment in every unit.
    near = pc.and_(pc.less(pc.abs(counts), SURELY_MICROSECONDS), pc.not_equal(counts, 0))
    if pc.any(near).as_py():
        raise ValueError(_AMBIGUOUS)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


def _json_integer(value: Any, field: FieldType) -> int:
    if type(value) is not int:
        raise ValueError("not a whole number")
    largest: int = 2 ** (INTEGER_BITS[field.kind] - 1) - 1
    if not -largest - 1 <= value <= largest:
        raise ValueError(f"outside {-largest - 1} to {largest}")
    return value


def _json_float(value: Any, field: FieldType) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("not a number")
    number = float(value)
    narrow = number
    if field.kind is Kind.SINGLE:
        with np.errstate(over="ignore"):
            narrow = float(np.float32(number))
    # The parser itself turns 1e400 into infinity; a bare Infinity is accepted with it.
    if math.isinf(narrow) and math.isfinite(value):
        raise ValueError("too large for the type")
    return narrow


def _json_decimal(value: Any, field: FieldType) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("not a number")
    number = Decimal(str(value))
    # One by one, so that a number that does not fit is found here and not for the whole column.
    pa.scalar(number, pa.decimal128(field.precision, field.scale))
    return number


def _json_bool(value: Any, field: FieldType) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _json_string(value: Any, field: FieldType) -> str:
    if not isinstance(value, str):
        raise ValueError("not a string")
    # Half of a surrogate pair can be written in JSON, but no UTF-8 has it.
    value.encode()
    return value


def _json_timestamp(value: Any, field: FieldType) -> int:
    if isinstance(value, datetime):
        # Not from JSON, but from programs. Exact, unlike datetime.timestamp().
        since = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError("neither ISO text nor whole microseconds since 1970")
    if 0 < abs(value) < SURELY_MICROSECONDS:
        raise ValueError(_AMBIGUOUS)
    return value


def _json_text_only(value: Any, field: FieldType) -> Any:
    raise ValueError("written as a string: " + ("base64" if field.kind is Kind.BINARY else "YYYY-MM-DD"))


_JSON: dict[Kind, Callable[[Any, FieldType], Any]] = {
    **dict.fromkeys(INTEGER_BITS, _json_integer),
    Kind.SINGLE: _json_float,
    Kind.DOUBLE: _json_float,
    Kind.DECIMAL: _json_decimal,
    Kind.BOOL: _json_bool,
    Kind.STRING: _json_string,
    Kind.TIMESTAMP: _json_timestamp,
    Kind.DATE: _json_text_only,
    Kind.BINARY: _json_text_only,
}
