"""A region over the rows of a range, in plain Python: each row that enters is followed to its end before the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from auroral.engine.failures import marked
from auroral.engine.fold import Arrived, Result, Row
from auroral.engine.tablestore import BEGUN, LOCKS, Store, StoredTable, contents_of, entry_key
from auroral.engine.tablework import Lookup, Names, TableWork, lookup, values_of
from auroral.model.boxes.changes import PUT
from auroral.model.boxes.locks import TypedLockBox
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.expression.evaluate import CallFailed, evaluate
from auroral.model.regions import TypedRegion
from auroral.model.tablesql.typed import INPUT


class Given(NamedTuple):
    """A row that a member gives out on a port. Without `order`, it is numbered when its turn has come."""

    member: int
    port: int
    order: Row | None
    values: Row


class Freed(NamedTuple):
    """A key of a lockset, freed when the row that frees it has come to its end."""

    key: bytes


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
                    work = TableWork(self.store, self.fold.tables[box.table.name], box, self.fold.lookups[number])
                    changes, results = work.done(self._names(INPUT, member.box.inputs[0], values), values)
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
                    return iter((Given(number, 0, order, values_of(box.columns, names)),))
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
