"""A table of a database as an output: the rows of each bucket that hold now, stable or tentative.

Two columns come before the fields of the stream: `_lo`, the stime with which the row's bucket begins, and `_tentative`. A delivery takes the
place of its buckets' rows in one transaction, and with what is stable the position moves on in the same: after a crash anywhere, nothing is
lost or doubled. Positions are in the table `auroral_outputs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pyarrow as pa

from auroral.edge.sinks import OutputError
from auroral.model.schema import Schema
from auroral.model.types import FieldType
from auroral.wire.outputs import Delivery, Kind

POSITIONS = "auroral_outputs"
_POSITION_COLUMNS = ("name", "run", "frontier")


class SqlSink(ABC):
    """What databases have in common. `open` before the first `apply`. `run` says whose the table is: which stream of which run."""

    mark: ClassVar[str]
    """Stands for a value in a statement."""
    failures: ClassVar[tuple[type[Exception], ...]]
    """What the database's library raises."""
    same_as: ClassVar[str]
    """Equal, or both null."""
    stime_type: ClassVar[str]
    flag_type: ClassVar[str]
    text_type: ClassVar[str]

    def __init__(self, where: str, table: str, schema: Schema, run: str, bucket: int, tentative: bool):
        self.where, self.table, self.schema, self.run, self.bucket = where, table, schema, run, bucket
        self.takes_tentative = tentative
        self.frontier: int | None = None
        self.lo, self.flag = (_unless_taken(name, schema) for name in ("_lo", "_tentative"))

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and types, in order."""
        fields = [(field.name, self._type(field.type)) for field in self.schema.fields]
        return [
            (self.lo, self.stime_type),
            (self.flag, self.flag_type),
            (self.schema.stime_name, self.stime_type),
            *fields,
        ]

    def open(self) -> SqlSink:
        try:
            self._connect()
            with self._transaction():
                self._make()
                self.frontier = self._claimed()
        except self.failures as error:
            self.close()
            raise self._failed(error) from error
        except OutputError:
            self.close()
            raise
        return self

    def check_new(self) -> None:
        """Refused where a new run could not write there. Nothing is made."""
        try:
            if not self._is_there():
                return
            self._connect()
            with self._transaction():
                self._check_columns(self._found())
                if self._found() and self._query(f"SELECT 1 FROM {self._quoted} LIMIT 1"):
                    raise self._foreign("has rows already")
        except self.failures as error:
            raise self._failed(error, "mend what is wrong there, or name another place") from error
        finally:
            self.close()

    def apply(self, delivery: Delivery) -> None:
        """Durable when this returns; as if nothing had happened when it raises."""
        stays = delivery.kind is Kind.TENTATIVE
        try:
            with self._transaction():
                self._run(
                    f"DELETE FROM {self._quoted} WHERE {quoted(self.lo)} >= {self.mark} AND {quoted(self.lo)} < {self.mark}",
                    (delivery.lo, delivery.hi),
                )
                if delivery.rows.num_rows:
                    self._insert(self._with_bucket(delivery.rows, stays))
                if not stays:
                    self._go_on(delivery.hi)
        except self.failures as error:
            raise self._failed(error) from error
        if not stays:
            self.frontier = delivery.hi

    def _go_on(self, frontier: int) -> None:
        """From where it was: somebody else who writes there too is found out."""
        was = "IS NULL" if self.frontier is None else f"= {self.frontier:d}"
        moved = self._run(
            f"UPDATE {self._positions} SET frontier = {self.mark} WHERE name = {self.mark} AND run = {self.mark} AND frontier {was}",
            (frontier, self._name, self.run),
        )
        if moved != 1:
            raise self._foreign(f"is written by somebody else too, or its line in {POSITIONS} was changed")

    def _make(self) -> None:
        types = (self.text_type, self.text_type, self.stime_type)
        positions = [f"{name} {kind}" for name, kind in zip(_POSITION_COLUMNS, types, strict=True)]
        self._run(f"CREATE TABLE IF NOT EXISTS {self._positions} ({', '.join(positions)}, PRIMARY KEY (name))")
        found = self._found()
        if not found:
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns)
            self._run(f"CREATE TABLE {self._quoted} ({columns})")
            name = quoted(self._last_name + "".join(self._indexed))
            self._run(f"CREATE INDEX {name} ON {self._quoted} ({', '.join(map(quoted, self._indexed))})")
        self._check_columns(found)

    def _claimed(self) -> int | None:
        """The position of this run in the table; it begins one where nobody has."""
        found = self._query(f"SELECT run, frontier FROM {self._positions} WHERE name = {self.mark}", (self._name,))
        if found:
            ((run, frontier),) = found
            if run != self.run:
                raise self._foreign(f"was written by another run, or from another stream ({run})")
            return None if frontier is None else int(frontier)
        if self._query(f"SELECT 1 FROM {self._quoted} LIMIT 1"):
            raise self._foreign("has rows already")
        self._run(
            f"INSERT INTO {self._positions} (name, run) VALUES ({self.mark}, {self.mark})", (self._name, self.run)
        )
        return None

    def _check_columns(self, found: Sequence[tuple[str, str]]) -> None:
        if found and list(found) != self.columns:
            raise OutputError(
                f"{self.where}: the table {self.table!r} is there and has other columns: {_words(found)}\n"
                f"    allowed: no such table yet, or one with {_words(self.columns)}\n"
                "    next: name another table, or drop this one"
            )

    def _with_bucket(self, rows: pa.Table, tentative: bool) -> pa.Table:
        stimes = rows.column(0).to_numpy()
        flags = pa.repeat(pa.scalar(tentative), rows.num_rows)
        begins = pa.array(stimes // self.bucket * self.bucket, pa.int64())
        return pa.table([begins, flags, *rows.columns], names=[name for name, _ in self.columns])

    def _foreign(self, what: str) -> OutputError:
        return OutputError(
            f"{self.where}: the table {self.table!r} {what}\n    allowed: a table that this deployment made\n"
            f"    next: name another table; or drop this one, and delete its line in {POSITIONS}"
        )

    def _failed(self, error: Exception, next_step: str = "mend what is wrong there; it is tried again") -> OutputError:
        said = " ".join((str(error) or type(error).__name__).split())[:400]
        return OutputError(f"{self.where}: {said}\n    next: {next_step}")

    @property
    def _indexed(self) -> list[str]:
        """The columns that rows are found by."""
        return [self.lo]

    @property
    def _last_name(self) -> str:
        return self.table

    @property
    def _name(self) -> str:
        """Of its line in the table of positions: the same however the table is spelt."""
        return self._last_name

    @property
    def _quoted(self) -> str:
        return quoted(self.table)

    @property
    def _positions(self) -> str:
        return POSITIONS

    # What differs

    @abstractmethod
    def _type(self, kind: FieldType) -> str:
        """As the database itself calls it."""

    @abstractmethod
    def _is_there(self) -> bool:
        """Whether there is a database to look into."""

    @abstractmethod
    def _connect(self) -> None: ...

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Any]: ...

    @abstractmethod
    def _run(self, statement: str, values: Sequence[object] = ()) -> int:
        """How many rows it changed."""

    @abstractmethod
    def _query(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _insert(self, rows: pa.Table) -> None: ...

    @abstractmethod
    def _values_of(self, column: pa.ChunkedArray) -> list[Any]:
        """As statements are given them."""

    @abstractmethod
    def _found(self) -> list[tuple[str, str]]:
        """Columns that the table has; none where there is no table."""

    @abstractmethod
    def close(self) -> None: ...


def _unless_taken(name: str, schema: Schema) -> str:
    """Fields do not begin with two underscores."""
    return "_" + name if any(name == field.lower() for field in schema.names) else name


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _words(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)
