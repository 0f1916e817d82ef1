"""What can be wrong with a table, whatever its boxes do."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.model.diagram import Diagram
from auroral.model.errors import Problem, unknown_name
from auroral.model.names import unprintable
from auroral.model.naming import placed
from auroral.model.tables import Table


def table_problems(diagram: Diagram) -> Iterator[Problem]:
    seen: set[str] = set()
    for table in diagram.tables:
        place = placed(table.place, f"table {table.name!r}")
        yield from unprintable("table", table.name, place)
        if table.name in seen:
            yield Problem(
                f"table name {table.name!r} is used twice",
                place,
                allowed="names that are unique in a diagram",
                next_step="give one of the two another name",
            )
        seen.add(table.name)
        yield from _fields(table)
    for box in diagram.boxes:
        named = [what.removeprefix("table ") for what in box.shares if what.startswith("table ")]
        for name in named:
            if box.access and name not in box.access:
                yield Problem(
                    f"the SQL of box {box.name!r} is about table {name!r}, and the box has access to {', '.join(box.access)}",
                    placed(box.place, f"box {box.name!r}"),
                    allowed="SQL about the table that the box has access to",
                    next_step=f'write <access table="{name}"/>, or mend the SQL',
                )


def _fields(table: Table) -> Iterator[Problem]:
    place = placed(table.place, f"table {table.name!r}")
    if not table.keys:
        yield Problem(
            f"table {table.name!r} has no key",
            place,
            allowed="at least one field that tells rows apart",
            next_step='add <key field="..."/>, or key=["..."] in Python',
        )
    for name in (*table.keys, *table.indexes):
        if table.schema.get(name) is None:
            yield unknown_name("field", name, table.schema.names, place)
    if table.name in ("input", "old", "new"):
        yield Problem(
            f"a table cannot be called {table.name!r}: SQL calls the row that comes in `input`, and rows of an update `old` and `new`",
            place,
            allowed="other names",
            next_step="rename the table",
        )
