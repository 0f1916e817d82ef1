"""What the names in a box's expressions stand for while it looks at its rows."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.expression import Typed
from auroral.model.expression.evaluate import evaluate
from auroral.model.stream import StreamType
from auroral.reference.revised import belongs_to
from auroral.reference.rows import Row, Value


class Reading:
    """Evaluates expressions over one row of each input; a row that is not there reads as nulls."""

    def __init__(self, inputs: Sequence[StreamType], qualifiers: Sequence[str | None] = (None,)):
        self.inputs = tuple(zip(qualifiers, inputs, strict=True))

    def value(self, typed: Typed, *rows: Row | None) -> Value:
        known: dict[tuple[str | None, str], Value] = {}
        for (qualifier, stream), row in zip(self.inputs, rows, strict=True):
            # A field that is called stime hides the row's.
            known[qualifier, "stime"] = belongs_to(row, stream) if row is not None else None
            for position, name in enumerate(stream.schema.names):
                known[qualifier, name] = row.values[position] if row is not None else None
        value: Value = evaluate(typed, known)
        return value
