"""A region over the rows of a range, in plain Python: each row that enters is followed to its end before the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from auroral.engine.failures import marked
from auroral.engine.fold import Arrived, Result, Row
from auroral.engine.tablestore import BEGUN, LOCKS, Store, StoredTable, contents_of, entry_key, sortable
from auroral.model.boxes.base import TypedBox
from auroral.model.boxes.changes import DELETE, PUT
from auroral.model.boxes.locks import TypedLockBox
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.expression import Typed, user_functions
from auroral.model.expression.evaluate import CallFailed, evaluate
from auroral.model.regions import TypedRegion
from auroral.model.tablesql.typed import INPUT, NEW, OLD, Matching, TypedDelete, TypedInsert, TypedSelect, TypedUpdate

Names = dict[tuple[str | None, str], Any]


class Given(NamedTuple):
    """A row that a member gives out on a port. Without `order`, it is numbered when its turn has come."""

    member: int
    port: int
    order: Row | None
    values: Row


class Freed(NamedTuple):
    """A key of a lockset, freed when the row that frees it has come to its end."""

    key: bytes


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


@dataclass(slots=True)
class RegionFold:
    """What is the same for all ranges."""

    reasons: ClassVar[tuple[str, ...]] = ()
    region: TypedRegion
    readers: dict[str, list[tuple[int, int]]] = field(init=False)
    fields: dict[str, tuple[str, ...]] = field(init=False)
    lookups: list[Lookup] = field(init=False)
    """By member."""
    ports: dict[str, int] = field(init=False)
    told: dict[str, list[int]] = field(init=False)
    """The members that give out the changes of a table."""
    contents: dict[bytes, Any] = field(init=False)
    tables: dict[str, StoredTable] = field(init=False)

    def __post_init__(self) -> None:
        made = [stream for stream, _ in self.region.entries] + list(self.region.streams)
        self.readers = {stream: list(self.region.readers(stream)) for stream in made}
        self.fields = {stream: self.region.stream(stream).schema.names for stream in made}
        self.lookups = [lookup(member.typed) for member in self.region.members]
        self.ports = {stream: port for port, stream in enumerate(self.region.streams)}
        told = {table.name: list(self.region.changes(table.name)) for table in self.region.tables}
        self.told = {table: members for table, members in told.items() if members}
        self.contents = contents_of(self.region.tables)
        self.tables = {table.name: StoredTable(table) for table in self.region.tables}

    def run(self, store: Store, rows: Iterable[Arrived]) -> Iterator[Result]:
        """Rows in processing order. Afterwards the store has what has changed."""
        running = _Running(self, store)
        for row in rows:
            yield from running.entered(row)


@dataclass(slots=True)
class _Running:
    fold: RegionFold
    store: Store
    stime: int = -1
    numbers: int = 0
    """Of what was given out at this stime."""
    changed: int = 0
    """Rows of tables that were changed at this stime."""
    released: deque[Given] = field(default_factory=deque)

    def entered(self, row: Arrived) -> Iterator[Result]:
        if row.stime != self.stime:
            self.stime, self.numbers, self.changed = row.stime, 0, 0
        yield from self._beginning()
        stream = self.fold.region.entries[row.port][0]
        yield from self._to_its_end(stream, row.order, row.values)
        while self.released:
            yield from self._followed([self.released.popleft()])

    def _beginning(self) -> Iterator[Result]:
        """Who follows the changes of a table is told first of the rows that it has."""
        if not self.fold.told or self.store.get(BEGUN):
            return
        self.store.put(BEGUN, True)
        for table in self.fold.region.tables:
            if table.name in self.fold.told:
                stored = self.fold.tables[table.name]
                rows = stored.in_order(stored.first(self.store))
                yield from self._followed(self._changes(table.name, [(PUT, row) for row in rows]))

    def _changes(self, table: str, changes: Iterable[tuple[str, Row]]) -> list[Given | Freed]:
        found: list[Given | Freed] = []
        for change, row in changes:
            self.changed += 1
            found += [Given(member, 0, None, (self.changed, change, *row)) for member in self.fold.told.get(table, ())]
        return found

    def _to_its_end(self, stream: str, order: Row, values: Row) -> Iterator[Result]:
        # Each reader to its end before the next: what an insert puts in, a select behind it in the diagram finds.
        for member, port in self.fold.readers[stream]:
            yield from self._followed(list(self._member(member, port, order, values)))

    def _followed(self, given: list[Given | Freed]) -> Iterator[Result]:
        """Depth first, without recursion: a diagram may be deeper than Python's stack."""
        stack: list[Given | Freed | tuple[int, int, Row, Row]] = list(reversed(given))
        while stack:
            one = stack.pop()
            if isinstance(one, Freed):
                self._free(one.key)
            elif isinstance(one, Given):
                order = one.order if one.order is not None else self._numbered()
                stream = self.fold.region.members[one.member].box.outputs[one.port]
                yield Result(self.stime, order, one.values, self.fold.ports[stream])
                stack += [(member, port, order, one.values) for member, port in reversed(self.fold.readers[stream])]
            else:
                stack += reversed(list(self._member(*one)))

    def _numbered(self) -> Row:
        self.numbers += 1
        return (self.numbers,)

    def _member(self, number: int, port: int, order: Row, values: Row) -> Iterator[Given | Freed]:
        """What a member makes of a row; all that it does to a table is done when the first result is followed."""
        member = self.fold.region.members[number]
        try:
            match member.typed:
                case TypedTableBox() as box:
                    changes: list[tuple[str, Row]] = []
                    results = self._table(number, member.box.inputs[0], box, values, changes)
                    told = self._changes(box.table.name, changes)
                    return iter([*told, *(Given(number, out, None, row) for out, row in results)])
                case TypedLockBox() as box:
                    return iter(list(self._lock(number, member.box.inputs[0], box, values)))
                case TypedFilter() as box:
                    names = self._names(None, member.box.inputs[0], values)
                    found = (at for at, test in enumerate(box.predicates) if evaluate(test, names) is True)
                    out = next(found, len(box.predicates) if box.else_port else None)
                    return iter(() if out is None else (Given(number, out, order, values),))
                case TypedMap() as box:
                    names = self._names(None, member.box.inputs[0], values)
                    return iter((Given(number, 0, order, _values(box.columns, names)),))
                case TypedUnion():
                    sizes = [len(self.fold.region.stream(stream).order) for stream in member.box.inputs]
                    parts = [order if at == port else (None,) * size for at, size in enumerate(sizes)]
                    return iter((Given(number, 0, (port, *(v for part in parts for v in part)), values),))
                case TypedIdentity() as box:
                    return iter((Given(number, box.data_ports[port], order, values),))
                case other:
                    raise AssertionError(f"no way to run {other} in a region")
        except CallFailed as failed:
            raise marked(
                f"box {member.box.name!r}: a function of its row", failed.__cause__ or failed, values
            ) from failed

    def _names(self, qualifier: str | None, stream: str, values: Row) -> Names:
        names: Names = {(qualifier, "stime"): self.stime}
        for name, value in zip(self.fold.fields[stream], values, strict=True):
            names[qualifier, name] = value
        return names

    # Tables

    def _table(
        self, number: int, stream: str, box: TypedTableBox, values: Row, changes: list[tuple[str, Row]]
    ) -> list[tuple[int, Row]]:
        names, table = self._names(INPUT, stream, values), self.fold.tables[box.table.name]
        way = self.fold.lookups[number]
        results: list[tuple[int | None, Row]] = []
        found: int | None = None
        match box.statement:
            case TypedInsert() as insert:
                new = tuple(evaluate(value, names) for value in insert.values)
                table.put(self.store, new)
                changes.append((PUT, new))
            case TypedSelect() as select:
                chosen = self._chosen(select, way, table, names)
                found = len(chosen)
                if box.row_port is not None:
                    results = [(box.row_port, _values(select.columns, one)) for one in chosen]
            case TypedUpdate() as update:
                results = self._update(box, update, way, table, names, changes)
            case TypedDelete() as delete:
                for row in self._matching(delete.matching, way, table, names):
                    table.take_out(self.store, row)
                    changes.append((DELETE, row))
                    results.append((box.row_port, row))
        if found != 0:
            results.append((box.input_port, values))
        else:
            results.append((box.else_port, values))
        if box.sizes_port is not None:
            results.append((box.sizes_port, (*_values(box.sizes, names), found)))
        return [(port, row) for port, row in results if port is not None]

    def _chosen(self, select: TypedSelect, way: Lookup, table: StoredTable, names: Names) -> list[Names]:
        found = [
            {**names, **_named(table, table.table.name, row)}
            for row in self._matching(select.matching, way, table, names)
        ]
        for value, descending in reversed(select.order_by):
            keyed = [(sortable((evaluate(value, one),)), one) for one in found]
            keyed.sort(key=lambda pair: pair[0], reverse=descending)
            found = [one for _, one in keyed]
        return found[: select.limit]

    def _update(
        self,
        box: TypedTableBox,
        update: TypedUpdate,
        way: Lookup,
        table: StoredTable,
        names: Names,
        changes: list[tuple[str, Row]],
    ) -> list[tuple[int | None, Row]]:
        set_to, results, changed = dict(update.values), list[tuple[int | None, Row]](), list[Row]()
        for old in self._matching(update.matching, way, table, names):
            known = {**names, **_named(table, table.table.name, old)}
            new = tuple(
                evaluate(set_to[name], known) if name in set_to else value
                for name, value in zip(table.table.schema.names, old, strict=True)
            )
            changed.append(new)
            if box.row_port is not None:
                seen = {**names, **_named(table, OLD, old), **_named(table, NEW, new)}
                results.append((box.row_port, _values(box.columns, seen)))
        for new in changed:
            table.put(self.store, new)
            changes.append((PUT, new))
        return results

    def _matching(self, matching: Matching, way: Lookup, table: StoredTable, names: Names) -> list[Row]:
        """In the order of keys. The condition holds for each of them, whatever way it was found."""
        found = []
        for row in self._candidates(way, table, names):
            known = {**names, **_named(table, table.table.name, row)} if matching.where is not None else names
            if matching.where is None or evaluate(matching.where, known) is True:
                found.append(row)
        return table.in_order(found)

    def _candidates(self, way: Lookup, table: StoredTable, names: Names) -> Sequence[Row]:
        """By key or index, where the condition has them; else all rows."""
        if way.key is not None:
            return table.by_key(self.store, tuple(evaluate(value, names) for value in way.key))
        if way.index is not None:
            name, value = way.index
            return table.by_index(self.store, name, evaluate(value, names))
        return table.all(self.store)

    # Locks: an entry is there while a key is held, and has the rows that wait, with the number of their lock

    def _lock(self, number: int, stream: str, box: TypedLockBox, values: Row) -> Iterator[Given | Freed]:
        fields = self.fold.fields[stream]
        key = entry_key(LOCKS, box.lockset, tuple(values[fields.index(name)] for name in box.key))
        waiting = self.store.get(key)
        if box.locks and waiting is not None:
            self.store.put(key, [*waiting, (number, values)])
            return
        if box.locks:
            self.store.put(key, [])
        yield Given(number, 0, None, values)
        if not box.locks:
            yield Freed(key)

    def _free(self, key: bytes) -> None:
        waiting = self.store.get(key)
        if waiting:
            # The key goes from the one to the other.
            (member, values), *rest = waiting
            self.released.append(Given(member, 0, None, values))
            self.store.put(key, rest)
        else:
            self.store.put(key, None)


def _named(table: StoredTable, qualifier: str, row: Row) -> Names:
    return {(qualifier, name): value for name, value in zip(table.table.schema.names, row, strict=True)}


def _values(columns: Sequence[tuple[str, Typed]], names: Names) -> Row:
    return tuple([evaluate(typed, names) for _, typed in columns])
