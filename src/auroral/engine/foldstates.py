"""The states of all folds of a program at one time: an immutable value that costs nothing to hold, and its forms as rows and bytes.

Rows have the name of the state edge, a key, and what is stored of it: all of them, or those that changed since an earlier value, with null
for keys that were forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import pyarrow as pa

from auroral.engine.arrowrows import arrow_type, as_numbers, from_python
from auroral.engine.keyedstate import Changes, KeyedState, state_of
from auroral.engine.relations import StateEdge
from auroral.engine.sqltext import STIME
from auroral.engine.statecodec import decoded, encoded, first_of

ROWS = pa.schema([("edge", pa.string()), ("key", pa.large_binary()), ("entry", pa.large_binary())])
AT_ONCE = 10_000
"""Keys that are made into rows in one go, in which no other thread of the process runs."""
MAGIC = b"auroral fold states 2\n"
_NOTHING = KeyedState()


class NotFoldStates(ValueError):
    """Bytes or rows that are no states of folds, or not of this version."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldStates:
    """By state edge. One that is not there has no keys."""

    edges: Mapping[str, KeyedState] = field(default_factory=dict)

    def of(self, edge: str) -> KeyedState:
        return self.edges.get(edge, _NOTHING)

    def __deepcopy__(self, memo: object) -> FoldStates:
        """Nothing of it ever changes."""
        return self

    @property
    def count(self) -> int:
        """Keys, of all folds."""
        return sum(map(len, self.edges.values()))

    def replaced(self, states: Mapping[str, KeyedState]) -> FoldStates:
        return FoldStates({**self.edges, **states})

    def indexed(self, width: int) -> FoldStates:
        return FoldStates({name: state.indexed(width) for name, state in self.edges.items()})

    @property
    def digest(self) -> int:
        """Of 128 bits: the same for equal states, whatever way led to them."""
        found = blake2b(digest_size=16)
        for name, state in sorted(self.edges.items()):
            if len(state):
                found.update(encoded((name, state.digest, len(state))))
        return int.from_bytes(found.digest(), "big")

    @property
    def next_due(self) -> int | None:
        return min((due for state in self.edges.values() if (due := state.next_due) is not None), default=None)

    # As rows and bytes

    def to_bytes(self) -> bytes:
        return MAGIC + ipc_bytes(self.rows())

    def rows(self) -> pa.Table:
        """All of it, in no order."""
        return _rows((name, state.items()) for name, state in self.edges.items())

    def rows_since(self, earlier: FoldStates) -> pa.Table | None:
        """What makes this of an earlier value; None where that is not known any more, or is no less than the whole."""
        found: dict[str, Changes] = {}
        for name, state in self.edges.items():
            changes = state.changes_since(earlier.of(name))
            if changes is None:
                return None
            found[name] = changes
        if sum(map(len, found.values())) >= self.count:
            return None
        return _rows((name, changes.items()) for name, changes in found.items())

    def with_rows(self, rows: pa.Table) -> FoldStates:
        changed = {name: self.of(name).updated(changes) for name, changes in _changes(rows).items()}
        return self.replaced(changed)


def states_from(rows: pa.Table) -> FoldStates:
    """What `rows()` gave."""
    changes = _changes(rows)
    if any(one is None for entries in changes.values() for one in entries.values()):
        raise NotFoldStates("the states of folds are only what has changed of others")
    return FoldStates(
        {name: state_of((key, one) for key, one in found.items() if one) for name, found in changes.items()}
    )


def from_bytes(data: bytes) -> FoldStates:
    """What `to_bytes` gave."""
    if not data.startswith(MAGIC):
        raise NotFoldStates("the states of folds were written by an earlier version of auroral, in another form")
    return states_from(ipc_rows(data[len(MAGIC) :]))


def ipc_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def ipc_rows(data: bytes) -> pa.Table:
    try:
        return pa.ipc.open_stream(data).read_all()
    except (pa.ArrowException, OSError) as error:
        raise NotFoldStates(f"the states of folds cannot be read: {error}") from error


def _rows(states: Iterable[tuple[str, Iterable[tuple[bytes, bytes | None]]]]) -> pa.Table:
    batches = []
    for name, entries in states:
        following = iter(entries)
        while some := list(islice(following, AT_ONCE)):
            keys, values = zip(*some, strict=True)
            batches.append(pa.record_batch([[name] * len(some), keys, values], schema=ROWS))
    return pa.Table.from_batches(batches, ROWS)


def _changes(rows: pa.Table) -> dict[str, dict[bytes, bytes | None]]:
    if rows.schema.names != ROWS.names:
        raise NotFoldStates("the states of folds were written by an earlier version of auroral, in another form")
    found: dict[str, dict[bytes, bytes | None]] = {}
    for batch in rows.to_batches(max_chunksize=AT_ONCE):
        for name, key, one in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found.setdefault(name, {})[key] = one
    return found


# As rows of a state edge, for large jobs


def edge_rows(edge: StateEdge, state: KeyedState, at: int) -> pa.Table:
    """One row for each key, as Spark reads it."""
    keys, dues, states = [], [], []
    for key, one in state.items():
        due, end = first_of(one)
        keys.append(decoded(key))
        dues.append(due)
        states.append(one[end:])
    types = [arrow_type(c.type) for c in edge.columns]
    columns = [[at] * len(keys), *([key[i] for key in keys] for i in range(len(edge.keys))), dues, states]
    arrays = [from_python(values, kind) for values, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, [c.name for c in edge.columns])


def edge_changes(edge: StateEdge, rows: pa.Table) -> Iterator[tuple[bytes, bytes | None]]:
    """What a large job says of the keys that it touched."""
    assert rows.column_names[0] == STIME
    columns = [as_numbers(column).to_pylist() for column in rows.columns[1:]]
    for *key, due, state in zip(*columns, strict=True):
        yield encoded(tuple(key)), None if state is None else encoded(due) + state
