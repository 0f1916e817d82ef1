"""A table of a PostgreSQL database as an output, through psycopg.

Columns have the types of the fields. PostgreSQL takes no text with a NUL character, and no time before 4713 BC: a sink that meets one stands
still, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeAlias

import numpy as np
import psycopg
import pyarrow as pa
from psycopg.conninfo import conninfo_to_dict

from auroral.edge.mirror import Mirror
from auroral.edge.pyvalues import python_values
from auroral.edge.revisedview import RevisedView
from auroral.edge.sqlsink import POSITIONS, SqlSink, quoted
from auroral.model.types import FieldType, Kind

_PATIENCE = 10
"""Seconds that a server may be silent for, unless the address says otherwise; and that somebody else may have the table locked."""
_STATEMENT_PATIENCE = 300
"""Seconds that it may take with one statement."""
_Unit: TypeAlias = Literal["D", "us"]
_TYPES = {
    Kind.BYTE: "smallint",
    Kind.SHORT: "smallint",
    Kind.INT: "integer",
    Kind.LONG: "bigint",
    Kind.SINGLE: "real",
    Kind.DOUBLE: "double precision",
    Kind.STRING: "text",
    Kind.TIMESTAMP: "timestamp with time zone",
    Kind.BOOL: "boolean",
    Kind.DATE: "date",
    Kind.BINARY: "bytea",
}


class PostgresqlSink(SqlSink):
    """The table may be SCHEMA.TABLE."""

    # No name has it, whereas a per cent sign may stand in one.
    mark, stime_type, flag_type, text_type = "\0", "bigint", "boolean", "text"
    same_as = "IS NOT DISTINCT FROM"
    failures = (psycopg.Error, OSError)
    _connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def _type(self, kind: FieldType) -> str:
        return f"numeric({kind.precision},{kind.scale})" if kind.kind is Kind.DECIMAL else _TYPES[kind.kind]

    def _is_there(self) -> bool:
        return True

    def _connect(self) -> None:
        given = conninfo_to_dict(self.where)
        usual = {"connect_timeout": _PATIENCE, "tcp_user_timeout": 1000 * _PATIENCE, "application_name": "auroral"}
        more: dict[str, Any] = {name: value for name, value in usual.items() if name not in given}
        self._connection = psycopg.connect(self.where, autocommit=True, **more)
        if "options" not in given:
            self._run(f"SET lock_timeout = '{_PATIENCE}s'")
            self._run(f"SET statement_timeout = '{_STATEMENT_PATIENCE}s'")

    @property
    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        assert self._connection is not None, "open it first"
        return self._connection

    def _transaction(self) -> AbstractContextManager[Any]:
        return self._open.transaction()

    def _run(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._executed(statement, values).rowcount

    def _query(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._executed(statement, values).fetchall()

    def _executed(self, statement: str, values: Sequence[object]) -> psycopg.Cursor[tuple[Any, ...]]:
        if values:
            statement = statement.replace("%", "%%").replace(self.mark, "%s")
        return self._open.execute(statement.encode(), values or None)

    def _insert(self, rows: pa.Table) -> None:
        columns = [_values(column) for column in rows.columns]
        statement = f"COPY {self._quoted} FROM STDIN".encode()
        with self._open.cursor() as cursor, cursor.copy(statement) as copy:
            for row in zip(*columns, strict=True):
                copy.write_row(row)

    def _values_of(self, column: pa.ChunkedArray) -> list[Any]:
        return _values(column)

    def _found(self) -> list[tuple[str, str]]:
        found = self._query(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            f"WHERE attrelid = to_regclass({self.mark}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (self._quoted,),
        )
        return [(str(name), str(kind)) for name, kind in found]

    @property
    def _last_name(self) -> str:
        return self.table.rpartition(".")[2]

    @property
    def _quoted(self) -> str:
        return ".".join(map(quoted, self.table.split(".", 1)))

    @property
    def _positions(self) -> str:
        schema, dot, _ = self.table.rpartition(".")
        return f"{quoted(schema)}.{POSITIONS}" if dot else POSITIONS

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class MirrorInPostgresql(Mirror, PostgresqlSink):
    """A table of the diagram."""


class RevisedInPostgresql(RevisedView, PostgresqlSink):
    """The rows that stand."""

    row_id = "ctid"


def _values(column: pa.ChunkedArray) -> list[Any]:
    values = python_values(column)
    if pa.types.is_temporal(column.type):
        unit: _Unit = "D" if pa.types.is_date(column.type) else "us"
        return [_far(value, unit) if isinstance(value, int) else value for value in values]
    return values


def _far(value: int, unit: _Unit) -> str:
    """A time that Python does not have, as PostgreSQL writes it. numpy counts the year before 1 as 0, PostgreSQL as 1 BC."""
    text = str(np.datetime64(value, unit))
    zone = "" if unit == "D" else "+00"
    year, dash, rest = text.removeprefix("-").partition("-")
    if text.startswith("-") or not int(year):
        return f"{int(year) + 1:04}{dash}{rest}{zone} BC"
    return text + zone
