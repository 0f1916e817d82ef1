"""What a bucket costs a fold must not depend on how many keys there are in all: 1,000 keys touched, of 1,000 and of 1,000,000.

Running totals, and a table that rows are looked up in and added to. Three things are timed, each with few and with many keys in turn, on rows that are the same but for the keys: the engine alone;
a job of a replica, with the state that it hands to the protocol; and a snapshot of the state, on disk.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import auroral as au
from auroral.dpc.events import Evaluate
from auroral.dpc.fragments import cut
from auroral.dpc.values import Content, Snapshot
from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine
from auroral.engine.session import start_session
from auroral.node.fleet.contents import content_of
from auroral.node.fleet.evaluation import Evaluation
from auroral.node.snapshots import Snapshots
from bench.feeding import BUCKET, engine, ms, settled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOUCHED = 1_000
FEW, MANY = TOUCHED, 1_000_000
MOST = 600
AT_MOST = 1.5
Make = Callable[[], au.DiagramBuilder]


def measure(keys: int = MANY, most: int = MOST) -> dict[str, Any]:
    """With so many keys in all, and at most so many buckets."""
    return _measured(_totals, keys, most)


def measure_tables(keys: int = MANY, most: int = MOST) -> dict[str, Any]:
    return _measured(_accounts, keys, most)


def _measured(diagram: Make, keys: int, most: int) -> dict[str, Any]:
    spark = start_session()
    lines, found = [], {}

    def note(what: str, said: str, few: float, many: float) -> None:
        found[what] = {"few_ms": ms(few), "many_ms": ms(many), "ratio": round(many / few, 2)}
        lines.append(
            f"{said}: {ms(few)} ms with {FEW:,} keys, {ms(many)} ms with {keys:,}, "
            f"ratio {many / few:.2f} (at most {AT_MOST})"
        )

    with _engines(spark, diagram, keys) as engines:
        note("engine", "a bucket, in the engine", *_medians(engines, most))
        note("snapshot", "what a bucket changed of the state, written", *map(_snapshot, engines))
    with _replicas(spark, diagram, keys) as replicas:
        note("replica", "a bucket, as a job of a replica", *_medians(replicas, most))
    return {"table": lines, "touched": TOUCHED, "few": FEW, "many": keys, **found}


def _medians(pair: Sequence[_Engine | _Replica], most: int) -> list[float]:
    """Of both in turn, on the same rows but for the keys."""
    times: list[list[float]] = [[] for _ in pair]
    number = 1
    while number <= most and not all(map(settled, times)):
        for one, given in zip(pair, times, strict=True):
            given.append(one.bucket(number))
        number += 1
    return [statistics.median(given[-100:]) for given in times]


def _totals() -> au.DiagramBuilder:
    net = au.diagram("folds", bucket="1s")
    net.input("a", "ts timestamp, k long, v double", stime="ts").running(
        "totals", {"n": "count()", "s": "sum(v)", "m": "max(v)"}, by=["k"]
    ).output()
    return net


def _accounts() -> au.DiagramBuilder:
    """A row opens the account of its key, or is added to it."""
    net = au.diagram("tables", bucket="1s")
    accounts = net.table("accounts", "k long, n long, s double", key=["k"])
    paid = net.input("a", "ts timestamp, k long, v double", stime="ts")
    known, new = paid.exists("known", accounts, where="accounts.k = input.k", otherwise=True)
    new.insert("open", accounts, {"k": "input.k", "n": "1", "s": "input.v"})
    balance = {"k": "new.k", "s": "new.s"}
    known.update(
        "totals", accounts, {"n": "n + 1", "s": "s + input.v"}, where="accounts.k = input.k", columns=balance
    ).output()
    return net


def _rows(number: int, keys: np.ndarray[Any, Any]) -> pa.Table:
    """At equal distances over a bucket."""
    stimes = number * BUCKET + np.arange(len(keys), dtype=np.int64) * BUCKET // len(keys)
    values = np.random.default_rng(number).random(len(keys))
    return pa.table(
        {
            "__stime": pa.array(stimes),
            "__seq": pa.array(np.arange(len(keys), dtype=np.int64)),
            "ts": pa.array(stimes).cast(pa.timestamp("us", tz="UTC")),
            "k": pa.array(keys),
            "v": pa.array(values),
        }
    )


class _Engine:
    """All keys come in the first bucket, a thousand of them in each bucket that follows."""

    def __init__(self, running: Engine, keys: int):
        self.running, self.keys = running, keys
        self._run(0, np.arange(keys, dtype=np.int64))
        assert keys in {len(running.states.of(edge)) for edge in running.states.edges}

    def bucket(self, number: int) -> float:
        return self._run(number, _touched(number, self.keys))

    def _run(self, number: int, keys: np.ndarray[Any, Any]) -> float:
        lo, table = number * BUCKET, _rows(number, keys)
        self.running.offer("a", Segment(lo, lo + BUCKET, STABLE, table.num_rows, table))
        begun = time.perf_counter()
        self.running.evaluate(lo, lo + BUCKET)
        return time.perf_counter() - begun


def _touched(number: int, keys: int) -> np.ndarray[Any, Any]:
    """A thousand different ones, all over the keys."""
    return (np.arange(TOUCHED, dtype=np.int64) * (keys // TOUCHED) + number) % keys


@contextmanager
def _engines(spark: SparkSession, diagram: Make, keys: int) -> Iterator[tuple[_Engine, _Engine]]:
    with engine(spark, diagram()) as few, engine(spark, diagram()) as many:
        yield _Engine(few, FEW), _Engine(many, keys)


def _snapshot(one: _Engine) -> float:
    """The median of twelve; what is written before them is all of the state."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        snapshots = Snapshots(Path(folder))
        snapshots.save(0, one.running.states)
        for number in range(2 * MOST, 2 * MOST + 12):
            one.bucket(number)
            begun = time.perf_counter()
            snapshots.save(number, one.running.states)
            times.append(time.perf_counter() - begun)
    return statistics.median(times)


class _Replica:
    """The same as jobs of a replica, which go on from the state that the job before gave."""

    def __init__(self, evaluation: Evaluation, keys: int):
        self.evaluation, self.keys, self.state = evaluation, keys, Snapshot(0, None)
        self._run(0, np.arange(keys, dtype=np.int64))

    def bucket(self, number: int) -> float:
        return self._run(number, _touched(number, self.keys))

    def _run(self, number: int, keys: np.ndarray[Any, Any]) -> float:
        rows = _rows(number, keys).drop_columns(["__seq"])
        view: dict[str, dict[int, Content]] = {"a": {number: content_of(rows)}}
        asked = Evaluate(number, ("totals",), number, number + 1, view, False, 0, {"totals": self.state})
        begun = time.perf_counter()
        found = self.evaluation.run(asked)
        took = time.perf_counter() - begun
        self.state = Snapshot(number + 1, found.states["totals"])
        return took


@contextmanager
def _replicas(spark: SparkSession, diagram: Make, keys: int) -> Iterator[tuple[_Replica, _Replica]]:
    (fragment,) = cut(diagram().check()).all
    with tempfile.TemporaryDirectory() as folder:
        few, many = (Evaluation(spark, lambda _: fragment, 0, Path(folder) / name) for name in ("few", "many"))
        yield _Replica(few, FEW), _Replica(many, keys)
