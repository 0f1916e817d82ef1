"""Windows of rows or of values that are shed whole, as a fold. A row's values are that of the windows' field, if there is one, then all of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from auroral.engine.fold import Given, LeftOut, Result, Row, Untimed
from auroral.engine.numbers import number_of
from auroral.model.boxes.drop import TypedRowDrop
from auroral.model.types import FieldType
from auroral.model.xxhash import Column


@dataclass(slots=True)
class DropFold(Untimed):
    typed: TypedRowDrop
    types: tuple[FieldType, ...]
    group: tuple[Column, ...] = ()
    rows: int = 0
    """That the group has had; counted only where windows are of a number of rows."""

    reasons: ClassVar[tuple[str, ...]] = ("shed",)

    def start(self, key: Row, state: Any) -> None:
        self.group, self.rows = tuple(zip(self.types, key, strict=True)), state or 0

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        if self.typed.field is None:
            place: Any = self.rows
            self.rows += 1
        else:
            place, values = number_of(values[0]), values[1:]
        if place is not None and self.typed.drops(self.group, place):
            yield LeftOut(stime, "shed")
        else:
            yield Result(stime, order, values)

    def state(self) -> Any:
        return self.rows or None
