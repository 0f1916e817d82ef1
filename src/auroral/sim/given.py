"""Rows of inputs as a user writes them, for the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from auroral.model.diagram import Diagram, Input
from auroral.model.errors import DiagramError, unknown_name
from auroral.model.types import Kind
from auroral.reference.rows import Row
from auroral.sim.fragments import CannotBeSimulated

Rows = Mapping[str, Sequence[Row]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = {
    Kind.TIMESTAMP: "a datetime, a text as 2026-03-01T12:00:00Z, or microseconds since 1970",
    Kind.DATE: "a date, a text as 2026-03-01, or days since 1970",
}


def rows_of(diagram: Diagram, read: Iterable[str], rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Rows:
    """Of each input; those that are `read` must be there."""
    inputs = {given.stream: given for given in diagram.inputs}
    wrong = [unknown_name("input", name, tuple(inputs)) for name in rows if name not in inputs]
    if wrong:
        raise DiagramError(wrong)
    if missing := [name for name in read if name not in rows]:
        raise CannotBeSimulated(
            f"there are no rows of {', '.join(missing)}\n    allowed: rows of each input that is read: {', '.join(read)}\n"
            f"    next: give them; or {{{missing[0]!r}: []}}, for an input that is there and has none"
        )
    return {
        stream: [_row(inputs[stream], number, row) for number, row in enumerate(given)]
        for stream, given in rows.items()
    }


def _row(given: Input, number: int, row: Mapping[str, Any]) -> Row:
    stamp = given.stamp
    if stamp is None or stamp.field is None:
        raise CannotBeSimulated(
            f"input {given.stream!r} is stamped by the clock\n    next: say which field its time is in: input(..., stime=FIELD)"
        )
    if not isinstance(row, Mapping):
        raise CannotBeSimulated(
            f"row {number} of {given.stream!r} is {row!r}\n    allowed: a dict, from fields to values\n"
            f"    next: name its fields: {', '.join(given.schema.names)}"
        )
    unknown = [unknown_name("field", name, given.schema.names) for name in row if name not in given.schema.names]
    if unknown:
        raise DiagramError(unknown)
    values = []
    for field in given.schema.fields:
        try:
            values.append(_value(row.get(field.name), field.type.kind))
        except (ValueError, OverflowError) as error:
            raise CannotBeSimulated(
                f"row {number} of {given.stream!r} has {row[field.name]!r} in {field.name!r}, which is a {field.type}\n"
                f"    allowed: {_TIMES[field.type.kind]}\n    next: write it so"
            ) from error
    stime = values[given.schema.names.index(stamp.field)]
    if not isinstance(stime, int):
        raise CannotBeSimulated(
            f"row {number} of {given.stream!r} has no time in {stamp.field!r}: {stime!r}\n"
            f"    allowed: {_TIMES.get(given.schema.fields[given.schema.names.index(stamp.field)].type.kind, 'a whole number')}\n"
            "    next: give it one; rows are ordered by it"
        )
    return Row(stime * stamp.unit, tuple(values), (number,))


def _value(value: Any, kind: Kind) -> Any:
    """As the reference has it: microseconds since 1970 for times, days for dates. ValueError for what is neither."""
    if isinstance(value, str) and kind is Kind.TIMESTAMP:
        value = datetime.fromisoformat(value)
    elif isinstance(value, str) and kind is Kind.DATE:
        value = date.fromisoformat(value)
    if isinstance(value, date) and kind in _TIMES and isinstance(value, datetime) is not (kind is Kind.TIMESTAMP):
        # One taken for the other would be a time in 1970, or a day in some million years.
        raise ValueError(f"{value!r} is no {kind}")
    if isinstance(value, datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return (value - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    return value
