"""Regions: boxes around tables, one row after the other. Tables are plain dictionaries, and every condition looks at every row."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from auroral.model.boxes.changes import DELETE, PUT, TypedChanges
from auroral.model.boxes.locks import TypedLockBox
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.expression import Typed
from auroral.model.expression.evaluate import evaluate
from auroral.model.regions import TypedRegion
from auroral.model.tables import Table
from auroral.model.tablesql.typed import INPUT, NEW, OLD, Matching, TypedDelete, TypedInsert, TypedSelect, TypedUpdate
from auroral.model.window_samples import CheckedBox
from auroral.reference.machine import Machine, Outlet
from auroral.reference.rows import Key, Row, Value, Values, equality_key
from auroral.reference.stateless import FilterMachine, IdentityMachine, MapMachine, Stateless, UnionMachine

Names = dict[tuple[str | None, str], Value]
Rows = dict[Key, Values]


class RegionMachine(Stateless):
    """Each member is a machine whose results go at once to the members that read them, and out."""

    def __init__(self, box: TypedRegion, outlet: Outlet):
        self.region, self.outlet = box, outlet
        self.tables: dict[str, Rows] = {table.name: _contents(table) for table in box.tables}
        self.held: set[Key] = set()
        self.waiting: dict[Key, deque[tuple[int, Row]]] = {}
        self.released: deque[tuple[int, Row]] = deque()
        self.stime, self.given, self.changed = -1, 0, 0
        self.begun = False
        self.machines = [self._machine(number, member) for number, member in enumerate(box.members)]

    def on_row(self, port: int, row: Row) -> None:
        if row.stime != self.stime:
            self.stime, self.given, self.changed = row.stime, 0, 0
        if not self.begun:
            self.begun = True
            for table in self.region.tables:
                if not any(True for _ in self.region.changes(table.name)):
                    continue
                for _, values in sorted(self.tables[table.name].items(), key=lambda one: one[0]):
                    self.tell(table.name, PUT, values)
        self._reach(self.region.entries[port][0], row)
        while self.released:
            lock, waited = self.released.popleft()
            self.pass_on(lock, 0, Row(self.stime, waited.values, self.numbered()))

    def pass_on(self, member: int, port: int, row: Row) -> None:
        stream = self.region.members[member].box.outputs[port]
        self.outlet.emit(self.region.streams.index(stream), row)
        self._reach(stream, row)

    def _reach(self, stream: str, row: Row) -> None:
        for member, port in self.region.readers(stream):
            self.machines[member].on_row(port, row)

    def numbered(self) -> Values:
        self.given += 1
        return (self.given,)

    def tell(self, table: str, change: str, values: Values) -> None:
        """To those that give the changes of a table out."""
        self.changed += 1
        for member in self.region.changes(table):
            self.pass_on(member, 0, Row(self.stime, (self.changed, change, *values), self.numbered()))

    def _machine(self, number: int, member: CheckedBox) -> Machine:
        def emit(port: int, row: Row) -> None:
            self.pass_on(number, port, row)

        inputs = [self.region.stream(stream) for stream in member.box.inputs]
        onward = _Onward(member.box.name, [], emit)
        match member.typed:
            case TypedTableBox() as box:
                return _TableMachine(box, inputs[0].schema.names, self, emit)
            case TypedChanges():
                return IdentityMachine(TypedIdentity(outputs=(), data_ports=()), onward)  # no row comes to it
            case TypedLockBox() as box:
                return _LockMachine(number, box, inputs[0].schema.names, self, emit)
            case TypedFilter() as box:
                return FilterMachine(box, inputs, onward)
            case TypedMap() as box:
                return MapMachine(box, inputs, onward)
            case TypedUnion() as box:
                return UnionMachine(box, inputs, onward)
            case TypedIdentity() as box:
                return IdentityMachine(box, onward)
            case other:
                raise AssertionError(f"no machine for {other} in a region")


class _Onward(Outlet):
    def __init__(self, box: str, rows: list[list[Row]], emit: Callable[[int, Row], None]):
        super().__init__(box, rows)
        self.onward = emit

    def emit(self, port: int, row: Row) -> None:
        self.onward(port, row)


def _contents(table: Table) -> Rows:
    rows = table.contents.rows if table.contents is not None else ()
    return {_key(table, row): row for row in rows}


def _key(table: Table, row: Values) -> Key:
    return equality_key(tuple(row[table.schema.names.index(name)] for name in table.keys))


class _TableMachine(Stateless):
    def __init__(
        self,
        box: TypedTableBox,
        fields: tuple[str, ...],
        region: RegionMachine,
        emit: Callable[[int, Row], None],
    ):
        self.box, self.fields, self.region, self.emit = box, fields, region, emit
        self.rows = region.tables[box.table.name]

    def on_row(self, port: int, row: Row) -> None:
        names = _named(INPUT, {"stime": row.stime, **dict(zip(self.fields, row.values, strict=True))})
        results: list[tuple[int | None, Values]] = []
        changes: list[tuple[str, Values]] = []
        found = 0
        match self.box.statement:
            case TypedInsert() as insert:
                values = tuple(evaluate(value, names) for value in insert.values)
                self.rows[_key(insert.table, values)] = values
                changes.append((PUT, values))
            case TypedSelect() as select:
                chosen = self._chosen(select, names)
                found = len(chosen)
                results = [(self.box.row_port, _values(select.columns, one)) for one in chosen]
            case TypedUpdate() as update:
                results = self._update(update, names, changes)
            case TypedDelete() as delete:
                for key, values in self._matching(delete.matching, names):
                    del self.rows[key]
                    changes.append((DELETE, values))
                    results.append((self.box.row_port, values))
        for change, values in changes:
            self.region.tell(self.box.table.name, change, values)
        for output, values in results:
            self._give(output, row, values)
        looked_up = isinstance(self.box.statement, TypedSelect)
        if not looked_up or found:
            self._give(self.box.input_port, row, row.values)
        if looked_up and not found:
            self._give(self.box.else_port, row, row.values)
        if self.box.sizes_port is not None:
            self._give(self.box.sizes_port, row, (*_values(self.box.sizes, names), found))

    def _give(self, output: int | None, row: Row, values: Values) -> None:
        if output is not None:
            self.emit(output, Row(row.stime, values, self.region.numbered()))

    def _chosen(self, select: TypedSelect, names: Names) -> list[Names]:
        table = select.matching.table
        found = [{**names, **self._as_named(table.name, row)} for _, row in self._matching(select.matching, names)]
        for value, descending in reversed(select.order_by):
            found.sort(key=lambda one: equality_key((evaluate(value, one),)), reverse=descending)
        return found[: select.limit]

    def _update(
        self, update: TypedUpdate, names: Names, changes: list[tuple[str, Values]]
    ) -> list[tuple[int | None, Values]]:
        table, results, changed = update.matching.table, list[tuple[int | None, Values]](), dict[Key, Values]()
        set_to = dict(update.values)
        for key, old in self._matching(update.matching, names):
            known = {**names, **self._as_named(table.name, old)}
            new = tuple(
                evaluate(set_to[name], known) if name in set_to else value
                for name, value in zip(table.schema.names, old, strict=True)
            )
            changed[key] = new
            changes.append((PUT, new))
            seen = {**names, **self._as_named(OLD, old), **self._as_named(NEW, new)}
            if self.box.row_port is not None:
                results.append((self.box.row_port, _values(self.box.columns, seen)))
        self.rows.update(changed)
        return results

    def _matching(self, matching: Matching, names: Names) -> list[tuple[Key, Values]]:
        """In the order of keys."""
        found = []
        for key, row in self.rows.items():
            known = {**names, **self._as_named(matching.table.name, row)}
            if matching.where is None or evaluate(matching.where, known) is True:
                found.append((key, row))
        return sorted(found, key=lambda one: one[0])

    def _as_named(self, qualifier: str, row: Values) -> Names:
        return _named(qualifier, dict(zip(self.box.table.schema.names, row, strict=True)))


class _LockMachine(Stateless):
    def __init__(
        self,
        number: int,
        box: TypedLockBox,
        fields: tuple[str, ...],
        region: RegionMachine,
        emit: Callable[[int, Row], None],
    ):
        self.number, self.box, self.fields, self.region, self.emit = number, box, fields, region, emit

    def on_row(self, port: int, row: Row) -> None:
        values = tuple(row.values[self.fields.index(name)] for name in self.box.key)
        key: Key = (self.box.lockset, equality_key(values))
        waiting = self.region.waiting.setdefault(key, deque())
        if self.box.locks and key in self.region.held:
            waiting.append((self.number, row))
            return
        if self.box.locks:
            self.region.held.add(key)
        self.emit(0, Row(row.stime, row.values, self.region.numbered()))
        if self.box.locks:
            return
        if waiting:
            # The key goes from the one to the other.
            self.region.released.append(waiting.popleft())
        else:
            self.region.held.discard(key)


def _named(qualifier: str, values: Mapping[str, Value]) -> Names:
    return {(qualifier, name): value for name, value in values.items()}


def _values(columns: tuple[tuple[str, Typed], ...], names: Names) -> Values:
    return tuple(evaluate(typed, names) for _, typed in columns)
