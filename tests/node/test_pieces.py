"""Runs verified piece by piece on a real Spark: equal to the whole, tampering found, pruned and gone on with."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import auroral
from auroral.edge.records import DamagedSegment, Entry, encode, rows_from_bytes, rows_to_bytes, scan
from auroral.engine.foldstates import from_bytes, states_from
from auroral.model.errors import AuroralError
from auroral.node.pieces import stretch_of
from auroral.node.report import Report
from auroral.node.runfolder import RunFolder
from auroral.node.snapshots import Snapshots
from auroral.node.standing import Standing
from auroral.node.verified import VerifiedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]
S = 1_000_000
OUTPUTS = ("windows", "alarmed", "totals", "peaks")


def diagram() -> auroral.DiagramBuilder:
    """Windows, a join with them, a running total of them, which is a fold, and windows over that; and rows shed."""
    d = auroral.diagram("traffic", bucket="1s")
    flows = d.input("flows", "ts long, host string, bytes long", stime="ts", unit="ms", late="reject")
    alarms = d.input("alarms", "ts long, name string", stime="ts", unit="ms")
    kept = flows.drop("kept", 0.2)
    windows = kept.aggregate("by host", {"total": "sum(bytes)"}, window="3s", advance="1s", by=["host"])
    windows.output("windows")
    windows.join("both", alarms, on="left.host = right.name", within="2s").output("alarmed")
    totals = windows.running("so far", {"sum": "sum(total)", "n": "count()"}, by=["host"])
    totals.output("totals")
    totals.aggregate("peak", {"peak": "max(sum)"}, window="2s", by=["host"]).output("peaks")
    return d


def rows_of(begin: int, end: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of these seconds."""
    return {
        "flows": [{"ts": i * 200, "host": f"h{i % 3}", "bytes": i * 137 % 1000} for i in range(begin * 5, end * 5)],
        "alarms": [{"ts": i * 500, "name": f"h{i % 4}"} for i in range(begin * 2, end * 2)],
    }


