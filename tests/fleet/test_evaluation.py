"""Jobs of replicas on Spark: the same results however they are cut, whatever was evaluated before, and as one batch run gives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auroral
from auroral.dpc.events import Evaluate
from auroral.dpc.fragments import CannotBeCut, Fragments, cut
from auroral.dpc.values import LOST, Content, Snapshot
from auroral.engine.arrowrows import canonical
from auroral.engine.batch import SourceRows, run_batch
from auroral.engine.sqltext import SEQ, STIME
from auroral.model.builder import DiagramBuilder
from auroral.model.xml import read_deployment
from auroral.node.fleet.contents import by_bucket, content_of
from auroral.node.fleet.evaluation import Evaluation, ordered_streams
from auroral.node.leftout import LeftOutLog, counted_in

pytestmark = pytest.mark.spark
BUCKET = 500_000
FIRST = 7_000
"""The number of the first bucket since 1970."""
BUCKETS = 24
DEPLOYED = (
    '<deploy><replica_set name="front" query="unite"><node endpoint=":1"/></replica_set>'
    '<replica_set name="back" query="match"><node endpoint=":2"/></replica_set></deploy>'
)
View = dict[str, dict[int, Content]]


def diagram() -> DiagramBuilder:
    """Two inputs with equal stimes, united: what reads it looks at the order of rows, their past, and all of the past."""
    d = auroral.diagram("cut", bucket="500ms")
    east, west = (d.input(name, "ts long, k string, n int", stime="ts", unit="us") for name in ("east", "west"))
    with d.query("unite"):
        both = east.union("both", west)
        high = east.filter("high", "n > 4")
    with d.query("match"):
        newest = {"first": "firstval(n)", "last": "lastval(n)", "rows": "count()", "mean": "avg(n)"}
        most = both.drop("most", 0.2)
        most.aggregate("newest", newest, window="2s", advance="500ms", by=["k"]).output(availability="3s")
        both.running("totals", {"total": "sum(n)"}, by=["k"]).output(availability="3s")
        threes = {"low": "firstval(n)", "sum": "sum(n)"}
        both.aggregate_rows("threes", threes, rows=3, by=["k"], on="ts", slack=1, timeout="700ms").output(
            availability="3s"
        )
        met = {"n": "left.n", "m": "right.n"}
        high.join("met", both, on="left.k = right.k", rows=2, columns=met).output(availability="3s")
        high.join("pairs", both, on="left.k = right.k", within="1s", columns={"n": "left.n", "m": "right.n"}).output()
    return d


def rows(seed: int) -> dict[str, pa.Table]:
    """As they are logged, with few different stimes."""
    draw = random.Random(seed)
    found = {}
    for name in ("east", "west"):
        stimes = sorted((FIRST + draw.randrange(BUCKETS)) * BUCKET + draw.randrange(3) * 100_000 for _ in range(150))
        found[name] = pa.table(
            {
                STIME: pa.array(stimes, pa.int64()),
                SEQ: pa.array(range(150), pa.int64()),
                "ts": pa.array(stimes, pa.int64()),
                "k": pa.array([draw.choice("ab") for _ in stimes]),
                "n": pa.array([draw.randrange(10) for _ in stimes], pa.int32()),
            }
        )
    return found


def contents(table: pa.Table) -> dict[int, Content]:
    return dict(enumerate(map(content_of, by_bucket(table.drop_columns([SEQ]), FIRST, FIRST + BUCKETS, BUCKET))))


def cut_in_two() -> Fragments:
    return cut(diagram().check(), read_deployment(DEPLOYED))


def evaluation(
    spark: Any, fragments: Fragments, name: str, folder: Path, ledger: LeftOutLog | None = None
) -> Evaluation:
    fragment = next(one for one in fragments.all if one.name == name)
    ordered = ordered_streams(fragments).intersection(fragment.streams)
    return Evaluation(spark, lambda _: fragment, FIRST, folder, ordered, ledger)


def all_of(evaluation: Evaluation, view: View, draw: random.Random, tentative: bool = False) -> View:
    """Every bucket of every output, in jobs of random lengths."""
    made: View = {stream: {} for stream in evaluation.specs()}
    states = {stream: Snapshot(0, None) for stream, spec in evaluation.specs().items() if spec.folds}
    begin = job = 0
    while begin < BUCKETS:
        end, job = min(BUCKETS, begin + draw.randrange(1, 6)), job + 1
        seen = {stream: {b: c for b, c in given.items() if b < end} for stream, given in view.items()}
        found = evaluation.run(Evaluate(job, tuple(evaluation.specs()), begin, end, seen, tentative, 0, states))
        for stream, given in found.contents.items():
            made[stream] |= dict(enumerate(given, begin))
        states = {stream: Snapshot(end, state) for stream, state in found.states.items()}
        begin = end
    return made


def together(made: Mapping[int, Content], schema: pa.Schema | None = None) -> pa.Table:
    tables = [made[bucket].rows for bucket in sorted(made) if made[bucket].rows is not None]
    return canonical(pa.concat_tables(tables))


@pytest.mark.parametrize("seed", [1, 2])
def test_two_fragments_in_any_jobs_give_what_one_batch_run_of_the_whole_gives(
    spark: Any, tmp_path: Path, seed: int
) -> None:
    given, fragments = rows(seed), cut_in_two()
    draw = random.Random(seed)
    view: View = {stream: contents(table) for stream, table in given.items()}
    view |= all_of(evaluation(spark, fragments, "front", tmp_path / "front"), view, draw)
    ledger = LeftOutLog(tmp_path / "ledger" / "back.db")
    found = all_of(evaluation(spark, fragments, "back", tmp_path / "back", ledger), view, draw)
    # Another life makes some buckets again, for which it reads earlier ones: each is counted once.
    again = evaluation(spark, fragments, "back", tmp_path / "again", ledger)
    again.run(Evaluate(1, ("newest",), 9, 14, view, tentative=False))
    until = (FIRST + BUCKETS) * BUCKET
    sources = {stream: SourceRows([table]) for stream, table in given.items()}
    batch = run_batch(spark, diagram().check(), sources, until, False, tmp_path / "batch")
    for stream in ("newest", "totals", "threes", "met", "pairs"):
        whole = pa.concat_tables([pq.read_table(pa.BufferReader(file.read_bytes())) for file in batch.outputs[stream]])
        ours = together(found[stream])
        assert ours.num_rows > 20
        assert ours.equals(canonical(whole.select(ours.column_names).cast(ours.schema))), stream
    (counted,) = counted_in(tmp_path)
    left_out = {(box, reason, at // BUCKET): n for (box, reason, at), n in batch.left_out.items()}
    assert counted.counts == left_out and {box for box, *_ in left_out} == {"most"}
    assert counted.spans["most"] == counted.spans["threes"] == ((FIRST, FIRST + BUCKETS),)
    assert ledger.totals == batch.counts
    ledger.close()


def test_what_a_job_gives_does_not_depend_on_what_was_evaluated_before(spark: Any, tmp_path: Path) -> None:
    """Versions of a bucket that come and go, gaps, other sets of outputs, and going back."""
    given, fragments, draw = rows(3), cut_in_two(), random.Random(3)
    stable: View = {stream: contents(table) for stream, table in given.items()}
    stable |= all_of(evaluation(spark, fragments, "front", tmp_path / "front"), stable, draw)
    used = evaluation(spark, fragments, "back", tmp_path / "used")
    for number in range(12):
        begin = draw.randrange(BUCKETS - 2)
        end = draw.randrange(begin + 1, min(BUCKETS, begin + 4))
        view = {stream: dict(stable[stream]) for stream in ("both", "high")}
        for stream in view:
            for bucket in draw.sample(range(BUCKETS), 4):
                view[stream].pop(bucket)
            view[stream][draw.randrange(BUCKETS)] = LOST
            seen = {bucket: content for bucket, content in view[stream].items() if bucket < end}
            view[stream] = seen
        outputs = ("newest", "pairs") if draw.random() < 0.6 else ("pairs",)
        asked = Evaluate(number, outputs, begin, end, view, draw.random() < 0.5)
        anew = evaluation(spark, fragments, "back", tmp_path / f"anew{number}")
        assert used.run(asked) == anew.run(asked)


def test_an_engine_goes_on_where_it_was(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bucket by bucket, no bucket is evaluated twice."""
    given, fragments = rows(4), cut_in_two()
    view: View = {stream: contents(table) for stream, table in given.items()}
    view |= all_of(evaluation(spark, fragments, "front", tmp_path / "front"), view, random.Random(4))
    used = evaluation(spark, fragments, "back", tmp_path / "used")
    ranges: list[int] = []
    evaluate = Evaluation._evaluate

    def counted(self: Evaluation, line: Any, begin: int, end: int, seen: Any) -> Any:
        ranges.append(end - begin)
        return evaluate(self, line, begin, end, seen)

    monkeypatch.setattr(Evaluation, "_evaluate", counted)
    for bucket in range(8):
        used.run(Evaluate(bucket, ("newest", "pairs"), bucket, bucket + 1, view, tentative=False))
    assert ranges == [1] * 8
    # Another version of the bucket before, within the horizon: begun anew, five buckets earlier.
    changed = {**view, "both": {**view["both"], 7: content_of(view["both"][7].rows.slice(1))}}
    used.run(Evaluate(9, ("newest", "pairs"), 8, 9, changed, tentative=False))
    assert ranges[8:] == [5]


