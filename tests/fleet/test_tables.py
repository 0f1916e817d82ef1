"""D11: replicas whose jobs are cut in different ways, with guesses in between, have the same table in the end, as one batch run has it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auroral
from auroral.dpc.events import Evaluate
from auroral.dpc.fragments import cut
from auroral.dpc.values import Content, Snapshot
from auroral.engine.arrowrows import canonical
from auroral.engine.batch import SourceRows, run_batch
from auroral.engine.sqltext import SEQ, STIME
from auroral.model.builder import DiagramBuilder
from auroral.model.xml import read_deployment
from auroral.node.fleet.contents import by_bucket, content_of
from auroral.node.fleet.evaluation import Evaluation

pytestmark = pytest.mark.spark
BUCKET, FIRST, BUCKETS = 500_000, 7_000, 16
DEPLOYED = (
    '<deploy><replica_set name="pair" query="bank"><node endpoint=":1"/><node endpoint=":2"/></replica_set>'
    '<replica_set name="other" query="sieve"><node endpoint=":3"/></replica_set></deploy>'
)
View = dict[str, dict[int, Content]]


def diagram() -> DiagramBuilder:
    d = auroral.diagram("bank", bucket="500ms")
    opened, moved = (d.input(name, "ts long, k string, n int", stime="ts", unit="us") for name in ("opened", "moved"))
    with d.query("bank"):
        contents = [{"k": "a", "n": 1, "sum": 0}]
        accounts = d.table("accounts", "k string, n int, sum long", key=["k"], indexes=["n"], contents=contents)
        opened.insert("open", accounts, {"k": "input.k", "n": "input.n", "sum": "0"})
        changed = moved.update(
            "move",
            accounts,
            {"sum": "sum + input.n", "n": "input.n"},
            where="k = input.k",
            columns={"k": "new.k", "sum": "new.sum"},
        )
        same = moved.select("same", accounts, where="n = input.n", otherwise=True)
        moved.delete("close", accounts, where="sum > 30 and n = input.n")
    assert changed is not None and isinstance(same, tuple)
    with d.query("sieve"):
        changed.filter("large", "sum > 5").output(availability="3s")
    same[0].output(availability="3s")
    same[1].output(availability="3s")
    return d


def rows(seed: int) -> dict[str, pa.Table]:
    draw, found = random.Random(seed), {}
    for name, count in (("opened", 30), ("moved", 120)):
        stimes = sorted((FIRST + draw.randrange(BUCKETS)) * BUCKET + draw.randrange(3) * 100_000 for _ in range(count))
        found[name] = pa.table(
            {
                STIME: pa.array(stimes, pa.int64()),
                SEQ: pa.array(range(count), pa.int64()),
                "ts": pa.array(stimes, pa.int64()),
                "k": pa.array([draw.choice("abcd") for _ in stimes]),
                "n": pa.array([draw.randrange(6) for _ in stimes], pa.int32()),
            }
        )
    return found


def in_jobs(used: Evaluation, view: View, draw: random.Random) -> tuple[View, dict[str, Any]]:
    """Every bucket, in jobs of random lengths; guesses without one of the inputs come in between and change nothing."""
    made: View = {stream: {} for stream in used.specs()}
    states: dict[str, Snapshot] = {stream: Snapshot(0, None) for stream in used.specs()}
    begin = job = 0
    while begin < BUCKETS:
        end = min(BUCKETS, begin + draw.randrange(1, 7))
        seen = {stream: {b: c for b, c in given.items() if b < end} for stream, given in view.items()}
        if draw.random() < 0.5:
            missing = {**seen, "opened": {b: c for b, c in seen["opened"].items() if b < begin}}
            used.run(Evaluate(job := job + 1, tuple(used.specs()), begin, end, missing, True, 0, states))
        found = used.run(Evaluate(job := job + 1, tuple(used.specs()), begin, end, seen, False, 0, states))
        for stream, given in found.contents.items():
            made[stream] |= dict(enumerate(given, begin))
        states = {stream: Snapshot(end, state) for stream, state in found.states.items()}
        begin = end
    return made, {stream: snapshot.state for stream, snapshot in states.items()}


def test_two_replicas_have_the_same_table(spark: Any, tmp_path: Path) -> None:
    given, fragments = rows(1), cut(diagram().check(), read_deployment(DEPLOYED))
    pair = next(one for one in fragments.all if one.name == "pair")
    view: View = {
        stream: dict(enumerate(map(content_of, by_bucket(table.drop_columns([SEQ]), FIRST, FIRST + BUCKETS, BUCKET))))
        for stream, table in given.items()
    }
    made, states = zip(
        *(
            in_jobs(
                Evaluation(spark, lambda _: pair, FIRST, tmp_path / str(seed), frozenset(pair.streams)),
                view,
                random.Random(seed),
            )
            for seed in (1, 2)
        ),
        strict=True,
    )
    assert made[0] == made[1]
    assert states[0] == states[1] and set(states[0]) == {"move", "same", "same.else"}
    sources = {stream: SourceRows([table]) for stream, table in given.items()}
    until = (FIRST + BUCKETS) * BUCKET
    batch = run_batch(spark, diagram().check(), sources, until, False, tmp_path / "batch")
    for stream in ("same", "same.else"):
        whole = canonical(pa.concat_tables([pq.read_table(file) for file in batch.outputs[stream]]))
        tables = [made[0][stream][bucket].rows for bucket in sorted(made[0][stream])]
        ours = canonical(pa.concat_tables([table for table in tables if table is not None]).select(whole.column_names))
        assert ours.num_rows > 3 and ours.equals(whole.cast(ours.schema)), stream
