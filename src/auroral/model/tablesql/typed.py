"""Statements whose table and input are known: every value has its type, that of the field that it goes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from auroral.model.expression import Typed
from auroral.model.expression.typed import Convert, FieldRef, Infix, fields_read
from auroral.model.tables import Table

INPUT = "input"
"""What SQL calls the row that came in; a row of the table goes by the table's name."""
OLD, NEW = "old", "new"
"""What output expressions of an update call a row before and after it."""


@dataclass(frozen=True, slots=True)
class TypedInsert:
    """One value for each field of the table."""

    table: Table
    values: tuple[Typed, ...]

    def expressions(self) -> Iterator[Typed]:
        return iter(self.values)


@dataclass(frozen=True, slots=True)
class Matching:
    """Which rows of a table: `fields` with values that they must be equal to, where all of them are asked for, by key or index."""

    table: Table
    where: Typed | None

    def expressions(self) -> Iterator[Typed]:
        return iter(() if self.where is None else (self.where,))

    def equal_to(self) -> dict[str, Typed]:
        """Fields of the table that the condition compares with what is known before any row is looked at."""
        found: dict[str, Typed] = {}
        pending = [] if self.where is None else [self.where]
        while pending:
            one = pending.pop()
            if isinstance(one, Infix) and one.op == "and":
                pending += [one.right, one.left]
            elif isinstance(one, Infix) and one.op == "=":
                for side, other in ((one.left, one.right), (one.right, one.left)):
                    name = self._own(side)
                    if name is not None and all(q != self.table.name for q, _ in fields_read(other)):
                        found.setdefault(name, other)
        return found

    def _own(self, side: Typed) -> str | None:
        """The table's field that this is. A wider integer is the same number; other conversions may not be."""
        if isinstance(side, Convert) and side.type.is_integer and side.operand.type.is_integer:
            side = side.operand
        return side.name if isinstance(side, FieldRef) and side.qualifier == self.table.name else None


@dataclass(frozen=True, slots=True)
class TypedSelect:
    matching: Matching
    columns: tuple[tuple[str, Typed], ...]
    order_by: tuple[tuple[Typed, bool], ...] = ()
    limit: int | None = None

    def expressions(self) -> Iterator[Typed]:
        yield from (typed for _, typed in self.columns)
        yield from (typed for typed, _ in self.order_by)
        yield from self.matching.expressions()


@dataclass(frozen=True, slots=True)
class TypedUpdate:
    """`values` are of fields that are no part of the key."""

    matching: Matching
    values: tuple[tuple[str, Typed], ...]

    def expressions(self) -> Iterator[Typed]:
        yield from (typed for _, typed in self.values)
        yield from self.matching.expressions()


@dataclass(frozen=True, slots=True)
class TypedDelete:
    matching: Matching

    def expressions(self) -> Iterator[Typed]:
        return self.matching.expressions()


TypedStatement = TypedInsert | TypedSelect | TypedUpdate | TypedDelete
