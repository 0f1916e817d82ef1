"""Runs on a real Spark: files and pushed rows, resumed, killed, compared with the reference, and verified."""

import json
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auroral
from auroral.edge.client import Boundary, End, Insertion
from auroral.edge.ledger import Reason
from auroral.edge.records import DamagedSegment
from auroral.engine.evaluate import Limits
from auroral.node.evaluator import EngineEvaluator
from auroral.node.handle import App
from auroral.node.outputlog import DamagedOutput
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row
from node.killing import child, kill_when

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
S = 1_000_000

Flow = tuple[int, str, int]


def diagram() -> auroral.DiagramBuilder:
    """Traffic by host in sliding windows, and a running total, which is a fold."""
    d = auroral.diagram("traffic", bucket="1s")
    flows = d.input("flows", "ts long, host string, bytes long", stime="ts", unit="ms", late="reject")
    large = flows.filter("large", "bytes > 100")
    functions = {"total": "sum(bytes)", "n": "count()"}
    large.aggregate("by host", functions, window="3s", advance="1s", by=["host"]).output("windows")
    flows.running("so far", {"sum": "sum(bytes)"}, by=["host"]).output("totals")
    return d


def flows(seconds: int) -> list[Flow]:
    return [(i * 250, f"h{i % 3}", i * 137 % 1000) for i in range(seconds * 4)]


def as_rows(given: Sequence[Flow]) -> list[dict[str, Any]]:
    return [{"ts": ts, "host": host, "bytes": size} for ts, host, size in given]


def expected(given: Sequence[Flow], until: int, flush: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    rows = [Row(flow[0] * 1000, flow, (seq,)) for seq, flow in enumerate(given)]
    result = evaluate(diagram().check(), {"flows": rows}, until, flush)
    return {o: [(r.stime, *r.values) for r in result.streams[o]] for o in ("windows", "totals")}


def found(app: App) -> dict[str, list[tuple[Any, ...]]]:
    return {o: tuples(app.table(o)) for o in ("windows", "totals")}


def tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def write(folder: Path, kind: str, given: Sequence[Flow]) -> Path:
    path = folder / f"flows.{kind}"
    table = pa.Table.from_pylist(as_rows(given))
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in as_rows(given)))
    else:
        path.write_text("ts,host,bytes\n" + "".join(f"{a},{b},{c}\n" for a, b, c in given))
    return path


