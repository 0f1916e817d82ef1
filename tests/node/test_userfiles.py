"""The files that a run wrote, compared with the run's own copy."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import auroral
from auroral.node.report import Report
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from auroral.node.userfiles import FileReport, judged_files
from node.running import PassOn, rows


def run_into(folder: Path, output: Path | str) -> RunFolder:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="us").filter("f", "v >= 0").output("out")
    claimed = RunFolder.claim(folder, d.check(), {}, {"out": str(output)}, False)
    runner = Runner(claimed, PassOn, {"out": str(output)})
    for at in range(4):
        runner.sources["s"].take(rows(at, at + 0.5), 0)
    runner.sources["s"].end()
    runner.run()
    return RunFolder.look(folder)


def only(folder: RunFolder) -> FileReport:
    (found,) = judged_files(folder)
    return found


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_what_was_written_is_equal(name: str, tmp_path: Path) -> None:
    found = only(run_into(tmp_path / "run", tmp_path / name))
    assert (found.ok, found.what) == (True, "equal to the run's own copy")


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_a_changed_line_is_found(name: str, tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / name)
    lines = (tmp_path / name).read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("0", "1", 1)
    (tmp_path / name).write_text("".join(lines))
    found = only(folder)
    assert (found.ok, found.what) == (False, "DIFFERENT: line 3 is not as it was written")


def test_lines_that_were_added_or_lost_are_found(tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / "out.csv")
    whole = (tmp_path / "out.csv").read_text()
    (tmp_path / "out.csv").write_text(whole + "1,2,3\n")
    assert only(folder).what == "DIFFERENT: it goes on behind line 9, where the output ends"
    (tmp_path / "out.csv").write_text("".join(whole.splitlines(keepends=True)[:-1]))
    assert only(folder).what == "DIFFERENT: line 9 is not as it was written"


def test_changed_rows_of_a_parquet_folder_are_found(tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / "out.parquet")
    part = min((tmp_path / "out.parquet").glob("part-*"))
    table = pq.ParquetFile(part).read()
    pq.write_table(table.slice(1), part)
    assert only(folder).what == "DIFFERENT: 0 rows are only in it, and 1 are missing"
    part.unlink()
    assert only(folder).ok is False


def test_a_file_that_is_gone_is_no_fault_but_said(tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / "out.csv")
    (tmp_path / "out.csv").unlink()
    gone = only(folder)
    assert gone.ok is None and "not there any more; the run's own copy was judged" in str(gone)
    assert judged_files(run_into(tmp_path / "other", "-")) == ()


def test_the_report_counts_only_what_was_compared() -> None:
    def report(ok: bool | None) -> Report:
        from auroral.node.report import OutputReport

        return Report("r", (OutputReport("out", 5, 1, 1, 0, 0, ()),), (), files=(FileReport("out", "o.csv", ok, "so"),))

    assert report(True).ok and report(None).ok and not report(False).ok
    assert "file o.csv of out: so" in report(False).text
    assert report(None).to_json()["files"] == [{"stream": "out", "path": "o.csv", "ok": None, "what": "so"}]
