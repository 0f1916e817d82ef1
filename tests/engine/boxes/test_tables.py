"""Regions of tables on Spark: what the reference gives, in small and large jobs, however ranges are cut, and in one batch."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import auroral
from auroral.engine.batch import Piece, SourceRows, fold_states, run_batch
from auroral.engine.evaluate import Engine, Limits
from auroral.engine.failures import UserCodeFailed
from auroral.model.checking import check
from auroral.model.expression.functions import Function, Functions
from auroral.model.types import INT
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference, read_files, shown, source_table
from engine.region_diagrams import bank, bank_rows, turnstile, turnstile_rows
from engine.running import rows, run_all

pytestmark = pytest.mark.spark

EVERY_TYPE = {
    "k": "byte",
    "h": "short",
    "i": "int",
    "l": "long",
    "f": "single",
    "d": "double",
    "s": "string",
    "t": "timestamp",
    "b": "bool",
    "n": "decimal(10,2)",
    "o": "date",
    "z": "binary",
}


@pytest.mark.parametrize("seed", range(2))
def test_a_bank(spark: Any, tmp_path: Any, seed: int) -> None:
    random = Random(seed)
    sources, checked = bank_rows(random, most=40), bank().check()
    expected = by_reference(checked, sources, 100)
    cuts = [0, *(10 * n for n in range(1, 10) if random.random() < 0.4), 100]
    assert_same(expected, by_buckets(spark, checked, sources, cuts, tmp_path / "small"))
    assert_same(expected, by_buckets(spark, checked, sources, cuts, tmp_path / "large", limits=Limits(0, 0)))
    assert_same(expected, by_batch(spark, checked, sources, 100, tmp_path / "batch"))


def test_locks(spark: Any, tmp_path: Any) -> None:
    random = Random(7)
    outcome = run_all(spark, tmp_path, turnstile().check(), turnstile_rows(random, most=60), 100, first=0)
    assert all(outcome.outputs.values())


def test_all_types_as_keys_and_values(spark: Any, tmp_path: Any) -> None:
    d = auroral.diagram("types", bucket="10us")
    schema = ", ".join(f"{name} {kind}" for name, kind in EVERY_TYPE.items())
    every = d.table("every", schema, key=list(EVERY_TYPE), indexes=["s"])
    put, ask = d.input("put", schema), d.input("ask", schema)
    put.insert("in", every)
    where = " and ".join(f"every.{name} = input.{name}" for name in EVERY_TYPE)
    found = ask.select("found", every, where=where, otherwise=True, sizes=True)
    by_index = ask.select("by_index", every, where="s = input.s")
    assert isinstance(found, tuple) and not isinstance(by_index, tuple)
    for stream in (*found, by_index):
        stream.output()
    one = (1, 2, 3, 4, 0.5, -0.0, "x", 10**15, True, Decimal("1.50"), 20_000, b"\x00\xff")
    other = (-1, -2, -3, -4, float("nan"), float("inf"), "", -1, False, Decimal("-7.00"), -5, b"")
    sources = {
        "put": rows((1, *one), (2, *other), (3, *[None] * len(one))),
        "ask": rows((1, *other), (2, *one), (12, *one), (13, *other), (14, *[None] * len(one))),
    }
    outcome = run_all(spark, tmp_path, d.check(), sources, 20, first=0)
    assert [row[0] for row in outcome.outputs["found"]] == [2, 12, 13]
    assert [row[0] for row in outcome.outputs["found.else"]] == [1, 14]


def test_contents_in_python(spark: Any, tmp_path: Any) -> None:
    d = auroral.diagram("contents", bucket="10us")
    first = {"k": 1, "t": datetime(2026, 1, 1, tzinfo=UTC), "o": date(2026, 1, 2), "n": Decimal("2.5")}
    table = d.table("days", "k int, t timestamp, o date, n decimal(4,2)", key=["k"], contents=[first])
    found = d.input("a", "k int").select("look", table, where="days.k = input.k")
    assert not isinstance(found, tuple)
    found.output()
    outcome = run_all(spark, tmp_path, d.check(), {"a": rows((1, 1), (2, 2))}, 20, first=0)
    assert outcome.outputs["look"] == [(1, 1, 1767225600 * 10**6, 20455, Decimal("2.50"))]


def test_windows_before_and_behind_a_table(spark: Any, tmp_path: Any) -> None:
    """A region reads windows, and windows read it; and one region reads another."""
    d = auroral.diagram("around", bucket="10us")
    sums, best = d.table("sums", "k int, v double", key=["k"]), d.table("best", "v double, n long", key=["v"])
    a = d.input("a", "k int, v double")
    total = a.aggregate("total", {"v": "sum(v)"}, window="20us", advance="10us", by=["k"])
    kept = total.insert("keep", sums, {"k": "input.k", "v": "input.v"}, pass_input=True)
    assert kept is not None
    counted = kept.insert("count", best, {"v": "input.v", "n": "input.stime"}, pass_input=True)
    assert counted is not None
    counted.aggregate("largest", {"v": "max(v)", "last": "lastval(k)"}, window="20us").output()
    found = a.select("found", sums, {"k": "sums.k", "v": "sums.v"}, where="sums.k = input.k and sums.v > input.v")
    assert not isinstance(found, tuple)
    found.output()
    random = Random(3)
    given = sorted((random.randrange(100), random.randrange(3), float(random.randrange(9))) for _ in range(40))
    run_all(spark, tmp_path, d.check(), {"a": rows(*given)}, 120, first=0)


def test_functions_of_the_user_and_their_errors(spark: Any, tmp_path: Any) -> None:
    def twice(x: int) -> int:
        if x == 3:
            raise ValueError("no threes")
        return 2 * x

    d = auroral.diagram("user", bucket="10us")
    table = d.table("t", "k int, v int", key=["k"])
    a = d.input("a", "k int")
    a.insert("put", table, {"k": "input.k", "v": "doubled(input.k)"}, pass_input=True).output()  # type: ignore[union-attr]
    found = a.select("look", table, where="doubled(t.k) = t.v and k = input.k")
    assert not isinstance(found, tuple)
    found.output()
    checked = check(d.build(), Functions().plus(Function("doubled", (INT,), INT, twice)))
    run_all(spark, tmp_path, checked, {"a": rows((1, 1), (12, 2))}, 20, first=0)
    with pytest.raises(UserCodeFailed, match=r"box 'put': .*\(3,\).*no threes"):
        by_buckets(spark, checked, {"a": rows((1, 3))}, [0, 10], tmp_path / "failing")


def test_a_piece_of_a_run_takes_the_table_up(spark: Any, tmp_path: Any) -> None:
    """What is compared piece by piece, and what goes on from a snapshot, begins with the table as it was there."""
    checked, sources = bank().check(), bank_rows(Random(11), most=40)
    edges = {e.name.removesuffix("@source"): e for e in Engine(spark, checked, tmp_path / "unused").small.sources}
    given = {name: SourceRows([source_table(edges[name], rows)]) for name, rows in sources.items()}
    states = fold_states(spark, checked, given, Piece(0, 0, 0), 50, tmp_path / "states")
    result = run_batch(spark, checked, given, 100, False, tmp_path / "rest", piece=Piece(50, 50, 50, states))
    expected = by_reference(checked, sources, 100)
    for stream, files in result.outputs.items():
        late = [row for row in shown(read_files(files)) if row[0] >= 50]
        assert repr(late) == repr([row for row in expected.outputs[stream] if row[0] >= 50]), stream
