"""Building a statement as the parser reduces each rule of the grammar."""

from __future__ import annotations

from typing import Any

from lark import Token, v_args

from auroral.model.expression.build import BuildTree, Refused, unquoted
from auroral.model.expression.syntax import Node
from auroral.model.tablesql.syntax import All, Delete, Insert, Item, OrderBy, Select, Update, Word


class Where(tuple[Node]):
    """A condition, told apart from the other parts of a statement."""


class Order(tuple[OrderBy, ...]):
    pass


class Limit(int):
    pass


@v_args(inline=True)
class BuildStatement(BuildTree):
    """One method per rule; statements are told their text when all of it is known."""

    def statement(self, made: Any, *_end: Token) -> Any:
        return made

    def insert(self, _insert: Token, _into: Token, table: Word, *rest: Any) -> Insert:
        fields = rest[0] if isinstance(rest[0], tuple) else ()
        values = rest[2:] if isinstance(rest[0], tuple) else rest[1:]
        return Insert("", table, fields, values)

    def fields(self, *words: Word) -> tuple[Word, ...]:
        return words

    def select(self, _select: Token, items: tuple[All | Item, ...], _from: Token, table: Word, *parts: Any) -> Select:
        order = next((part for part in parts if isinstance(part, Order)), ())
        limit = next((int(part) for part in parts if isinstance(part, Limit)), None)
        return Select("", table, items, _condition(parts), tuple(order), limit)

    def items(self, *items: All | Item) -> tuple[All | Item, ...]:
        return items

    def all(self, star: Token) -> All:
        return All(star.start_pos or 0)

    def all_of(self, qualifier: Token, _star: Token) -> All:
        return All(qualifier.start_pos or 0, self._identifier(qualifier))

    def bare_item(self, value: Node) -> Item:
        return Item(value)

    def named_item(self, value: Node, *rest: Any) -> Item:
        return Item(value, rest[-1])

    def where(self, _where: Token, condition: Node) -> Where:
        return Where((condition,))

    def order(self, _order: Token, _by: Token, *keys: OrderBy) -> Order:
        return Order(keys)

    def key(self, value: Node, *direction: Token) -> OrderBy:
        return OrderBy(value, bool(direction) and direction[0].lower() == "desc")

    def limit(self, _limit: Token, number: Token) -> Limit:
        return Limit(number)

    def update(self, _update: Token, table: Word, _set: Token, *rest: Any) -> Update:
        values = tuple(part for part in rest if not isinstance(part, Where))
        return Update("", table, values, _condition(rest))

    def assignment(self, field: Word, _equals: Token, value: Node) -> tuple[Word, Node]:
        return field, value

    def delete(self, _delete: Token, _from: Token, table: Word, *where: Where) -> Delete:
        return Delete("", table, _condition(where))

    def plain_word(self, name: Token) -> Word:
        return Word(name.start_pos or 0, self._identifier(name))

    def odd_word(self, name: Token, quoted: Token) -> Word:
        if name.lower() != "field":
            raise Refused(
                name.start_pos or 0,
                f"{name}(...) is no name",
                'a name, or field("odd name")',
                "write the name alone",
            )
        return Word(name.start_pos or 0, self._identifier(unquoted(quoted)))


def _condition(parts: Any) -> Node | None:
    return next((part[0] for part in parts if isinstance(part, Where)), None)
