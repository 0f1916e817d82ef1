"""From a statement to types: the names of the table and the input are looked up, and values made to fit their fields."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.model.errors import DiagramError, Problem, unknown_name
from auroral.model.expression import Expr, Functions, Scope, Typed, resolve
from auroral.model.expression.implied import converted
from auroral.model.expression.operators import accepts
from auroral.model.expression.problems import ExpressionError, NotRegistered, point
from auroral.model.expression.syntax import Literal, Name, Node
from auroral.model.expression.typed import Constant
from auroral.model.schema import Schema
from auroral.model.tables import Table
from auroral.model.tablesql.syntax import All, Delete, Insert, Item, Select, Statement, Update, Word
from auroral.model.tablesql.typed import (
    INPUT,
    Matching,
    TypedDelete,
    TypedInsert,
    TypedSelect,
    TypedStatement,
    TypedUpdate,
)
from auroral.model.types import BOOL, FieldType


def resolve_sql(statement: Statement, table: Table, given: Schema, functions: Functions) -> TypedStatement:
    """`given` is the schema of the input. Raises one error with all that is wrong in the statement."""
    resolver = _Resolver(statement.text, table, given, functions)
    typed = resolver.statement(statement)
    resolver.finish()
    assert typed is not None  # or it was reported
    return typed


class _Resolver:
    def __init__(self, text: str, table: Table, given: Schema, functions: Functions):
        self.text, self.table, self.given, self.functions = text, table, given, functions
        self.scope = Scope(((INPUT, given), (table.name, table.schema)), timeless=(table.name,), meant=table.name)
        self.problems: list[Problem] = []
        self.missing: list[Problem] = []

    def finish(self) -> None:
        for found, error in ((self.problems, ExpressionError), (self.missing, NotRegistered)):
            if found:
                raise error(self.text, found)

    def statement(self, statement: Statement) -> TypedStatement | None:
        match statement:
            case Insert():
                return self._insert(statement)
            case Select():
                return self._select(statement)
            case Update():
                return self._update(statement)
            case Delete():
                where = self._where(statement.where)
                return None if where is None else TypedDelete(where)

    def _insert(self, statement: Insert) -> TypedInsert | None:
        names = [word.name for word in statement.fields] or list(self.table.schema.names)
        known = [self._field(word) for word in statement.fields]
        for word in statement.fields:
            if names.count(word.name) > 1:
                self.report(word.at, f"the field {word.name!r} is there twice", "each field once", "leave one out")
        if len(names) != len(statement.values):
            at = statement.values[-1].at if statement.values else statement.table.at
            what = f"{len(statement.values)} values for {len(names)} fields ({', '.join(names)})"
            self.report(at, what, "one value for each field", "mend the values, or name the fields before them")
        if len(names) != len(statement.values) or not all(known):
            return None
        values = dict(zip(names, statement.values, strict=True))
        for key in self.table.keys:
            if key not in values:
                what = f"the key {key!r} has no value"
                self.report(statement.table.at, what, "a value for each field of the key", f"add {key!r} to the fields")
        only_input = Scope(((INPUT, self.given),))
        typed = [
            self._fitting(values[f.name], f.name, f.type, only_input) if f.name in values else Constant(f.type, None)
            for f in self.table.schema.fields
        ]
        return TypedInsert(self.table, tuple(t for t in typed if t is not None))

    def _select(self, statement: Select) -> TypedSelect | None:
        columns = [column for item in statement.items for column in self._columns(item)]
        order = [(self._value(key.value), key.descending) for key in statement.order_by]
        where = self._where(statement.where)
        if where is None or any(typed is None for _, typed in columns):
            return None
        return TypedSelect(
            where,
            tuple((name, typed) for name, typed in columns if typed is not None),
            tuple((typed, down) for typed, down in order if typed is not None),
            statement.limit,
        )

    def _columns(self, item: All | Item) -> Iterator[tuple[str, Typed | None]]:
        if isinstance(item, All):
            qualifier = item.qualifier or self.table.name
            schema = {INPUT: self.given, self.table.name: self.table.schema}.get(qualifier)
            if schema is None:
                self._add(item.at, unknown_name("input", qualifier, (INPUT, self.table.name)))
                return
            for name in schema.names:
                yield name, self._value(Name(item.at, qualifier, name))
            return
        typed = self._value(item.value)
        if item.name is not None:
            yield item.name.name, typed
        elif isinstance(item.value, Name):
            yield item.value.name, typed
        else:
            self.report(
                item.value.at,
                "this value has no name",
                "fields, and other values with a name",
                "add one behind it, as in a + b as total",
            )

    def _update(self, statement: Update) -> TypedUpdate | None:
        values: list[tuple[str, Typed | None]] = []
        for word, value in statement.values:
            kind = self._field(word)
            if kind is None:
                continue
            if word.name in self.table.keys:
                self.report(
                    word.at,
                    f"{word.name!r} is part of the key of {self.table.name!r}, which tells rows apart and does not change",
                    "fields that are no part of the key",
                    "delete the row and insert another",
                )
                continue
            if word.name in dict(values):
                self.report(word.at, f"the field {word.name!r} is set twice", "each field once", "leave one out")
            values.append((word.name, self._fitting(value, word.name, kind, self.scope)))
        where = self._where(statement.where)
        if where is None:
            return None
        return TypedUpdate(where, tuple((name, typed) for name, typed in values if typed is not None))

    def _where(self, node: Node | None) -> Matching | None:
        if node is None:
            return Matching(self.table, None)
        typed = self._value(node)
        if typed is None:
            return None
        if typed.type != BOOL:
            what = f"where is of type {typed.type}"
            self.report(node.at, what, "a condition, of type bool", "compare it with something")
            return None
        return Matching(self.table, typed)

    def _fitting(self, node: Node, field: str, wanted: FieldType, scope: Scope) -> Typed | None:
        """A value as the type of the field that it goes to."""
        if isinstance(node, Literal) and node.value is None:
            return Constant(wanted, None)
        typed = self._value(node, scope)
        if typed is None:
            return None
        if not accepts(typed.type, wanted):
            self.report(
                node.at,
                f"the value for {field!r} is a {typed.type}, and the field a {wanted}",
                f"values of type {wanted}, or that become one without loss",
                f"convert it, as in {wanted.kind.value}(...)",
            )
            return None
        return converted(typed, wanted)

    def _value(self, node: Node, scope: Scope | None = None) -> Typed | None:
        try:
            return resolve(Expr(self.text, node), scope or self.scope, self.functions)
        except DiagramError as error:
            (self.missing if isinstance(error, NotRegistered) else self.problems).extend(error.problems)
            return None

    def _field(self, word: Word) -> FieldType | None:
        found = self.table.schema.get(word.name)
        if found is None:
            self._add(word.at, unknown_name(f"field of {self.table.name}", word.name, self.table.schema.names))
        return found

    def report(self, at: int, what: str, allowed: str, next_step: str) -> None:
        self._add(at, Problem(what, allowed=allowed, next_step=next_step))

    def _add(self, at: int, problem: Problem) -> None:
        self.problems.append(point(problem, self.text, at))
