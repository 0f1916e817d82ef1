"""What the names in a box's expressions stand for while it looks at its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auroral.model.expression import Typed
from auroral.model.expression.evaluate import evaluate
from auroral.model.stream import StreamType
from auroral.reference.revised import belongs_to
from auroral.reference.rows import Row, Value

Name = tuple[str | None, str]
Place = tuple[int, int | None]
"""An input, and which of its fields; None is the row's stime."""


class Reading:
    """Evaluates expressions over one row of each input; a row that is not there reads as nulls."""

    def __init__(self, inputs: Sequence[StreamType], qualifiers: Sequence[str | None] = (None,)):
        self.inputs = tuple(inputs)
        self.places: dict[Name, Place] = {}
        for port, (qualifier, stream) in enumerate(zip(qualifiers, inputs, strict=True)):
            # A field that is called stime hides the row's.
            self.places[qualifier, "stime"] = (port, None)
            for position, name in enumerate(stream.schema.names):
                self.places[qualifier, name] = (port, position)

    def value(self, typed: Typed, *rows: Row | None) -> Value:
        value: Value = evaluate(typed, _Read(self.inputs, self.places, rows))
        return value


class _Read:
    """Looks up only what an expression asks for: a join reads a field or two of each of many pairs of wide rows."""

    __slots__ = ("inputs", "places", "rows")

    def __init__(self, inputs: tuple[StreamType, ...], places: Mapping[Name, Place], rows: tuple[Row | None, ...]):
        self.inputs = inputs
        self.places = places
        self.rows = rows

    def __getitem__(self, name: Name) -> Value:
        port, position = self.places[name]
        row = self.rows[port]
        if row is None:
            return None
        return belongs_to(row, self.inputs[port]) if position is None else row.values[position]
