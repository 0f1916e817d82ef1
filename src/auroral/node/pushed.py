"""Rows that a program pushes, as tables of an input's schema. All of a push is taken, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from auroral.edge.conversion import from_json
from auroral.edge.stamping import StampError
from auroral.model.diagram import Input
from auroral.model.errors import unknown_name
from auroral.model.schema import arrow_schema
from auroral.model.types import Kind

Row = Mapping[str, Any]


def pushed_table(source: Input, rows: pa.Table | Sequence[Row]) -> pa.Table:
    """A table of the input's fields. A field that a row does not have is null there.

    Text is taken for numbers and times as it is in files; datetimes without a zone are UTC.
    """
    if isinstance(rows, pa.Table):
        return rows
    _check_rows(source, rows)
    arrow = arrow_schema(source.schema)
    columns = []
    for field in source.schema.fields:
        values = [row.get(field.name) for row in rows]
        target = arrow.field(field.name).type
        if field.type.kind is Kind.BINARY and all(v is None or isinstance(v, bytes) for v in values):
            columns.append(pa.array(values, target))
            continue
        plain = [_plain(value) for value in values]
        converted = from_json(plain, field.type, target)
        if converted.bad:
            bad = converted.bad[0]
            raise StampError(
                f"row {bad.index} for {source.stream!r}: field {field.name!r}: "
                f"{values[bad.index]!r} is no {field.type} ({bad.why}); none of the {len(rows)} rows was taken\n"
                f"    allowed: {source.schema}\n    next: mend the row and push again"
            )
        columns.append(converted.column)
    return pa.Table.from_arrays(columns, schema=arrow)


def _plain(value: Any) -> Any:
    """What JSON has no words for, in the words that files use."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        since = aware - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(value, date):
        return value.isoformat()
    # numpy's numbers, which pandas rows are full of.
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value


def _check_rows(source: Input, rows: Sequence[Row]) -> None:
    names = source.schema.names
    known = set(names)
    found: set[str] = set()
    for number, row in enumerate(rows):
        given: object = row
        if not isinstance(given, Mapping):
            raise StampError(
                f"row {number} for {source.stream!r} is a {type(given).__name__}: {str(given)[:80]}\n"
                "    allowed: a list of dicts from field to value, or a pyarrow Table\n"
                f"    next: for example push({source.stream!r}, [{{{names[0]!r}: ...}}])"
            )
        found.update(row)
        if not known >= row.keys():
            extra = next(name for name in row if name not in known)
            problem = unknown_name("field", str(extra), names)
            raise StampError(f"row {number} for {source.stream!r}: {problem}")
    missing = [name for name in names if name not in found]
    if rows and missing:
        raise StampError(
            f"rows for {source.stream!r} lack the field {missing[0]!r}\n    allowed: {source.schema}\n"
            "    next: give the field in at least one row; where it has no value, None"
        )