def test_a_large_range_is_read_from_the_logs_own_files(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many rows as the large path is for, by the runner's own choice: Parquet files of the log, and rows beside them."""
    count, seconds = 3 * Limits().middle, 12
    linked: list[Path] = []
    link = EngineEvaluator._linked

    def noted(engine: EngineEvaluator, path: Path) -> Path:
        linked.append(path)
        return link(engine, path)

    monkeypatch.setattr(EngineEvaluator, "_linked", noted)
    logged = threading.Event()
    made = EngineEvaluator.__init__

    def after_all_rows(engine: EngineEvaluator, *given: Any) -> None:
        assert logged.wait(60)
        made(engine, *given)

    # Otherwise the first of the rows may be evaluated before the last have come.
    monkeypatch.setattr(EngineEvaluator, "__init__", after_all_rows)
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "ts long, k long, v long", stime="ts", unit="us")
    s.aggregate("by key", {"n": "count()", "sum": "sum(v)"}, window="4s", advance="2s", by=["k"]).output("windows")
    at = np.arange(count, dtype=np.int64)
    large = pa.table({"ts": at * (seconds * S // count), "k": at % 7, "v": at})
    few = pa.table({"ts": [seconds * S + i for i in range(30)], "k": [8] * 30, "v": list(range(30))})

    def in_two_tables() -> Iterator[pa.Table]:
        yield large
        yield few
        logged.set()

    # Spark was started in another folder than the one that this name is of.
    monkeypatch.chdir(tmp_path)
    app = auroral.run(d, folder="run", session=spark, inputs={"s": in_two_tables()}, flush=True)
    app.await_termination(300)
    assert linked and {path.parent.absolute() for path in linked} == {tmp_path / "run/sources/s"}
    assert app.progress[0].rows_in > Limits().middle
    rows = app.table("windows").to_pylist()
    assert sum(row["n"] for row in rows) == 2 * (count + 30) and max(row["k"] for row in rows) == 8
    inputs = {"s": pa.concat_tables([large, few])}
    assert app.table("windows") == auroral.batch(d, inputs, session=spark, flush=True).tables["windows"]
    report = auroral.verify(tmp_path / "run", spark)
    assert report.ok, report.text


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_file_gives_what_the_reference_gives(spark: "SparkSession", tmp_path: Path, kind: str) -> None:
    given = flows(10)
    file = write(tmp_path, kind, given)
    out = tmp_path / f"windows.{kind}"
    with auroral.run(
        diagram(), inputs={"flows": file}, outputs={"windows": out}, folder=tmp_path / "run", session=spark
    ) as app:
        assert app.await_termination(300)
        wanted = expected(given, 10 * S)
        assert found(app) == wanted
        assert app.frontier == 10 * S
    if kind == "parquet":
        parts = sorted(out.glob("part-*"))
        assert sum(pq.read_metadata(part).num_rows for part in parts) == len(wanted["windows"])
    else:
        assert len(out.read_text().splitlines()) == len(wanted["windows"]) + (kind == "csv")


def test_a_batch_run_gives_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    given = flows(6)
    given[9] = (100, "late", 5000)
    file = write(tmp_path, "csv", given)
    out = tmp_path / "windows.jsonl"
    result = auroral.batch(diagram(), {"flows": file}, {"windows": out}, session=spark, flush=True)
    wanted = expected([flow for flow in given if flow[1] != "late"], 6 * S, flush=True)
    assert {o: tuples(table) for o, table in result.tables.items()} == wanted
    assert len(out.read_text().splitlines()) == len(wanted["windows"])
    assert result.ledger.count("flows", Reason.LATE) == 1


def test_pushed_rows_late_rows_and_flush(spark: "SparkSession", tmp_path: Path) -> None:
    given = flows(6)
    with auroral.run(diagram(), folder=tmp_path / "run", session=spark, flush=True) as app:
        app.push("flows", as_rows(given[:14]))
        events = app.subscribe("windows")
        first = next(events)
        assert isinstance(first, Insertion)
        assert app.push("flows", [{"ts": 10, "host": "late", "bytes": 1}]) == 0
        app.push("flows", pa.Table.from_pylist(as_rows(given[14:])))
        app.close()
        rest = list(events)
        wanted = expected(given, 6 * S, flush=True)
        rows = [e for e in (first, *rest) if isinstance(e, Insertion)]
        assert [(e.stime, *e.row.values()) for e in rows] == wanted["windows"]
        assert rest[-2:] == [Boundary(10 * S), End(complete=True)]
        assert found(app) == wanted
        assert app.ledger.count("flows", Reason.LATE) == 1
    report = auroral.verify(tmp_path / "run", spark)
    assert report.ok, report.text
    assert "1 late" in report.text


def test_stopped_resumed_and_verified(spark: "SparkSession", tmp_path: Path) -> None:
    given, folder = flows(24), tmp_path / "run"
    for begin, end in ((0, 40), (40, 70)):
        with auroral.run(diagram(), folder=folder, session=spark) as app:
            app.push("flows", as_rows(given[begin:end]))
    assert (folder / "state").is_dir() and list((folder / "state").glob("*.state"))
    partly = auroral.verify(folder, spark)
    assert partly.ok, partly.text
    assert "has not finished" in partly.text
    with auroral.run(diagram(), folder=folder, session=spark) as app:
        app.push("flows", as_rows(given[70:]))
        app.close()
        app.await_termination(300)
        assert found(app) == expected(given, 24 * S)
    _tampering(spark, folder, tmp_path)


def _tampering(spark: "SparkSession", folder: Path, scratch: Path) -> None:
    """Whatever is changed in a run folder is found."""

    def copy(name: str) -> Path:
        return shutil.copytree(folder, scratch / name)

    whole = auroral.verify(folder, spark)
    assert whole.ok and whole.to_json()["ok"], whole.text

    changed = copy("changed")
    part = sorted((changed / "outputs" / "windows.parquet").glob("part-*"))[0]
    table = pq.read_table(pa.BufferReader(part.read_bytes()))
    totals = table.column("total").to_pylist()
    pq.write_table(table.set_column(2, "total", pa.array([totals[0] + 1, *totals[1:]])), part)
    report = auroral.verify(changed, spark)
    windows = report.outputs[0]
    assert not report.ok and (windows.only_run, windows.only_batch) == (1, 1)
    assert {d.side for d in windows.differences} == {"run", "batch"}
    assert f"'total': {totals[0] + 1}" in report.text and "NOT verified" in report.text

    shorter = copy("shorter")
    part = sorted((shorter / "outputs" / "totals.parquet").glob("part-*"))[-1]
    table = pq.read_table(pa.BufferReader(part.read_bytes()))
    pq.write_table(table.slice(1), part)
    report = auroral.verify(shorter, spark)
    assert not report.ok and report.outputs[1].only_batch == 1
    assert any(not line.ok for line in report.ledger)

    lost = copy("lost")
    sorted((lost / "outputs" / "totals.parquet").glob("part-*"))[0].unlink()
    with pytest.raises(DamagedOutput, match="is missing"):
        auroral.verify(lost, spark)

    damaged = copy("damaged")
    segment = damaged / "sources" / "flows" / "000001.seg"
    content = bytearray(segment.read_bytes())
    content[len(content) // 3] ^= 1
    segment.write_bytes(content)
    with pytest.raises(DamagedSegment, match="damaged"):
        auroral.verify(damaged, spark)

    miscounted = copy("miscounted")
    account = json.loads((miscounted / "ledger.json").read_text())
    (miscounted / "ledger.json").write_text(json.dumps(account | {"rows_in": 1}))
    report = auroral.verify(miscounted, spark)
    assert not report.ok and all(output.ok for output in report.outputs)


def test_nothing_compared_is_a_failure(spark: "SparkSession", tmp_path: Path) -> None:
    with auroral.run(diagram(), folder=tmp_path / "run", session=spark) as app:
        app.close()
        app.await_termination(300)
    report = auroral.verify(tmp_path / "run", spark)
    assert not report.ok and "NOTHING COMPARED" in report.text


LIVE = """
import sys
import auroral
from auroral.edge.client import Boundary
from node.test_run import diagram
folder, data, out = sys.argv[1:]
if __name__ == "__main__":
    with auroral.run(diagram(), inputs={"flows": data + "@0.5x"}, outputs={"windows": out}, folder=folder) as app:
        for event in app.subscribe("totals"):
            if isinstance(event, Boundary):
                print(event.stime, flush=True)
"""


def test_killed_and_resumed(spark: "SparkSession", tmp_path: Path) -> None:
    given, folder, out = flows(60), tmp_path / "run", tmp_path / "windows.csv"
    file = write(tmp_path, "csv", given)
    # Many moments are tried in test_kill, without Spark: it takes long to start.
    assert kill_when(child(LIVE, str(folder), str(file), str(out)), lines=2, pause=0.3)
    reached = json.loads((folder / "ledger.json").read_text())["frontier"]
    assert 0 < reached < 60 * S, "killed in the middle"
    with auroral.run(diagram(), inputs={"flows": file}, outputs={"windows": out}, folder=folder, session=spark) as app:
        app.await_termination(300)
        wanted = expected(given, 60 * S)
        assert found(app) == wanted
    lines = out.read_text().splitlines()[1:]
    assert lines == [",".join(map(str, row)) for row in wanted["windows"]]
    report = auroral.verify(folder, spark)
    assert report.ok, report.text
