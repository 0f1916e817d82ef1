"""Steps that read and write a table, as users of the Python API write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from auroral.model import arguments as given
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.changes import TableChanges
from auroral.model.boxes.locks import Lock, Unlock
from auroral.model.boxes.tables import Delete, Exists, Insert, Select, Update
from auroral.model.errors import Place
from auroral.model.moving_steps import MovingSteps
from auroral.model.tables import Table

if TYPE_CHECKING:
    from auroral.model.builder import DiagramBuilder
    from auroral.model.steps import Stream

Columns = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableHandle:
    """A table of a diagram under construction; steps of streams read and write it."""

    builder: DiagramBuilder
    table: Table

    @property
    def name(self) -> str:
        return self.table.name

    @given.whole_call
    def changes(self, name: str) -> Stream:
        """A row for each row that is put into the table or taken out: `number`, `change` ("put" or "delete"), and the row.

        Rows that the table has in the beginning come first. At one stime, `number` has the order of changes.
        """
        return self.builder.add(name, TableChanges(self.table.name), (), (name,), _place(name), (self.table.name,))[0]


@dataclass(frozen=True, slots=True)
class TableSteps(MovingSteps):
    """In expressions, `input.x` is a field of the row that came in, and `accounts.x` one of the table `accounts`."""

    @overload
    def insert(
        self, name: str, table: TableHandle, values: Columns | None = None, *, pass_input: Literal[False] = False
    ) -> None: ...

    @overload
    def insert(
        self, name: str, table: TableHandle, values: Columns | None = None, *, pass_input: Literal[True]
    ) -> Stream: ...

    @given.whole_call
    def insert(
        self, name: str, table: TableHandle, values: Columns | None = None, *, pass_input: bool = False
    ) -> Stream | None:
        """Puts a row with these values into the table, in the place of one with the same key.

        Without `values`, fields are those of the row that have the same names. With `pass_input`, the row goes on.
        """
        place = _place(name)
        own = _table(self.builder, table, place)
        chosen = {f: f"input.{_name(f)}" for f in own.schema.names} if values is None else _values(values, place)
        fields = ", ".join(map(_name, chosen))
        sql = f"insert into {own.name} ({fields}) values ({', '.join(chosen.values())})"
        return self._table_step(name, Insert(sql, pass_input), own, [name] * pass_input, place)

    @overload
    def select(
        self,
        name: str,
        table: TableHandle,
        columns: Columns | None = None,
        *,
        where: str | None = None,
        order_by: Iterable[str] = (),
        limit: int | None = None,
        otherwise: Literal[False] = False,
        sizes: Literal[False] = False,
    ) -> Stream: ...

    @overload
    def select(
        self,
        name: str,
        table: TableHandle,
        columns: Columns | None = None,
        *,
        where: str | None = None,
        order_by: Iterable[str] = (),
        limit: int | None = None,
        otherwise: bool = False,
        sizes: bool = False,
    ) -> tuple[Stream, ...]: ...

    @given.whole_call
    def select(
        self,
        name: str,
        table: TableHandle,
        columns: Columns | None = None,
        *,
        where: str | None = None,
        order_by: Iterable[str] = (),
        limit: int | None = None,
        otherwise: bool = False,
        sizes: bool = False,
    ) -> Stream | tuple[Stream, ...]:
        """A row for each row of the table for which `where` holds: `columns`, or all fields of the table.

        With `otherwise`, a second stream has the rows for which there was none; with `sizes`, one more has how many there were.
        """
        place = _place(name)
        own = _table(self.builder, table, place)
        items = "*" if columns is None else ", ".join(f"{v} as {_name(n)}" for n, v in _values(columns, place).items())
        sql = f"select {items} from {own.name}{_where(where, place)}"
        keys = given.fields("order_by", order_by, place, "expressions")
        sql += f" order by {', '.join(keys)}" if keys else ""
        sql += "" if limit is None else f" limit {given.optional_count('limit', limit, place)}"
        outputs = [name, *([f"{name}.else"] if otherwise else []), *([f"{name}.sizes"] if sizes else [])]
        made = self.builder.add(name, Select(sql, otherwise, sizes), (self,), outputs, place, (own.name,))
        return made if len(made) > 1 else made[0]

    @overload
    def update(
        self, name: str, table: TableHandle, values: Columns, *, where: str | None = None, columns: Columns
    ) -> Stream: ...

    @overload
    def update(
        self, name: str, table: TableHandle, values: Columns, *, where: str | None = None, pass_input: Literal[True]
    ) -> Stream: ...

    @overload
    def update(self, name: str, table: TableHandle, values: Columns, *, where: str | None = None) -> None: ...

    @given.whole_call
    def update(
        self,
        name: str,
        table: TableHandle,
        values: Columns,
        *,
        where: str | None = None,
        columns: Columns | None = None,
        pass_input: bool = False,
    ) -> Stream | None:
        """Sets fields of all rows of the table for which `where` holds.

        With `columns`, expressions over `input`, `old` and `new`, each row that is changed gives a result; with `pass_input`, the row
        that came in goes on.
        """
        place = _place(name)
        own = _table(self.builder, table, place)
        sets = ", ".join(f"{_name(field)} = {value}" for field, value in _values(values, place).items())
        results = () if columns is None else tuple(_values(columns, place).items())
        spec = Update(f"update {own.name} set {sets}{_where(where, place)}", pass_input, results)
        return self._table_step(name, spec, own, [name] * (pass_input or bool(results)), place)

    @overload
    def delete(self, name: str, table: TableHandle, *, where: str | None = None) -> None: ...

    @overload
    def delete(self, name: str, table: TableHandle, *, where: str | None = None, deleted: Literal[True]) -> Stream: ...

    @overload
    def delete(
        self, name: str, table: TableHandle, *, where: str | None = None, pass_input: Literal[True]
    ) -> Stream: ...

    @overload
    def delete(
        self,
        name: str,
        table: TableHandle,
        *,
        where: str | None = None,
        deleted: Literal[True],
        pass_input: Literal[True],
    ) -> tuple[Stream, ...]: ...

    @given.whole_call
    def delete(
        self,
        name: str,
        table: TableHandle,
        *,
        where: str | None = None,
        deleted: bool = False,
        pass_input: bool = False,
    ) -> Stream | tuple[Stream, ...] | None:
        """Takes all rows for which `where` holds out of the table. With `deleted`, a stream has them; with `pass_input`, the row goes on."""
        place = _place(name)
        own = _table(self.builder, table, place)
        spec = Delete(f"delete from {own.name}{_where(where, place)}", deleted, pass_input)
        outputs = [name] * deleted + [f"{name}.input" if deleted else name] * pass_input
        made = self.builder.add(name, spec, (self,), outputs, place, (own.name,))
        return made if len(made) > 1 else made[0] if made else None

    @overload
    def exists(self, name: str, table: TableHandle, *, where: str, otherwise: Literal[False] = False) -> Stream: ...

    @overload
    def exists(
        self, name: str, table: TableHandle, *, where: str, otherwise: Literal[True]
    ) -> tuple[Stream, Stream]: ...

    @given.whole_call
    def exists(
        self, name: str, table: TableHandle, *, where: str, otherwise: bool = False
    ) -> Stream | tuple[Stream, Stream]:
        """The rows for which the table has a row; with `otherwise`, those for which it has none as well."""
        place = _place(name)
        own = _table(self.builder, table, place)
        spec = Exists(f"select * from {own.name}{_where(where, place)}")
        made = self.builder.add(
            name, spec, (self,), [name, *([f"{name}.else"] if otherwise else [])], place, (own.name,)
        )
        return (made[0], made[1]) if otherwise else made[0]

    @given.whole_call
    def lock(self, name: str, lockset: str, by: Iterable[str]) -> Stream:
        """Rows with equal fields `by` pass one after the other: each when an `unlock` has freed what the one before it holds."""
        place = _place(name)
        spec = Lock(given.text("lockset", lockset, place), given.fields("by", by, place))
        return self.builder.add(name, spec, (self,), (name,), place)[0]

    @given.whole_call
    def unlock(self, name: str, lockset: str, by: Iterable[str]) -> Stream:
        """Rows pass, and free what rows with equal fields `by` hold in the lockset."""
        place = _place(name)
        spec = Unlock(given.text("lockset", lockset, place), given.fields("by", by, place))
        return self.builder.add(name, spec, (self,), (name,), place)[0]

    def _table_step(self, name: str, spec: BoxSpec, table: Table, outputs: list[str], place: Place) -> Stream | None:
        made = self.builder.add(name, spec, (self,), outputs, place, (table.name,))
        return made[0] if made else None


def _place(name: str) -> Place:
    return given.user_place(f"step {given.name_of('step', name)!r}")


def _table(builder: DiagramBuilder, table: object, place: Place) -> Table:
    if isinstance(table, TableHandle) and table.builder is builder:
        return table.table
    return given.refuse(
        f"{table!r} is not a table of this diagram",
        place,
        allowed="what diagram.table(...) returned",
        next_step="make the table first, and hand it over itself, not its name",
    )


def _values(values: object, place: Place) -> dict[str, str]:
    if isinstance(values, Mapping) and all(isinstance(x, str) for pair in values.items() for x in pair) and values:
        return dict(values)
    return given.refuse(
        f"{values!r} are no fields with expressions",
        place,
        allowed="a dict from fields to expressions of Auroral's own language",
        next_step='write for example {"balance": "input.amount"}',
    )


def _where(where: object, place: Place) -> str:
    if where is None:
        return ""
    return f" where {given.text('where', where, place)}"


def _name(name: str) -> str:
    """A name as SQL has it."""
    if name.isidentifier():
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'field("{escaped}")'
