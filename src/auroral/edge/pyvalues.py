"""Arrow values as Python has them. Its datetimes and dates end with the year 9999; Arrow's and Spark's do not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def python_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """As `to_pylist`; but a timestamp outside years 1 to 9999 is its microseconds since 1970, such a date its days.

    The same numbers stand for them in files.
    """
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (OverflowError, ValueError):
        return [python_value(column, index) for index in range(len(column))]


def python_value(column: pa.ChunkedArray | pa.Array, index: int) -> Any:
    value = column[index]
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        # Of a scalar's own unit, which is microseconds wherever rows are of a schema.
        return value.value
