"""The tables and locks of a region as entries by key: what a bucket does not touch is not looked at.

Entries are rows by table and primary key, the keys of rows by table, indexed field and value, and locks by lockset and key. An entry that is
as the table's contents had it in the beginning is not stored: equal tables have equal states, whatever happened to them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from auroral.engine.fold import Row
from auroral.engine.statecodec import encoded
from auroral.model.tables import Table

ROWS, INDEX, LOCKS = "row", "index", "lock"
GONE: tuple[()] = ()
"""What is stored for an entry of the contents that was taken out. Others are stored as (entry,)."""

Entries = Iterable[tuple[bytes, Any]]


BEGUN = encoded(("begun",))
"""The key of an entry that is there once the contents of tables were given out as changes."""
_WIDE = Context(prec=60)
"""More digits than any decimal has."""


def entry_key(kind: str, name: str, values: Row) -> bytes:
    return encoded((kind, name, tuple(map(_key_part, values))))


def _key_part(value: Any) -> Any:
    """Zeros of both signs are one key, and so are decimals of one value, whatever digits they are written with."""
    if type(value) is float:
        return 0.0 if value == 0 else value
    if type(value) is Decimal:
        return _WIDE.normalize(value) if value else Decimal(0)
    return value


def _prefix(kind: str, name: str) -> bytes:
    # A tuple of three, of which the third comes last.
    whole = encoded((kind, name, None))
    return whole[: -len(encoded(None))]


def sortable(values: Iterable[Any]) -> tuple[Any, ...]:
    """Nulls first, NaN last."""
    return tuple((0,) if v is None else (2,) if type(v) is float and math.isnan(v) else (1, v) for v in values)


@dataclass(slots=True)
class Store:
    """`stored` gives what the state has for a key, None where it has nothing, and `all_stored` all of it. `contents` are the entries that
    tables have in the beginning."""

    contents: Mapping[bytes, Any]
    stored: Callable[[bytes], Any]
    all_stored: Callable[[], Entries]
    changes: dict[bytes, Any] = field(default_factory=dict)
    """By key: what is to be stored now, None for what need not be stored."""
    read: dict[bytes, dict[bytes, Any]] = field(default_factory=dict)
    """By the beginning of keys: all that is stored with it, once that was asked for. To read it takes longer than to look at it."""

    def get(self, key: bytes) -> Any:
        found = self.changes[key] if key in self.changes else self.stored(key)
        if found is None:
            return self.contents.get(key)
        return found[0] if found else None

    def put(self, key: bytes, value: Any) -> None:
        first = self.contents.get(key)
        if first is None:
            self.changes[key] = None if value is None else (value,)
        elif value is None:
            self.changes[key] = GONE
        else:
            # Lists may be long: most are seen to differ without a look at them.
            same = len(value) == len(first) and encoded(value) == encoded(first)
            self.changes[key] = None if same else (value,)

    def own_list(self, key: bytes) -> list[Any]:
        """The list of an entry, to be changed and put again. Copied once in a range, however many rows change it: many rows may have one value."""
        changed = self.changes.get(key)
        return changed[0] if changed else list(self.get(key) or ())

    def items(self, kind: str, name: str) -> Iterator[tuple[bytes, Any]]:
        """All entries of a table, in no order."""
        prefix = _prefix(kind, name)
        for key, found in self.changes.items():
            value = self.contents.get(key) if found is None else found[0] if found else None
            if key.startswith(prefix) and value is not None:
                yield key, value
        stored = self._stored(prefix)
        for key, found in stored.items():
            if key not in self.changes and found:
                yield key, found[0]
        for key, value in self.contents.items():
            if key not in self.changes and key not in stored and key.startswith(prefix):
                yield key, value

    def _stored(self, prefix: bytes) -> dict[bytes, Any]:
        if prefix not in self.read:
            self.read[prefix] = {key: found for key, found in self.all_stored() if key.startswith(prefix)}
        return self.read[prefix]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Rows of one table in a store, and its indexes."""

    table: Table

    def key(self, row: Row) -> bytes:
        return entry_key(ROWS, self.table.name, self.key_values(row))

    def key_values(self, row: Row) -> Row:
        names = self.table.schema.names
        return tuple(row[names.index(name)] for name in self.table.keys)

    def by_key(self, store: Store, values: Row) -> list[Row]:
        if any(value is None for value in values):
            return []  # null is equal to nothing
        found = store.get(entry_key(ROWS, self.table.name, values))
        return [] if found is None else [found]

    def by_index(self, store: Store, name: str, value: Any) -> list[Row]:
        keys = None if value is None else store.get(self._index_key(name, value))
        return [] if keys is None else [store.get(key) for key in keys]

    def all(self, store: Store) -> list[Row]:
        return [row for _, row in store.items(ROWS, self.table.name)]

    def first(self, store: Store) -> list[Row]:
        """The rows that it has in the beginning."""
        prefix = _prefix(ROWS, self.table.name)
        return [row for key, row in store.contents.items() if key.startswith(prefix)]

    def in_order(self, rows: Iterable[Row]) -> list[Row]:
        return sorted(rows, key=lambda row: sortable(self.key_values(row)))

    def put(self, store: Store, row: Row) -> None:
        key = self.key(row)
        self._reindex(store, key, store.get(key), row)
        store.put(key, row)

    def take_out(self, store: Store, row: Row) -> None:
        key = self.key(row)
        self._reindex(store, key, row, None)
        store.put(key, None)

    def _index_key(self, name: str, value: Any) -> bytes:
        return entry_key(INDEX, f"{self.table.name}.{name}", (value,))

    def _reindex(self, store: Store, key: bytes, old: Row | None, new: Row | None) -> None:
        for name in self.table.indexes:
            at = self.table.schema.names.index(name)
            before, after = (
                None if row is None or row[at] is None else self._index_key(name, row[at]) for row in (old, new)
            )
            if before == after:
                continue
            if before is not None:
                keys = store.own_list(before)
                del keys[bisect_left(keys, key)]
                store.put(before, keys or None)
            if after is not None:
                keys = store.own_list(after)
                insort(keys, key)
                store.put(after, keys)


def contents_of(tables: Iterable[Table]) -> dict[bytes, Any]:
    """The entries that tables have in the beginning."""
    store = Store({}, lambda key: None, lambda: ())
    for table in tables:
        for row in table.contents.rows if table.contents is not None else ():
            StoredTable(table).put(store, row)
    return {key: found[0] for key, found in store.changes.items() if found}