def go_on(spark: "SparkSession", folder: Path, begin: int, end: int, last: bool = False) -> dict[str, pa.Table]:
    """One more stretch of the run; gives all of its outputs."""
    with auroral.run(diagram(), folder=folder, session=spark) as app:
        for second in range(begin, end, 3):
            for stream, rows in rows_of(second, min(second + 3, end)).items():
                app.push(stream, rows)
        if last:
            app.close()
            app.await_termination(300)
        else:
            app.stop()
        return {output: app.table(output) for output in OUTPUTS}


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def twice(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that was verified up to second 29, and then went on to second 41. Copy it before you change it."""
    folder = tmp_path_factory.mktemp("pieces") / "run"
    go_on(spark, folder, 0, 22)
    go_on(spark, folder, 22, 30)
    shutil.copytree(folder / "state", folder.parent / "state at 30")
    report = auroral.verify(folder, spark)
    assert report.ok and report.since is None, report.text
    go_on(spark, folder, 30, 42)
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture
def copy(twice: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(twice, tmp_path / "run"))


def sums(report: Report) -> dict[str, tuple[int, int]]:
    return {line.what: (line.found, line.expected) for line in report.ledger}


def test_a_piece_gives_what_the_whole_gives(spark: "SparkSession", copy: Path) -> None:
    piece = auroral.verify(copy, spark, since_last=True)
    whole = auroral.verify(copy, spark)
    assert piece.ok and whole.ok, piece.text + whole.text
    assert (piece.since, whole.since) == (29 * S, None)
    assert "compared from stime 29000000 on; what lies before rests on the verification of 20" in piece.text
    assert "pyspark" in piece.text and piece.to_json()["since"] == 29 * S
    for ours, all_of_it in zip(piece.outputs, whole.outputs, strict=True):
        assert 0 < ours.rows_run < all_of_it.rows_run
        assert ours.frontier == all_of_it.frontier == 41 * S
    shared = sums(whole)
    assert {what: both for what, both in sums(piece).items() if what in shared} == shared
    assert any("shed" in what and found for what, (found, _) in shared.items())

    again = auroral.verify(copy, spark, since_last=True)
    assert again.ok and again.since == 41 * S
    assert "nothing is new" in again.text


def test_the_state_of_folds_is_the_one_that_the_run_has(twice: Path, copy: Path) -> None:
    record = json.loads((copy / "verified.json").read_text())
    at = record["state_at"]
    assert at == (29 - 8) * S, "one horizon before what was verified, where the run took a snapshot"
    ours = from_bytes((copy / "verified" / f"{at}-{record['state']}.state").read_bytes())
    theirs = Snapshots(twice.parent / "state at 30").read(at)
    assert theirs is not None and ours.count == 3
    assert ours.digest == theirs.digest and {*ours.rows()["key"]} == {*theirs.rows()["key"]}


def change_output(folder: Path, stream: str, part: int) -> None:
    path = sorted((folder / "outputs" / f"{stream}.parquet").glob("part-*"))[part]
    table = pq.read_table(pa.BufferReader(path.read_bytes()))
    last = table.num_columns - 1
    pq.write_table(table.set_column(last, table.field(last), pc.add(table.column(last), 1)), path)


def test_a_changed_output_is_found(spark: "SparkSession", copy: Path) -> None:
    change_output(copy, "peaks", -1)
    before = (copy / "verified.json").read_bytes()
    report = auroral.verify(copy, spark, since_last=True)
    assert not report.ok and [o.stream for o in report.outputs if not o.ok] == ["peaks"]
    assert (copy / "verified.json").read_bytes() == before, "what is not equal is not recorded"


def test_a_changed_fold_state_is_refused(spark: "SparkSession", copy: Path) -> None:
    (path,) = (copy / "verified").iterdir()
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    with pytest.raises(VerifiedError, match="its hash does not match"):
        auroral.verify(copy, spark, since_last=True)
    with pytest.raises(VerifiedError, match="its hash does not match"):
        auroral.prune(copy)
    assert auroral.verify(copy, spark).ok, "nothing is pruned: the whole run can be compared"
    assert auroral.verify(copy, spark, since_last=True).ok, "and is recorded anew"


def test_a_changed_snapshot_of_the_run_makes_a_wrong_run_and_is_found(spark: "SparkSession", copy: Path) -> None:
    snapshots = Snapshots(copy / "state")
    older, newest = snapshots.stimes()
    assert (older, newest) == (29 * S, 41 * S), "the older one is what the run goes on from"
    states = snapshots.read(older)
    assert states is not None
    # One key is lost, and the checksum fits.
    Snapshots(copy / "state").save(older, states_from(states.rows().slice(1)))
    go_on(spark, copy, 42, 50)
    report = auroral.verify(copy, spark, since_last=True)
    assert not report.ok and {o.stream for o in report.outputs if not o.ok} == {"totals", "peaks"}


def rewritten(path: Path, number: int, change: Any) -> None:
    """A record of a segment with other rows, and checksums that fit."""
    content = path.read_bytes()
    entries = [entry for entry in scan(path, 0, last=True) if isinstance(entry, Entry)]
    parts = []
    for entry in entries:
        rows = content[entry.rows_at : entry.end]
        if entry.header.number == number:
            rows = bytes(rows_to_bytes(change(rows_from_bytes(rows))))
        parts += [bytes(part) for part in encode(entry.header, rows)]
    path.write_bytes(b"".join(parts))


def test_a_changed_source_row_is_found(spark: "SparkSession", copy: Path) -> None:
    path = copy / "sources" / "flows" / "000001.seg"
    original = path.read_bytes()
    numbers = [
        entry.header.number for entry in scan(path, 0, last=True) if isinstance(entry, Entry) and entry.header.rows
    ]

    def more(rows: pa.Table) -> pa.Table:
        return rows.set_column(4, "bytes", pc.add(rows.column("bytes"), 1))

    rewritten(path, numbers[-1], more)
    report = auroral.verify(copy, spark, since_last=True)
    assert not report.ok and not report.outputs[0].ok

    path.write_bytes(original)
    rewritten(path, numbers[-1], lambda rows: rows.slice(1))
    report = auroral.verify(copy, spark, since_last=True)
    assert not report.ok and any(not line.ok and "unbroken" in line.what for line in report.ledger)

    damaged = bytearray(original)
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DamagedSegment, match="damaged"):
        auroral.verify(copy, spark, since_last=True)


def test_pruned_and_gone_on_with(spark: "SparkSession", copy: Path, tmp_path: Path) -> None:
    plain = Path(shutil.copytree(copy, tmp_path / "plain"))
    wanted = go_on(spark, plain, 42, 54, last=True)
    before = bytes_in(copy / "sources")
    pruned = auroral.prune(copy)
    assert pruned.freed > 0 and bytes_in(copy / "sources") < before
    assert (pruned.below, pruned.verified) == ((29 - 16) * S, 29 * S)
    # Without the run's own snapshots it goes on from the state that was verified.
    shutil.rmtree(copy / "state")
    assert go_on(spark, copy, 42, 54, last=True) == wanted

    report = auroral.verify(copy, spark)
    assert report.ok and report.since == 29 * S, report.text
    assert "rows before stime 13000000 were pruned" in report.text
    pruned = auroral.prune(copy)
    assert pruned.freed > 0 and pruned.verified == 54 * S
    report = auroral.verify(copy, spark)
    assert report.ok and "2 verifications, the last one of" in report.text

    (path,) = (copy / "verified").iterdir()
    path.unlink()
    with pytest.raises(VerifiedError, match="cannot be read"):
        auroral.verify(copy, spark)
    (copy / "verified.json").unlink()
    with pytest.raises(VerifiedError, match="is missing"):
        auroral.verify(copy, spark)


def test_a_pruned_run_without_any_fold_state_does_not_go_on(spark: "SparkSession", copy: Path) -> None:
    auroral.prune(copy)
    shutil.rmtree(copy / "state")
    shutil.rmtree(copy / "verified")
    app = auroral.run(diagram(), folder=copy, session=spark)
    with pytest.raises(AuroralError, match="no fold state is there"):
        app.await_termination(60)


def test_a_fold_behind_windows_behind_a_fold(spark: "SparkSession", tmp_path: Path) -> None:
    """Its state alone does not tell how to go on: such a run begins anew with its first row, and is never pruned."""
    d = auroral.diagram("d", bucket="1s")
    first = d.input("s", "ts long, v long", stime="ts", unit="s").running("first", {"n": "count()"})
    first.aggregate("window", {"n": "sum(n)"}, window="3s", advance="1s").running("second", {"n": "sum(n)"}).output("o")
    for begin in (0, 10, 20):
        with auroral.run(d, folder=tmp_path / "run", session=spark) as app:
            app.push("s", [{"ts": ts, "v": ts} for ts in range(begin, begin + 10)])
    assert not (tmp_path / "run" / "state").exists()
    report = auroral.verify(tmp_path / "run", spark, since_last=True)
    assert report.ok and "never verified before" in report.text, report.text
    stretch = stretch_of(Standing.look(RunFolder.look(tmp_path / "run")), since_last=True)
    assert stretch.piece is None and stretch.note is not None and "all of the run" in stretch.note
    with pytest.raises(AuroralError, match="over another fold's results"):
        auroral.prune(tmp_path / "run")
