"""The rows that stand, of rows that revise one another: as one table, and as a table of a database that is kept so.

In the first column is the stime that a row belongs to, and there is no `revised_value`: it is what a run over the corrected input would give.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from auroral.edge.pyvalues import python_values
from auroral.edge.sinks import OutputError
from auroral.edge.sqlsink import SqlSink, quoted
from auroral.model.revisions import REVISED, sign_of, stime_of
from auroral.model.schema import Schema
from auroral.wire.outputs import Delivery, Kind


def standing(rows: pa.Table, aside: tuple[str, ...] = ()) -> pa.Table:
    """Of a table with the stime first and a column `revised_value`. Columns `aside` are not a part of the rows."""
    if REVISED not in rows.column_names:
        raise OutputError(
            f"rows of this stream are never revised: it has the fields {', '.join(rows.column_names)}\n"
            "    allowed: revised=True for streams that an input with revisions leads to\n    next: leave it out"
        )
    stamped, signs = _unmarked(rows)
    taken = stamped.filter(pa.array([sign < 0 for sign in signs], pa.bool_()))
    given = stamped.filter(pa.array([sign > 0 for sign in signs], pa.bool_()))
    if taken.num_rows:
        # Few rows are at a stime of which something was taken back.
        near = pc.is_in(given.column(0), value_set=pc.unique(taken.column(0)))
        left = Counter(_keys(taken, aside))
        keep = []
        for key, looked_at in zip(_keys(given, aside), near.to_pylist(), strict=True):
            gone = looked_at and left[key] > 0
            left[key] -= gone
            keep.append(not gone)
        given = given.filter(pa.array(keep, pa.bool_()))
    return given.sort_by(rows.column_names[0])


def _unmarked(rows: pa.Table) -> tuple[pa.Table, list[int]]:
    """Rows at the stimes that they belong to, without marks; and whether each adds or takes away."""
    marks = rows.column(REVISED).to_pylist()
    try:
        stimes = [stime_of(mark, stime) for mark, stime in zip(marks, rows.column(0).to_pylist(), strict=True)]
    except ValueError as error:
        raise OutputError(
            "these are revisions as a source says them, and which rows they are about was not found yet\n"
            "    allowed: streams behind a revisable box\n    next: read the stream INPUT.revised in place of INPUT"
        ) from error
    moved = rows.set_column(0, rows.schema.field(0), pa.chunked_array([pa.array(stimes, pa.int64())]))
    return moved.drop_columns([REVISED]), [sign_of(mark) for mark in marks]


def _keys(rows: pa.Table, aside: tuple[str, ...]) -> list[tuple[object, ...]]:
    """Equal for the same bits, any NaN being NaN."""
    columns = [
        [repr(v) if isinstance(v, float) else v for v in python_values(column)]
        for name, column in zip(rows.column_names, rows.columns, strict=True)
        if name not in aside
    ]
    return list(zip(*columns, strict=True))


class RevisedView(SqlSink):
    """Together with the sink of a database: the stable rows that stand. Revisions of a delivery are applied in one transaction, with the
    position in it. Tentative rows are not for it."""

    row_id: str
    """By what the database tells equal rows apart."""

    def of_revisions(self) -> RevisedView:
        if self.schema.get(REVISED) is None:
            raise OutputError(
                f"{self.where}: the stream has the fields ({self.schema}), and rows of it are never revised\n"
                "    allowed: ?revised with a stream that an input with revisions leads to\n    next: leave ?revised out"
            )
        self.takes_tentative = False
        return self

    @property
    def _fields(self) -> Schema:
        return Schema(tuple(field for field in self.schema.fields if field.name != REVISED))

    @property
    def columns(self) -> list[tuple[str, str]]:
        fields = [(field.name, self._type(field.type)) for field in self._fields.fields]
        return [(self.schema.stime_name, self.stime_type), *fields]

    @property
    def _indexed(self) -> list[str]:
        return [self.schema.stime_name]

    def apply(self, delivery: Delivery) -> None:
        if delivery.kind is Kind.GAP:
            raise OutputError(
                f"{self.where}: rows of [{delivery.lo}, {delivery.hi}) are lost for good, and what they revise is not known\n"
                "    next: drop the table, and name another one in a new deployment"
            )
        if not delivery.kind.is_stable:
            return
        rows, signs = _unmarked(delivery.rows.rename_columns([self.schema.stime_name, *self.schema.names]))
        try:
            with self._transaction():
                # What is taken back may have come in the same delivery.
                if any(sign > 0 for sign in signs):
                    self._insert(rows.filter(pa.array([sign > 0 for sign in signs], pa.bool_())))
                self._take_back(rows.filter(pa.array([sign < 0 for sign in signs], pa.bool_())))
                self._go_on(delivery.hi)
        except self.failures as error:
            raise self._failed(error) from error
        self.frontier = delivery.hi

    def _take_back(self, rows: pa.Table) -> None:
        # A stime is never null; by `=`, PostgreSQL finds it in the index.
        tests = " AND ".join(
            f"{quoted(name)} {self.same_as if at else '='} {self.mark}" for at, (name, _) in enumerate(self.columns)
        )
        one = f"SELECT {self.row_id} FROM {self._quoted} WHERE {tests} LIMIT 1"
        for values in zip(*(self._values_of(column) for column in rows.columns), strict=True):
            if self._run(f"DELETE FROM {self._quoted} WHERE {self.row_id} = ({one})", values) != 1:
                raise self._foreign(f"lacks a row that is taken back: {values}")
