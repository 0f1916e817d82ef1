"""Rows that a program pushes, as tables of an input's schema. All of a push is taken, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from auroral.edge.columnnames import SameField, as_declared
from auroral.edge.conversion import from_arrow, from_json
from auroral.edge.stamping import StampError
from auroral.model.diagram import Input
from auroral.model.errors import unknown_name
from auroral.model.schema import Field, arrow_schema
from auroral.model.types import Kind

Row = Mapping[str, Any]
Rows: TypeAlias = pa.Table | Iterable[Row]
"""A pyarrow Table, a pandas DataFrame (which is an Iterable to the type checker), or rows as dicts."""


def pushed_table(source: Input, rows: Rows) -> pa.Table:
    """A table of the input's fields. A field that a row does not have is null there.

    Text is taken for numbers and times as it is in files; datetimes without a zone are UTC.
    """
    if isinstance(rows, pa.Table):
        return _without_ambiguity(source, rows.rename_columns(_names(source, rows.column_names)))
    # Once: an iterator gives its rows only one time.
    listed = _listed(source, rows)
    _check_rows(source, listed)
    arrow = arrow_schema(source.schema)
    columns = []
    for field in source.schema.fields:
        values = [row.get(field.name) for row in listed]
        target = arrow.field(field.name).type
        if field.type.kind is Kind.BINARY and all(v is None or isinstance(v, bytes) for v in values):
            columns.append(pa.array(values, target))
            continue
        try:
            plain = [_plain(value) for value in values]
        except _Nanoseconds as error:
            at = next(i for i, value in enumerate(values) if value is error.value)
            raise _wrong(source, field, at, error.value, str(error), len(listed)) from error
        converted = from_json(plain, field.type, target)
        if converted.bad:
            bad = converted.bad[0]
            raise _wrong(source, field, bad.index, values[bad.index], bad.why, len(listed))
        columns.append(converted.column)
    return pa.Table.from_arrays(columns, schema=arrow)


def is_frame(rows: object) -> bool:
    """Whether this is a pandas DataFrame. Nobody can have one who has not imported pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(rows, pandas.DataFrame)


def _listed(source: Input, rows: Any) -> list[Row]:
    if is_frame(rows):
        if source.any_case:
            rows = rows.set_axis(_names(source, rows.columns), axis=1)
        found: list[Row] = rows.astype(object).where(rows.notna(), None).to_dict("records")
        # A frame has its columns also where it has no rows.
        _check_rows(source, found or [dict.fromkeys(rows.columns)])
        return found
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        raise StampError(
            f"rows for {source.stream!r} are a {type(rows).__name__}: {str(rows)[:80]}\n{_allowed_forms(source)}"
        )
    return [_named(source, row) for row in rows] if source.any_case else list(rows)


def _named(source: Input, row: Row) -> Row:
    given: object = row
    if not isinstance(given, Mapping):
        return row  # which is said when all rows are looked at
    return dict(zip(_names(source, row), row.values(), strict=True))


def _names(source: Input, found: Iterable[Any]) -> list[Any]:
    try:
        return as_declared(found, source.schema, source.any_case)
    except SameField as error:
        raise StampError(
            f"rows for {source.stream!r}: {error}\n    allowed: {source.schema}\n    next: leave one of the two out"
        ) from error


def _without_ambiguity(source: Input, rows: pa.Table) -> pa.Table:
    """Whole numbers for a timestamp are judged as everywhere; all else the stamper does."""
    for field in source.schema.fields:
        at = rows.schema.get_field_index(field.name)
        if field.type.kind is Kind.TIMESTAMP and at >= 0 and pa.types.is_integer(rows.schema.field(at).type):
            given = rows.column(at).cast(pa.int64()).combine_chunks()
            target = arrow_schema(source.schema).field(field.name).type
            converted = from_arrow(given, field.type, target)
            if converted.bad:
                bad = converted.bad[0]
                raise _wrong(source, field, bad.index, given[bad.index].as_py(), bad.why, rows.num_rows)
            rows = rows.set_column(at, field.name, converted.column)
    return rows


def _wrong(source: Input, field: Field, index: int, value: Any, why: str, count: int) -> StampError:
    return StampError(
        f"row {index} for {source.stream!r}: field {field.name!r}: "
        f"{value!r} is no {field.type} ({why}); none of the {count} rows was taken\n"
        f"    allowed: {source.schema}\n    next: mend the row and push again"
    )


class _Nanoseconds(ValueError):
    def __init__(self, value: Any):
        super().__init__("it has nanoseconds, which would be cut; round it to microseconds first")
        self.value = value


def _plain(value: Any) -> Any:
    """What JSON has no words for, in the words that files use; datetimes stay what they are."""
    # pandas has singletons of its own for what is missing; NaT even passes for a datetime.
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, datetime):
        if getattr(value, "nanosecond", 0):
            raise _Nanoseconds(value)
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return _moment(value)
    # numpy's numbers, which pandas rows are full of.
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value


def _moment(value: np.datetime64) -> Any:
    if np.isnat(value):
        return None
    if np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D"):
        return str(value.astype("datetime64[D]"))
    exact = value.astype("datetime64[us]")
    if exact != value:
        raise _Nanoseconds(value)
    count = int(exact.astype(np.int64))
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=count)  # noqa: DTZ001  no zone is UTC here
    except OverflowError:
        return count


def _allowed_forms(source: Input) -> str:
    return (
        "    allowed: rows as dicts from field to value in a list or another iterable, a pyarrow Table, a pandas DataFrame\n"
        f"    next: for example push({source.stream!r}, [{{{source.schema.names[0]!r}: ...}}])"
    )


def _check_rows(source: Input, rows: Sequence[Row]) -> None:
    names = source.schema.names
    known = set(names)
    found: set[str] = set()
    for number, row in enumerate(rows):
        given: object = row
        if not isinstance(given, Mapping):
            raise StampError(
                f"row {number} for {source.stream!r} is a {type(given).__name__}: {str(given)[:80]}\n"
                f"{_allowed_forms(source)}"
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
