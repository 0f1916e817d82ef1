"""The changes of a table as a stream: what another place needs in order to have the same table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.stateless import schema_of
from auroral.model.boxes.tables import ORDER, region_facts
from auroral.model.errors import unknown_name
from auroral.model.stream import StreamType
from auroral.model.tables import Table
from auroral.model.types import LONG, STRING

PUT, DELETE = "put", "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedChanges(TypedBox):
    table: Table


@dataclass(frozen=True, slots=True)
class TableChanges:
    """A row for each row that is put into the table or taken out of it: `number`, in their order at one stime, `change`, and the row.

    Rows that the table has in the beginning are put in when the first row enters its region.
    """

    table: str

    type: ClassVar[str] = "changes"
    facts: ClassVar[BoxFacts] = region_facts("0 in, 1 out", result_stime="that of the row that led to the change")

    @property
    def shares(self) -> tuple[str, ...]:
        return (f"table {self.table}",)

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        table = report.tables.get(self.table)
        if table is None:
            report.problems.append(unknown_name("table", self.table, sorted(report.tables), report.place))
            return None
        if not expect_ports(report, "changes", inputs, outputs, 0, 1):
            return None
        fields = [("number", LONG), ("change", STRING), *((f.name, f.type) for f in table.schema.fields)]
        schema = schema_of(fields, report)
        if schema is None:
            return None
        return TypedChanges(
            outputs=(StreamType(schema, (), ORDER),),
            box_class=BoxClass.FOLD,
            required=(),
            order_sensitive=True,
            table=table,
        )
