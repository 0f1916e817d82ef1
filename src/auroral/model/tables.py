"""Tables: rows that boxes of one region put in, look up, change and take out."""

from __future__ import annotations

from dataclasses import dataclass, field

from auroral.model.errors import Place
from auroral.model.expression.typed import Value
from auroral.model.schema import Schema

CONTENTS, CHANGES = "contents", "changes"
OUR_PARAMETERS = (CONTENTS, CHANGES)
"""Parameters of tables that Borealis did not have."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows that a table has before the first bucket, in the types of its schema, and where they came from."""

    rows: tuple[tuple[Value, ...], ...] = field(repr=False)
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """`keys` tell rows apart. `stream` carries the changes of the table, where one is asked for; see `regions`.

    `parameters` are those of Borealis files; what each of them means here is in docs/tables.md.
    """

    name: str
    schema: Schema
    keys: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    stream: str | None = None
    node: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    place: Place = field(default=Place(), compare=False)
    contents: Contents | None = None

    @property
    def changes_stream(self) -> str | None:
        """The stream that a parameter names for the changes, as it is written."""
        return dict(self.parameters).get(CHANGES, "").strip() or None

    @property
    def contents_file(self) -> str | None:
        """The file that a parameter names for the contents."""
        return dict(self.parameters).get(CONTENTS, "").strip() or None

    def __str__(self) -> str:
        indexes = f", index {', '.join(self.indexes)}" if self.indexes else ""
        return f"table {self.name} ({self.schema}), key {', '.join(self.keys)}{indexes}"
