"""The state of folds as an immutable value: versions, digests, what is due, and how little of it a range looks at."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from immutables import Map

from auroral.engine.fold import Arrived
from auroral.engine.foldbox import LEFT_OUT
from auroral.engine.foldrun import run_fold
from auroral.engine.folds import LandmarkFold
from auroral.engine.foldscan import Layout, fold_scan
from auroral.engine.foldstates import FoldStates, NotFoldStates, edge_changes, edge_rows, states_from
from auroral.engine.keyedstate import KeyedState, due_of, entry, state_of
from auroral.engine.relations import StateEdge
from auroral.engine.sqltext import STIME, Column
from auroral.engine.statecodec import encoded
from auroral.model.aggregates import TypedAggregate
from auroral.model.expression.typed import FieldRef
from auroral.model.types import LONG
from engine.timed_fold import Sessions

WIDTH = 10


def key(number: int) -> bytes:
    return encoded((number,))


def entries(state: KeyedState) -> dict[bytes, bytes]:
    return dict(state.entries.items())


@pytest.mark.parametrize("seed", range(20))
def test_versions_do_not_disturb_one_another(seed: int) -> None:
    """Against dicts that are copied: entries, digest, what is due, and what changed since any earlier version."""
    draw = random.Random(seed)
    versions: list[tuple[KeyedState, dict[bytes, bytes]]] = [(KeyedState(width=WIDTH), {})]
    for _ in range(60):
        state, known = draw.choice(versions[-3:])
        known, changes = dict(known), {}
        for _ in range(draw.randrange(6)):
            due = draw.choice([None, draw.randrange(1, 200)])
            changes[key(draw.randrange(30))] = entry(due, draw.choice([None, 1, 2]))
        for one, now in changes.items():
            known.pop(one, None)
            known |= {} if now is None else {one: now}
        versions.append((state.updated(changes), known))
    for state, known in versions:
        anew = state_of(known.items())
        assert entries(state) == known and state.digest == anew.digest
        lo = WIDTH * draw.randrange(10)
        hi = lo + WIDTH * draw.randrange(1, 9)
        dues = {one: due_of(value) for one, value in known.items()}
        expected = {one for one, due in dues.items() if due is not None and lo < due <= hi}
        # Of those due before, nothing is said: there are none where ranges follow one another.
        assert {one for one in state.due(lo, hi) if (dues[one] or 0) > lo} == expected
        assert {*anew.indexed(WIDTH).due(lo, hi)} >= expected
        found = [due for due in dues.values() if due is not None]
        assert state.next_due == (None if not found else (min(found) - 1) // WIDTH * WIDTH)
        earlier, before = draw.choice(versions)
        changes_since = state.changes_since(earlier)
        if changes_since is not None:
            made = {**before, **{k: v for k, v in changes_since.items() if v is not None}}
            assert {k: v for k, v in made.items() if changes_since.get(k, v) is not None} == known


def test_a_digest_is_of_what_is_there_and_not_of_how_it_came() -> None:
    one = KeyedState().updated({key(1): b"n1"}).updated({key(2): b"n2"})
    other = KeyedState().updated({key(2): b"n9", key(3): b"n3"}).updated({key(1): b"n1", key(2): b"n2", key(3): None})
    assert one.digest == other.digest != KeyedState().updated({key(1): b"n2", key(2): b"n1"}).digest
    assert KeyedState().updated({key(1): b"n1"}).updated({key(1): None}).digest == 0
    assert FoldStates({"a": one}).digest != FoldStates({"b": one}).digest
    assert FoldStates({"a": one, "b": KeyedState()}).digest == FoldStates({"a": other}).digest


def test_what_changed_lately_stays_known_and_how_much_is_known_stays_bounded() -> None:
    state = state_of((key(n), b"n0") for n in range(1000))
    before: list[KeyedState] = []
    longest = 0
    for number in range(400):
        before.append(state)
        state = state.updated({key((10 * number + n) % 1000): b"n%d" % (number + 1) for n in range(10)})
        longest = max(longest, state.trail.touched)
        since = state.changes_since(before[max(0, number - 30)])
        assert since is not None and len(since) == 10 * min(number + 1, 31)
    assert longest <= len(state), "no more than the whole"
    assert state.changes_since(before[0]) is None


def test_nothing_changed_is_the_same_version() -> None:
    state = KeyedState().updated({key(1): b"n1"})
    assert state.updated({key(1): b"n1", key(2): None}) is state


def test_states_as_rows() -> None:
    states = FoldStates({"a": KeyedState().updated({key(1): b"n1", key(2): b"n2"}), "b": KeyedState()})
    assert states_from(states.rows()).digest == states.digest
    later = states.replaced({"a": states.of("a").updated({key(1): None}), "c": KeyedState().updated({key(5): b"n5"})})
    changes = later.rows_since(states)
    assert changes is None, "no less than the whole"
    more = states.replaced({"a": states.of("a").updated({key(n): b"n" for n in range(10, 20)})})
    changes = more.replaced({"a": more.of("a").updated({key(1): None})}).rows_since(more)
    assert changes is not None and changes.num_rows == 1
    assert more.with_rows(changes).of("a").get(key(1)) is None
    with pytest.raises(NotFoldStates, match="only what has changed"):
        states_from(changes)
    with pytest.raises(NotFoldStates, match="earlier version"):
        states_from(pa.table({"edge": ["a"], "rows": [b""]}))


class Counting:
    """A map that counts what is asked of it."""

    def __init__(self, entries: Map[bytes, bytes], asked: list[bytes]):
        self._entries, self._asked = entries, asked

    def get(self, one: bytes) -> bytes | None:
        self._asked.append(one)
        return self._entries.get(one)

    def mutate(self) -> Any:
        return self._entries.mutate()


LAYOUT = Layout(("g0",), (1,), (1,), (False,))
TOTALS = [(Column(STIME, "BIGINT"), Column("k", "BIGINT"), Column("n", "BIGINT"))]


def totals() -> LandmarkFold:
    return LandmarkFold("t", (TypedAggregate("n", "sum", (FieldRef(LONG, None, "x"),), LONG, None),))


def touching(keys: list[int], stime: int) -> pa.Table:
    columns = [keys, [0] * len(keys), [stime] * len(keys), list(range(len(keys))), [1] * len(keys)]
    return pa.table([pa.array(values, pa.int64()) for values in columns], LAYOUT.names)


def test_only_touched_keys_are_looked_up_however_many_there_are() -> None:
    state = state_of((key(n), entry(None, [(1, n, set())]) or b"") for n in range(100_000)).indexed(WIDTH)
    asked: list[bytes] = []
    watched = KeyedState(Counting(state.entries, asked), state.digest, WIDTH, state.slots, state.trail)  # type: ignore[arg-type]
    keys = [*range(500), 500_000, 7, 8]
    found = run_fold(totals(), LAYOUT, TOTALS, touching(keys, 3), watched, 0, 10)
    assert len(asked) == 501 and {*asked} == {key(n) for n in keys}
    assert len(found.state) == 100_001
    changes = found.state.changes_since(state)
    assert changes is not None and changes.keys() == {*asked}
    sums = {row["k"]: row["n"] for row in found.outputs[0].to_pylist()}
    assert (sums[499], sums[500_000], sums[7]) == (500, 1, 9)


# In this process and in Spark's workers

SESSIONS = Layout(("g0",), (1, 1), (1, 1), (True, False))
GIVEN = [
    (Column(STIME, "BIGINT"), Column("__k0", "BIGINT"), Column("k", "DOUBLE"), Column("text", "STRING")),
    (Column(STIME, "BIGINT"), Column("k", "DOUBLE"), Column("n", "BIGINT")),
]
EDGE = StateEdge(
    "s@state",
    (Column(STIME, "BIGINT"), Column("g0", "DOUBLE"), Column("__due", "BIGINT"), Column("__state", "BINARY")),
    keys=("g0",),
)


def session_rows(draw: random.Random) -> list[tuple[float | None, Arrived]]:
    keys = [None, float("nan"), 0.0, 1.5, *map(float, range(10, 14))]
    found = []
    for number in range(draw.randrange(80)):
        stime, port = draw.randrange(100), draw.randrange(2)
        found.append((draw.choice(keys), Arrived(port, stime, (number,), (draw.randrange(3),))))
    return found


def table(rows: list[tuple[float | None, Arrived]]) -> pa.Table:
    columns: list[list[Any]] = [[] for _ in SESSIONS.names]
    for k, (port, stime, order, values) in rows:
        own = [*order, *values]
        for column, value in zip(
            columns, [k, port, stime, *([None] * 2 * port), *own, *([None] * 2 * (1 - port))], strict=True
        ):
            column.append(value)
    types = [pa.float64(), pa.int32(), *[pa.int64()] * (len(SESSIONS.names) - 2)]
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], SESSIONS.names)


def in_this_process(rows: Any, state: KeyedState, lo: int, hi: int) -> tuple[list[Any], KeyedState]:
    found = run_fold(Sessions(7), SESSIONS, GIVEN, table(rows), state, lo, hi)
    given = [repr((port, *row.values())) for port, out in enumerate(found.outputs) for row in out.to_pylist()]
    given += [repr(("left", *one)) for one, n in found.left_out.items() for _ in range(n)]
    return given, found.state


def in_a_worker(rows: Any, state: KeyedState, lo: int, hi: int) -> tuple[list[Any], KeyedState]:
    """As Spark would call it: one partition, sorted by key, the state of a key before its rows."""
    arrived = table(rows)
    head = {"__tag": 1, "__due": None, "__state": None}
    records = [{**head, **row} for row in arrived.to_pylist()]
    stored = edge_rows(EDGE, state, lo - 1).to_pylist()
    records += [{"__tag": 0, "__due": row["__due"], "__state": row["__state"], "g0": row["g0"]} for row in stored]
    records.sort(key=lambda row: (repr(row["g0"]), row["__tag"], *(row.get(n) or 0 for n in SESSIONS.order)))
    schema = pa.schema(
        [("__tag", pa.int32()), ("__due", pa.int64()), ("__state", pa.binary()), *arrived.schema],
    )
    batch = pa.RecordBatch.from_pylist(records, schema)
    scan = fold_scan(Sessions(7), SESSIONS, [*GIVEN, EDGE.columns, LEFT_OUT], hi)
    given: list[Any] = []
    changes: dict[bytes, bytes | None] = {}
    for found in scan(iter([batch.slice(0, 10), batch.slice(10)])):
        for row in found.to_pylist():
            kind = row["__kind"]
            if kind == 2:
                kept = pa.Table.from_pylist(
                    [row["__row2"]],
                    pa.schema(
                        [
                            (c, t)
                            for c, t in zip(
                                ("__stime", "g0", "__due", "__state"),
                                (pa.int64(), pa.float64(), pa.int64(), pa.binary()),
                                strict=True,
                            )
                        ]
                    ),
                )
                changes |= dict(edge_changes(EDGE, kept))
            else:
                given.append(repr(("left" if kind == 3 else kind, *row[f"__row{kind}"].values())))
    return given, state.updated(changes)


def ranges(draw: random.Random) -> Iterator[tuple[int, int]]:
    lo = 0
    while lo < 120:
        hi = min(120, lo + WIDTH * draw.randrange(1, 5))
        yield lo, hi
        lo = hi


@pytest.mark.parametrize("seed", range(25))
def test_it_makes_no_difference_where_a_fold_runs_nor_how_ranges_are_cut(seed: int) -> None:
    draw = random.Random(seed)
    rows = session_rows(draw)
    whole, at_end = in_this_process(rows, KeyedState(width=WIDTH), 0, 120)
    for run in ((in_this_process,), (in_a_worker,), (in_this_process, in_a_worker)):
        state, found = KeyedState(width=WIDTH), []
        for lo, hi in ranges(draw):
            given, state = draw.choice(run)([row for row in rows if lo <= row[1].stime < hi], state, lo, hi)
            found += given
        assert sorted(found) == sorted(whole)
        assert state.digest == at_end.digest
