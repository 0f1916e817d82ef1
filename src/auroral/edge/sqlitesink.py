"""A table of an SQLite database as an output.

| type | SQLite |
|---|---|
| byte, short, int, long, bool, stime | INTEGER |
| single, double | REAL; NaN, which SQLite has not, is the text `NaN` |
| string, decimal, timestamp, date | TEXT, as in files (`spelling`) |
| binary | BLOB |
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from auroral.edge.durable import make_folder
from auroral.edge.mirror import Mirror
from auroral.edge.pyvalues import python_values
from auroral.edge.revisedview import RevisedView
from auroral.edge.sinks import OutputError
from auroral.edge.sqlsink import SqlSink, quoted
from auroral.model.types import FieldType, Kind

_PATIENCE = 5.0
"""Seconds for which somebody else may have the database locked."""
_TYPES = {Kind.SINGLE: "REAL", Kind.DOUBLE: "REAL", Kind.BINARY: "BLOB"}
_SPELLINGS: dict[type, Callable[[Any], object]] = {
    float: lambda value: "NaN" if math.isnan(value) else value,
    Decimal: lambda value: format(value, "f"),
    datetime: lambda value: value.isoformat(timespec="microseconds").replace("+00:00", "Z"),
    date: date.isoformat,
}


class SqliteSink(SqlSink):
    mark, stime_type, flag_type, text_type = "?", "INTEGER", "INTEGER", "TEXT"
    same_as = "IS"
    failures = (sqlite3.Error, OSError)
    _connection: sqlite3.Connection | None = None

    def _type(self, kind: FieldType) -> str:
        if kind.is_integer or kind.kind is Kind.BOOL:
            return "INTEGER"
        return _TYPES.get(kind.kind, "TEXT")

    def _is_there(self) -> bool:
        names = [name.lower() for name, _ in self.columns]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise OutputError(
                f"{self.where}: two fields would be the column {twice[0]!r}, since SQLite does not tell large letters from small\n"
                "    next: rename one of them, with a map before the output"
            )
        return Path(self.where).exists()

    def _connect(self) -> None:
        make_folder(Path(self.where).parent)
        self._connection = sqlite3.connect(self.where, timeout=_PATIENCE, isolation_level=None)

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._connection is not None, "open it first"
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._open.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._open.execute("COMMIT")
        except BaseException:
            # A full disk may have undone it already.
            if self._open.in_transaction:
                self._open.execute("ROLLBACK")
            raise

    def _run(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._open.execute(statement, values).rowcount

    def _query(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._open.execute(statement, values).fetchall()

    def _insert(self, rows: pa.Table) -> None:
        columns = [self._values_of(column) for column in rows.columns]
        marks = ", ".join("?" for _ in columns)
        with closing(self._open.cursor()) as cursor:
            cursor.executemany(f"INSERT INTO {self._quoted} VALUES ({marks})", zip(*columns, strict=True))

    def _values_of(self, column: pa.ChunkedArray) -> list[Any]:
        return [_spelt(value) for value in python_values(column)]

    def _found(self) -> list[tuple[str, str]]:
        return [(name, kind) for _, name, kind, *_ in self._query(f"PRAGMA table_info({quoted(self.table)})")]

    @property
    def _name(self) -> str:
        # Of ASCII alone SQLite does not tell large letters from small; that all others differ too does no harm.
        return self.table.lower()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class MirrorInSqlite(Mirror, SqliteSink):
    """A table of the diagram."""


class RevisedInSqlite(RevisedView, SqliteSink):
    """The rows that stand."""

    row_id = "rowid"


def _spelt(value: object) -> object:
    spell = _SPELLINGS.get(type(value))
    return value if spell is None else spell(value)
