"""Regions in plain Python against the reference: whatever way rows are found, and however ranges are cut."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import auroral
from auroral.engine.fold import Arrived, Result
from auroral.engine.regionrun import RegionFold
from auroral.engine.statecodec import decoded, encoded
from auroral.engine.tablestore import BEGUN, ROWS, Store, StoredTable
from auroral.model.builder import DiagramBuilder
from auroral.model.checking import Checked
from auroral.model.regions import TypedRegion
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row, canonical_key, processing_key, values_key
from engine.region_diagrams import bank, bank_rows, turnstile, turnstile_rows

DIAGRAMS: dict[str, tuple[Callable[[], DiagramBuilder], Callable[[Random], dict[str, list[Row]]]]] = {
    "bank": (bank, bank_rows),
    "turnstile": (turnstile, turnstile_rows),
}


def region_of(checked: Checked) -> TypedRegion:
    (box,) = checked.boxes
    assert isinstance(box.typed, TypedRegion)
    return box.typed


def arrived(region: TypedRegion, sources: dict[str, list[Row]]) -> list[Arrived]:
    rows = [
        Arrived(port, row.stime, row.order, row.values)
        for port, (stream, _) in enumerate(region.entries)
        for row in sources[stream]
    ]
    return sorted(rows, key=lambda row: (row.stime, row.port, row.order))


def in_ranges(
    region: TypedRegion, rows: list[Arrived], ends: list[int], state: dict[bytes, bytes] | None = None
) -> tuple[list[Result], dict[bytes, bytes]]:
    fold = RegionFold(region)
    known, found, lo = dict(state or {}), list[Result](), 0

    def stored(key: bytes) -> Any:
        return decoded(known[key]) if key in known else None

    for hi in ends:
        store = Store(fold.contents, stored, lambda: ((key, decoded(one)) for key, one in known.items()))
        found += fold.run(store, [row for row in rows if lo <= row.stime < hi])
        for key, value in store.changes.items():
            known.pop(key, None)
            if value is not None:
                known[key] = encoded(value)
        lo = hi
    return found, known


def as_rows(region: TypedRegion, results: list[Result]) -> dict[str, list[Row]]:
    streams: dict[str, list[Row]] = {stream: [] for stream in region.streams}
    for result in results:
        streams[region.streams[result.port]].append(Row(result.stime, result.values, result.order))
    return {stream: sorted(rows, key=processing_key) for stream, rows in streams.items()}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("name", DIAGRAMS)
def test_it_gives_what_the_reference_gives(name: str, seed: int) -> None:
    make, draw = DIAGRAMS[name]
    checked, random = make().check(), Random(seed)
    region, sources = region_of(checked), draw(random)
    expected = evaluate(checked, sources, 100)
    rows = arrived(region, sources)
    cuts = [*sorted(random.sample(range(1, 100), random.randrange(8))), 100]
    results, state = in_ranges(region, rows, cuts)
    found = as_rows(region, results)
    for stream in region.streams:
        assert repr(sorted(found[stream], key=processing_key)) == repr(
            sorted(expected.streams[stream], key=processing_key)
        ), stream
    # D11: the table is the same, however it came about.
    assert in_ranges(region, rows, [100])[1] == state


def table(region: TypedRegion, state: dict[bytes, bytes]) -> list[tuple[Any, ...]]:
    fold = RegionFold(region)
    store = Store(
        fold.contents,
        lambda key: decoded(state[key]) if key in state else None,
        lambda: ((key, decoded(one)) for key, one in state.items()),
    )
    return sorted((row for _, row in store.items(ROWS, "accounts")), key=values_key)


@pytest.mark.parametrize("seed", range(10))
def test_who_follows_the_changes_has_the_table(seed: int) -> None:
    random = Random(seed)
    region, sources = region_of(bank().check()), bank_rows(random)
    rows = arrived(region, sources)
    results, state = in_ranges(region, rows, [40, 100])
    found = as_rows(region, results)["changes"]
    followed: dict[Any, tuple[Any, ...]] = {}
    # As an output has them: by stime, then by their columns.
    for row in sorted(found, key=canonical_key):
        _, change, *values = row.values
        if change == "put":
            followed[values[0]] = tuple(values)
        else:
            del followed[values[0]]
    if rows:
        assert repr(sorted(followed.values(), key=values_key)) == repr(table(region, state))


def test_what_is_as_in_the_beginning_is_not_stored() -> None:
    region = region_of(bank().check())
    moved = [Row(1, (1, 2.0, "y"), (0,)), Row(2, (1, -4.0, "y"), (1,))]
    rows = arrived(region, {"opened": [], "moved": moved, "closed": []})
    between, after = in_ranges(region, rows, [2])[1], in_ranges(region, rows, [100])[1]
    assert table(region, between)[1] == (1, "b", 3.0) and len(between) == 2
    # What is left says that the contents were given out.
    assert table(region, after)[1] == (1, "b", 1.0) and list(after) == [BEGUN]


def test_rows_that_were_there_in_the_beginning_can_be_taken_out_and_come_back() -> None:
    region = region_of(bank().check())
    sources = {"opened": [Row(5, (3, "b", 3.0), (0,))], "moved": [], "closed": [Row(1, ("b", 4.0), (0,))]}
    rows = arrived(region, sources)
    assert [row[0] for row in table(region, in_ranges(region, rows, [5])[1])] == [0, 2]
    state = in_ranges(region, rows, [100])[1]
    assert [row[0] for row in table(region, state)] == [0, 2, 3]


def test_rows_are_looked_up_and_not_gone_through() -> None:
    """By key and by index a row of a large table costs what it costs in a small one."""
    region = region_of(bank().check())
    fold = RegionFold(region)
    stored = StoredTable(region.tables[0])
    large = Store({}, lambda key: None, lambda: ())
    for n in range(1000):
        stored.put(large, (n, f"owner {n // 2}", 0.0))
    known = {key: found for key, found in large.changes.items() if found is not None}
    asked: list[bytes] = []

    def look(key: bytes) -> Any:
        asked.append(key)
        return known.get(key)

    def all_stored() -> Any:
        raise AssertionError("all rows were gone through")

    store = Store({}, look, all_stored)
    port = [stream for stream, _ in region.entries].index("moved")
    results = list(fold.run(store, [Arrived(port, 1, (0,), (7, 1.0, "owner 9"))]))
    given = {region.streams[result.port]: result.values for result in results}
    assert given["add"] == (7, 0.0, 1.0, "owner 3", 1)
    assert given["of_owner.sizes"] == ("owner 9", 2)
    assert len(asked) < 12


def test_a_table_is_read_once_in_a_range_however_many_rows_look_at_all_of_it() -> None:
    region = region_of(bank().check())
    fold, stored, reads = RegionFold(region), StoredTable(region.tables[0]), 0
    first = Store({}, lambda key: None, lambda: ())
    for n in range(4):
        stored.put(first, (n, "a", float(n)))
    known = dict(first.changes)

    def all_stored() -> Any:
        nonlocal reads
        reads += 1
        return known.items()

    port = [stream for stream, _ in region.entries].index("closed")
    store = Store({}, known.get, all_stored)
    asked = [Arrived(port, n, (n,), ("a", float(n))) for n in range(1, 4)]
    results = list(fold.run(store, asked))
    # Those below 1, then 2, then 3 are taken out: what was read once is not what is there.
    closed = [result.values[0] for result in results if region.streams[result.port] == "close"]
    assert closed == [0, 1, 2] and reads == 1


def test_an_index_of_which_many_rows_have_one_value_is_copied_once_in_a_range() -> None:
    """And not for each row that is put in: that took as long as there were rows, each time."""
    region = region_of(bank().check())
    stored = StoredTable(region.tables[0])
    known: dict[bytes, Any] = {}
    before = Store({}, known.get, lambda: known.items())
    for n in range(3):
        stored.put(before, (n, "all", 0.0))
    known.update(before.changes)
    store = Store({}, known.get, lambda: known.items())
    (index,) = (key for key, found in known.items() if isinstance(found[0], list))
    lists = []
    for n in (3, 4, 3):
        stored.put(store, (n, "all", float(n)))
        lists.append(store.changes[index][0])
    stored.take_out(store, (0, "all", 0.0))
    lists.append(store.changes[index][0])
    assert all(one is lists[0] for one in lists) and len(lists[0]) == 4
    assert len(known[index][0]) == 3, "the state before is another"
    assert [row[0] for row in stored.in_order(stored.by_index(store, "owner", "all"))] == [1, 2, 3, 4]


def test_keys_of_decimals_are_found_by_their_value() -> None:
    """Whatever digits behind the point they are written with."""
    d = auroral.diagram("prices", bucket="10us")
    begun = [{"p": Decimal("1.50"), "n": 7}, {"p": Decimal("2.00"), "n": 7}]
    prices = d.table("prices", "p decimal(6,2), n int", key=["p"], indexes=["n"], contents=begun)
    a = d.input("a", "p decimal(4,1), whole int")
    a.insert("put", prices, {"p": "input.p", "n": "input.whole"})
    by_value = a.select("by_value", prices, where="prices.p = input.p")
    by_number = a.select("by_number", prices, where="prices.p = input.whole")
    for stream in (by_value, by_number):
        stream.output()
    checked = d.check()
    region = region_of(checked)
    given = [
        (Decimal("1.5"), 2),
        (Decimal("2.0"), 2),
        (Decimal("1.5"), 3),
        (Decimal("-0.0"), 0),
        (Decimal("100.0"), 100),
    ]
    sources = {"a": [Row(n, values, (n,)) for n, values in enumerate(given)]}
    expected = evaluate(checked, sources, 100).streams
    results, state = in_ranges(region, arrived(region, sources), [3, 100])
    found = as_rows(region, results)
    for stream in ("by_value", "by_number"):
        assert found[stream] == sorted(expected[stream], key=processing_key) and found[stream]
    assert len([key for key in state if b"row" in key]) == 4
