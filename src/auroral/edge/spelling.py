"""How values are spelt in CSV and JSON lines. What is written here is read back by `files` as the same value.

| type | CSV | JSON |
|---|---|---|
| byte, short, int, long, stime | digits | number |
| single, double | shortest exact text; `NaN`, `Infinity`, `-Infinity` | number; those three as strings |
| decimal | digits | string, so that no reader rounds it |
| string | as it is; in quotes where it is empty or has a comma, a quote or a line end | string |
| timestamp | `2026-01-31T12:00:00.000000Z`; outside years 1 to 9999 microseconds | same, string or number |
| date | `2026-01-31` | string |
| bool | `true`, `false` | `true`, `false` |
| binary | base64 | string, base64 |
| null | nothing | `null` |
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NEEDS_QUOTES = re.compile(r'[",\r\n]|^$')
_FIRST_YEAR = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_LAST_YEAR = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() + 86_400) * 1_000_000 - 1


def csv_header(names: Iterable[str]) -> str:
    return ",".join(_quoted_csv(name) for name in names) + "\n"


def csv_lines(table: pa.Table) -> str:
    """The rows as CSV text, each line ended, without a header."""
    columns = [["" if text is None else text for text in _texts(column, False)] for column in table.columns]
    return "".join(",".join(row) + "\n" for row in zip(*columns, strict=True))


def json_lines(table: pa.Table) -> str:
    """The rows as JSON objects, one a line."""
    if not table.num_columns:
        return "{}\n" * int(table.num_rows)
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        key = json.dumps(name, ensure_ascii=False) + ": "
        columns.append([key + ("null" if text is None else text) for text in _texts(column, True)])
    return "".join("{" + ", ".join(row) + "}\n" for row in zip(*columns, strict=True))


def _texts(column: pa.ChunkedArray, as_json: bool) -> Iterable[str | None]:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
        return texts
    if pa.types.is_floating(kind):
        return _floats(column, as_json)
    if pa.types.is_timestamp(kind):
        return _timestamps(column, as_json)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        plain = [None if v is None else base64.b64encode(v).decode() for v in column.to_pylist()]
        # Nothing at all would be null.
        return _in_quotes(plain) if as_json else ['""' if text == "" else text for text in plain]
    if pa.types.is_decimal(kind):
        plain = [None if v is None else format(v, "f") for v in column.to_pylist()]
        return _in_quotes(plain) if as_json else plain
    if pa.types.is_date(kind):
        plain = column.cast(pa.string()).to_pylist()
        return _in_quotes(plain) if as_json else plain
    spell = _quoted_json if as_json else _quoted_csv
    return [None if v is None else spell(v) for v in column.to_pylist()]


def _floats(column: pa.ChunkedArray, as_json: bool) -> list[str | None]:
    shortest: Callable[[float], str] = str
    if pa.types.is_float64(column.type):
        values = column.to_pylist()
        shortest = repr
    else:
        # numpy spells a single with as many digits as a single has.
        numbers = column.fill_null(0).to_numpy()
        nulls = column.is_null().to_pylist()
        values = [None if null else number for number, null in zip(numbers, nulls, strict=True)]
    special = (lambda text: f'"{text}"') if as_json else str
    spelt: list[str | None] = []
    for value in values:
        if value is None:
            spelt.append(None)
        elif math.isfinite(value):
            spelt.append(shortest(value))
        elif math.isnan(value):
            spelt.append(special("NaN"))
        else:
            spelt.append(special("Infinity" if value > 0 else "-Infinity"))
    return spelt


def _timestamps(column: pa.ChunkedArray, as_json: bool) -> list[str | None]:
    exact = column.cast(pa.timestamp("us", tz="UTC"))
    texts: list[str | None] = pc.strftime(exact, format="%Y-%m-%dT%H:%M:%SZ").to_pylist()
    if as_json:
        texts = _in_quotes(texts)
    numbers = exact.cast(pa.int64()).fill_null(0).to_numpy()
    for i in np.flatnonzero((numbers < _FIRST_YEAR) | (numbers > _LAST_YEAR)):
        texts[i] = str(numbers[i])
    return texts


def _in_quotes(texts: list[str | None]) -> list[str | None]:
    return [None if text is None else f'"{text}"' for text in texts]


def _quoted_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted_csv(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if _NEEDS_QUOTES.search(value) else value