def test_a_job_that_fails_leaves_nothing_behind(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, fragments = rows(5), cut_in_two()
    view: View = {stream: contents(table) for stream, table in given.items()}
    used = evaluation(spark, fragments, "front", tmp_path / "used")
    asked = Evaluate(1, ("both", "high"), 0, 4, view, tentative=False)
    expected = used.run(asked)
    with monkeypatch.context() as broken:
        broken.setattr("auroral.engine.evaluate.run_program", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            used.run(Evaluate(2, ("both", "high"), 4, 6, view, tentative=False))
    again = used.run(Evaluate(3, ("both", "high"), 0, 4, view, tentative=False))
    assert again.contents == expected.contents


def test_a_cancelled_job_does_not_begin(spark: Any, tmp_path: Path) -> None:
    used = evaluation(spark, cut_in_two(), "front", tmp_path / "used")
    asked = Evaluate(1, ("both",), 0, 1, {"east": {}, "west": {}}, tentative=True)
    used.cancel(asked)
    with pytest.raises(Exception, match="job 1 was cancelled before it began"):
        used.run(asked)


def test_order_matters_also_to_those_that_are_read_through_others() -> None:
    d = auroral.diagram("three", bucket="500ms")
    east, west = (d.input(name, "ts long, k string, n int", stime="ts", unit="us") for name in ("east", "west"))
    with d.query("unite"):
        both = east.union("both", west)
    with d.query("sieve"):
        some = both.filter("some", "n > 1")
        many = both.filter("many", "n > 5")
    with d.query("count"):
        some.aggregate("last", {"n": "lastval(n)"}, window="2s", by=["k"]).output()
        many.aggregate("sums", {"n": "sum(n)"}, window="2s", by=["k"]).output()
    sets = "".join(
        f'<replica_set name="{query}s" query="{query}"><node endpoint=":{port}"/></replica_set>'
        for port, query in enumerate(("unite", "sieve", "count"), 1)
    )
    assert ordered_streams(cut(d.check(), read_deployment(f"<deploy>{sets}</deploy>"))) == {
        "east",
        "west",
        "both",
        "some",
    }


def test_a_content_is_the_same_whatever_way_its_rows_came() -> None:
    table = pa.table({STIME: pa.array([1, 2], pa.int64()), "n": pa.array([3, 4], pa.int32())})
    required = pa.schema(
        [pa.field(STIME, pa.int64(), False), pa.field("n", pa.int32(), False)], {"written by": "spark"}
    )
    assert content_of(table) == content_of(table.cast(required)) == content_of(pa.concat_tables([table[:1], table[1:]]))
    assert content_of(table) != content_of(table.cast(pa.schema([table.schema[0], pa.field("n", pa.int64())])))


def test_a_window_behind_a_fold_needs_nodes_of_its_own() -> None:
    d = auroral.diagram("behind", bucket="500ms")
    totals = d.input("east", "ts long, n int", stime="ts", unit="us").running("totals", {"total": "sum(n)"})
    totals.aggregate("means", {"mean": "avg(total)"}, window="2s").output()
    with pytest.raises(CannotBeCut, match="box 'means' reads the past of a stream that depends on all of the past"):
        cut(d.check())
