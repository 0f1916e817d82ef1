"""What a table box does with a row: its statement, over a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from auroral.engine.fold import Row
from auroral.engine.tablestore import Store, StoredTable, sortable
from auroral.model.boxes.base import TypedBox
from auroral.model.boxes.changes import DELETE, PUT
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.expression import Typed, user_functions
from auroral.model.expression.evaluate import evaluate
from auroral.model.tablesql.typed import NEW, OLD, Matching, TypedDelete, TypedInsert, TypedSelect, TypedUpdate

Names = dict[tuple[str | None, str], Any]


@dataclass(frozen=True, slots=True)
class Lookup:
    """How rows are found for a condition: by values of all fields of the key, or by one of an indexed field; else all are looked at."""

    key: tuple[Typed, ...] | None = None
    index: tuple[str, Typed] | None = None


def lookup(typed: TypedBox) -> Lookup:
    if not isinstance(typed, TypedTableBox) or isinstance(typed.statement, TypedInsert):
        return Lookup()
    # A function of the user's is called for rows that are there, and not to find them.
    equal = typed.statement.matching.equal_to()
    asked = {name: value for name, value in equal.items() if not user_functions(value)}
    table = typed.table
    if all(name in asked for name in table.keys):
        return Lookup(key=tuple(asked[name] for name in table.keys))
    return Lookup(index=next(((name, asked[name]) for name in table.indexes if name in asked), None))


@dataclass(frozen=True, slots=True)
class TableWork:
    """One box over the store of a range; `way` is how it finds rows."""

    store: Store
    table: StoredTable
    box: TypedTableBox
    way: Lookup

    def done(self, names: Names, values: Row) -> tuple[list[tuple[str, Row]], list[tuple[int, Row]]]:
        """What is changed by a row that came in, and what goes out by port. All of it is done before anybody is told of it."""
        box, table, changes = self.box, self.table, list[tuple[str, Row]]()
        results: list[tuple[int | None, Row]] = []
        found: int | None = None
        match box.statement:
            case TypedInsert() as insert:
                new = tuple(evaluate(value, names) for value in insert.values)
                table.put(self.store, new)
                changes.append((PUT, new))
            case TypedSelect() as select:
                chosen = self._chosen(select, names)
                found = len(chosen)
                if box.row_port is not None:
                    results = [(box.row_port, values_of(select.columns, one)) for one in chosen]
            case TypedUpdate() as update:
                results = self._update(update, names, changes)
            case TypedDelete() as delete:
                for row in self._matching(delete.matching, names):
                    table.take_out(self.store, row)
                    changes.append((DELETE, row))
                    results.append((box.row_port, row))
        if found != 0:
            results.append((box.input_port, values))
        else:
            results.append((box.else_port, values))
        if box.sizes_port is not None:
            results.append((box.sizes_port, (*values_of(box.sizes, names), found)))
        return changes, [(port, row) for port, row in results if port is not None]

    def _chosen(self, select: TypedSelect, names: Names) -> list[Names]:
        found = [
            {**names, **named(self.table, self.table.table.name, row)} for row in self._matching(select.matching, names)
        ]
        for value, descending in reversed(select.order_by):
            keyed = [(sortable((evaluate(value, one),)), one) for one in found]
            keyed.sort(key=lambda pair: pair[0], reverse=descending)
            found = [one for _, one in keyed]
        return found[: select.limit]

    def _update(
        self, update: TypedUpdate, names: Names, changes: list[tuple[str, Row]]
    ) -> list[tuple[int | None, Row]]:
        box, table = self.box, self.table
        set_to, results, changed = dict(update.values), list[tuple[int | None, Row]](), list[Row]()
        for old in self._matching(update.matching, names):
            known = {**names, **named(table, table.table.name, old)}
            new = tuple(
                evaluate(set_to[name], known) if name in set_to else value
                for name, value in zip(table.table.schema.names, old, strict=True)
            )
            changed.append(new)
            if box.row_port is not None:
                seen = {**names, **named(table, OLD, old), **named(table, NEW, new)}
                results.append((box.row_port, values_of(box.columns, seen)))
        for new in changed:
            table.put(self.store, new)
            changes.append((PUT, new))
        return results

    def _matching(self, matching: Matching, names: Names) -> list[Row]:
        """In the order of keys. The condition holds for each of them, whatever way it was found."""
        found = []
        for row in self._candidates(names):
            known = {**names, **named(self.table, self.table.table.name, row)} if matching.where is not None else names
            if matching.where is None or evaluate(matching.where, known) is True:
                found.append(row)
        return self.table.in_order(found)

    def _candidates(self, names: Names) -> Sequence[Row]:
        """By key or index, where the condition has them; else all rows."""
        way, table = self.way, self.table
        if way.key is not None:
            return table.by_key(self.store, tuple(evaluate(value, names) for value in way.key))
        if way.index is not None:
            name, value = way.index
            return table.by_index(self.store, name, evaluate(value, names))
        return table.all(self.store)


def named(table: StoredTable, qualifier: str, row: Row) -> Names:
    return {(qualifier, name): value for name, value in zip(table.table.schema.names, row, strict=True)}


def values_of(columns: Sequence[tuple[str, Typed]], names: Names) -> Row:
    return tuple([evaluate(typed, names) for _, typed in columns])
