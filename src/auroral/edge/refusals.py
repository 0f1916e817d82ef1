"""Rows that could not be read: where they stand and which value was wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass

from auroral.edge.ledger import Reason

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Refused:
    """One row of an input file that was not taken.

    `row` counts all rows of the input from 0; `line` is the line where the row begins (for Parquet, the row
    number from 1). `field` is None where the whole line is no row. `value` is what stood there, cut at 200
    characters.
    """

    file: str
    line: int
    row: int
    field: str | None
    value: str
    type: str
    why: str

    def __str__(self) -> str:
        what = f"field {self.field!r}: " if self.field is not None else ""
        return f"{self.file}:{self.line}: {what}{self.value!r} is no {self.type} ({self.why})"

    def to_json(self) -> str:
        stored = {name: getattr(self, name) for name in self.__slots__}
        # In ASCII: a value may have half a surrogate pair, which no bytes of UTF-8 stand for.
        return json.dumps(stored | {"__reason": Reason.REFUSED.value})


def shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
