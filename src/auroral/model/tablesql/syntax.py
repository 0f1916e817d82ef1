"""A statement as it is written, before names and types are known. `at` is the offset in the text."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.model.expression.syntax import Node


@dataclass(frozen=True, slots=True)
class Word:
    """The name of a table or field."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class All:
    """`*`, or `accounts.*`: all fields of the table, or of the input."""

    at: int
    qualifier: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A value of a select, and the name that it has there, if one is said."""

    value: Node
    name: Word | None = None


@dataclass(frozen=True, slots=True)
class OrderBy:
    value: Node
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """Without `fields`, values are those of all fields of the table, in their order."""

    text: str
    table: Word
    fields: tuple[Word, ...]
    values: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Select:
    text: str
    table: Word
    items: tuple[All | Item, ...]
    where: Node | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Update:
    text: str
    table: Word
    values: tuple[tuple[Word, Node], ...]
    where: Node | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    text: str
    table: Word
    where: Node | None = None


Statement = Insert | Select | Update | Delete
