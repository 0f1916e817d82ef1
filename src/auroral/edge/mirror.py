"""A table of a diagram, as it is when all is stable, in a database outside: changes are applied by key.

What is written there is a stream that a `changes` box gives: `number`, `change`, and the row. Changes of a delivery are applied in one transaction,
with the position in it: after a crash anywhere, none is lost or applied twice. Tentative changes are not for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from auroral.edge.sinks import OutputError
from auroral.edge.sqlsink import SqlSink, quoted
from auroral.model.boxes.changes import PUT
from auroral.model.schema import Schema
from auroral.wire.outputs import Delivery, Kind

CHANGE = ("number", "change")
"""What stands before the fields of the table."""


class Mirror(SqlSink):
    """Together with the sink of a database: has the fields of the table alone, and one row for each `key`."""

    key: tuple[str, ...] = ()

    def keyed(self, key: Sequence[str]) -> Mirror:
        names = self.schema.names[len(CHANGE) :]
        if self.schema.names[: len(CHANGE)] != CHANGE:
            raise OutputError(
                f"{self.where}: the stream has the fields ({self.schema}), and is not one of changes of a table\n"
                "    allowed: a key with a stream that table.changes(...) gives\n    next: leave ?key= out, or name such a stream"
            )
        unknown = [name for name in key if name not in names]
        if unknown:
            raise OutputError(
                f"{self.where}: the table has no field {unknown[0]!r} to be its key\n    allowed: {', '.join(names)}\n"
                "    next: name the key of the diagram's table"
            )
        self.key, self.takes_tentative = tuple(key), False
        return self

    @property
    def columns(self) -> list[tuple[str, str]]:
        return [(field.name, self._type(field.type)) for field in self._fields.fields]

    @property
    def _fields(self) -> Schema:
        return Schema(self.schema.fields[len(CHANGE) :])

    @property
    def _indexed(self) -> list[str]:
        return list(self.key)

    def apply(self, delivery: Delivery) -> None:
        if delivery.kind is Kind.GAP:
            raise OutputError(
                f"{self.where}: changes of [{delivery.lo}, {delivery.hi}) are lost for good, and the table {self.table!r} would not be "
                "the diagram's any more\n    next: drop it, and name another table in a new deployment"
            )
        if not delivery.kind.is_stable:
            return
        try:
            with self._transaction():
                self._change(delivery.rows)
                self._go_on(delivery.hi)
        except self.failures as error:
            raise self._failed(error) from error
        self.frontier = delivery.hi

    def _change(self, rows: pa.Table) -> None:
        """Of each key the last change: earlier ones of the same delivery leave nothing behind."""
        # The stime, then number and change.
        columns = dict(zip(self._fields.names, rows.columns[1 + len(CHANGE) :], strict=True))
        keys = list(zip(*(self._values_of(columns[name]) for name in self.key), strict=True))
        last = {tuple("NaN" if part != part else part for part in key): at for at, key in enumerate(keys)}
        tests = " AND ".join(f"{quoted(name)} {self.same_as} {self.mark}" for name in self.key)
        for at in last.values():
            self._run(f"DELETE FROM {self._quoted} WHERE {tests}", keys[at])
        changes = rows.column(2).to_pylist()
        put = [at for at in last.values() if changes[at] == PUT]
        if put:
            self._insert(pa.table(list(columns.values()), list(columns)).take(put))
