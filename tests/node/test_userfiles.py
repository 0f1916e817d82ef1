"""The files that a run wrote, compared with the run's own copy."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import auroral
from auroral.edge.commits import commit_path
from auroral.node.outputlog import OutputLog
from auroral.node.pruning import PruneError
from auroral.node.report import LedgerLine, OutputReport, Report
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from auroral.node.userfiles import FileReport, FoundEqual, _changed_line, judged_files
from node.running import B, PassOn, rows, verified


def run_into(folder: Path, output: Path | str, begin: int = 0, end: int = 4, last: bool = True) -> RunFolder:
    """Rows of these seconds, two each."""
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="us", late="reject").filter("f", "v >= 0").output("out")
    claimed = RunFolder.claim(folder, d.check(), {}, {"out": str(output)}, False)
    runner = Runner(claimed, PassOn, {"out": str(output)})
    for at in range(begin, end):
        runner.sources["s"].take(rows(at, at + 0.5), 0)
    if last:
        runner.sources["s"].end()
    runner.request_stop()
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
    assert found.ok is False and found.what.startswith(f"DIFFERENT: line 3 is {lines[2]!r}, but the run wrote ")


def test_lines_that_were_added_or_lost_are_found(tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / "out.csv")
    whole = (tmp_path / "out.csv").read_text()
    (tmp_path / "out.csv").write_text(whole + "1,2,3\n")
    assert only(folder).what == "DIFFERENT: it goes on behind line 9, where the output ends"
    (tmp_path / "out.csv").write_text("".join(whole.splitlines(keepends=True)[:-1]))
    assert only(folder).what == "DIFFERENT: line 9 is missing, but the run wrote '3500000,3500000,1\\n'"
    (tmp_path / "out.csv").write_text(whole[:-1])
    assert only(folder).what.startswith("DIFFERENT: line 9 is '3500000,3500000,1', but the run wrote")


def test_a_long_line_is_shown_around_what_differs() -> None:
    written = b"a" * 500 + b"b" + b"c" * 500 + b"\n"
    told = _changed_line(written.replace(b"b", b"x"), written, 7)
    assert told.startswith("line 7 is '...aaaa") and len(told) < 350
    assert "axc" in told and "abc" in told


def test_changed_rows_of_a_parquet_folder_are_found(tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / "out.parquet")
    part = min((tmp_path / "out.parquet").glob("part-*"))
    table = pq.ParquetFile(part).read()
    pq.write_table(table.slice(1), part)
    told = "rows only in it: 0, missing: 1; the first, missing: stime 0 {'ts': 0, 'v': 0}"
    assert only(folder).what == f"DIFFERENT: {told}"
    part.unlink()
    assert only(folder).ok is False


def test_a_file_that_is_gone_is_no_fault_but_said(tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / "out.csv")
    (tmp_path / "out.csv").unlink()
    gone = only(folder)
    assert gone.ok is None and "not there any more; the run's own copy was judged" in str(gone)
    assert judged_files(run_into(tmp_path / "other", "-")) == ()


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_a_file_that_lost_its_commit_is_compared_as_a_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    folder = run_into(tmp_path / "run", path)
    commit_path(path).unlink()
    assert (only(folder).ok, only(folder).what) == (True, "equal to the run's own copy")
    tamper(path)
    assert only(folder).ok is False
    run_into(tmp_path / "less", tmp_path / f"less-{name}", end=2)
    commit_path(tmp_path / f"less-{name}").unlink()
    if path.is_dir():
        shutil.rmtree(path)
    (tmp_path / f"less-{name}").rename(path)
    assert only(folder).ok is False, "it has less than the run wrote"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_file_that_lost_its_commit_before_the_run_finished_is_not_passed_over(name: str, tmp_path: Path) -> None:
    folder = run_into(tmp_path / "run", tmp_path / name, last=False)
    commit_path(tmp_path / name).unlink()
    assert only(folder).ok is False and "its commit, " in only(folder).what


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_a_run_that_goes_on_meanwhile_is_not_taken_for_a_difference(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_into(tmp_path / "run", tmp_path / name, last=False)
    look, looks = OutputLog.look, 0

    def look_and_go_on(*given: Any) -> OutputLog:
        nonlocal looks
        looks += 1
        found = look(*given)
        if looks == 1:
            run_into(tmp_path / "run", tmp_path / name, 4, 9, last=False)
        return found

    monkeypatch.setattr(OutputLog, "look", look_and_go_on)
    assert only(folder).ok, only(folder)


def tamper(path: Path) -> None:
    """Change the first row of what was written."""
    if path.is_dir():
        part = min(path.glob("part-*"))
        pq.write_table(pq.ParquetFile(part).read().slice(1), part)
    else:
        path.write_text(path.read_text().replace("500000", "500001", 1))


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_a_run_whose_file_was_changed_is_not_recorded_as_verified(name: str, tmp_path: Path) -> None:
    run_into(tmp_path / "run", tmp_path / name)
    tamper(tmp_path / name)
    report = verified(tmp_path / "run")
    verdict = report.text.splitlines()[-1]
    assert verdict.startswith(f"NOT verified: file {tmp_path / name} of out: DIFFERENT: ")
    assert "500000" in verdict or "stime 0" in verdict, "what differs is said"
    assert not (tmp_path / "run/verified.json").exists()
    with pytest.raises(PruneError, match="was never verified"):
        auroral.prune(tmp_path / "run")


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_since_last_looks_only_at_what_is_new_in_a_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, output = tmp_path / "run", tmp_path / name
    run_into(place, output, last=False)
    assert verified(place).ok
    run_into(place, output, 4, 9, last=False)
    read: list[Path] = []
    load = OutputLog._load
    monkeypatch.setattr(OutputLog, "_load", lambda log, path: read.append(path) or load(log, path))  # type: ignore[func-returns-value]
    report = verified(place, since_last=True)
    assert report.ok and "from stime 3000000 on, equal" in report.text, report.text
    assert read and all("_3000000_" in path.name for path in read), "parts from the last verification on"
    read.clear()

    run_into(place, output, 9, 12)
    tamper(output)
    assert verified(place, since_last=True).ok, "it rests on what was found equal before"
    assert not verified(place).ok, "all of it is looked at"


def test_a_file_that_was_put_back_is_compared_as_a_whole(tmp_path: Path) -> None:
    folder, path = run_into(tmp_path / "run", tmp_path / "out.csv"), tmp_path / "out.csv"
    tamper(path)
    length = sum(map(len, path.read_text().splitlines(keepends=True)[:7]))
    assert judged_files(folder, {"out": FoundEqual(3 * B, length, 7)})[0].ok
    assert judged_files(folder, {"out": FoundEqual(9 * B, length, 7)})[0].ok is False
    assert judged_files(folder, {"out": FoundEqual(3 * B, 6000, 7)})[0].ok is False


def test_rejected_rows_are_counted_from_the_last_verification_on(tmp_path: Path) -> None:
    def rejected(report: Report) -> tuple[int, int]:
        (line,) = [line for line in report.ledger if "kept for inspection" in line.what]
        return line.found, line.expected

    place = tmp_path / "run"
    run_into(place, "-", last=False)
    run_into(place, "-", 0, 2, last=False)
    assert rejected(verified(place)) == (4, 4)
    run_into(place, "-", 4, 5, last=False)
    run_into(place, "-", 0, 1, last=False)
    file = place / "sources/s/rejected.jsonl"
    whole = file.read_text()
    file.write_text(whole.replace("\n", " ", 1))
    assert rejected(verified(place, since_last=True)) == (6, 6), "the first ones were counted before"
    assert rejected(verified(place)) == (5, 6)
    file.write_text(whole[:-10])
    assert not verified(place, since_last=True).ok
    file.unlink()
    assert rejected(verified(place)) == (0, 6)


def test_the_report_counts_only_what_was_compared() -> None:
    def report(ok: bool | None) -> Report:
        return Report("r", (OutputReport("out", 5, 1, 1, 0, 0, ()),), (), files=(FileReport("out", "o.csv", ok, "so"),))

    assert report(True).ok and report(None).ok and not report(False).ok
    assert "file o.csv of out: so" in report(False).text
    assert report(None).to_json()["files"] == [{"stream": "out", "path": "o.csv", "ok": None, "what": "so"}]


def test_the_verdict_says_what_is_wrong() -> None:
    def verdict(*outputs: OutputReport, ledger: tuple[LedgerLine, ...] = (), files: tuple[FileReport, ...] = ()) -> str:
        return Report("r", outputs, ledger, files=files).text.splitlines()[-1]

    equal, other = OutputReport("a", 5, 1, 1, 0, 0, ()), OutputReport("b", 5, 2, 1, 1, 0, ())
    assert verdict(equal).startswith("verified: ")
    assert verdict(equal, other) == "NOT verified: output b is not what the batch run gives"
    never = OutputReport("c", None, 0, 0, 0, 0, ())
    assert verdict(equal, never) == "NOT verified: nothing of output c was compared"
    told = verdict(
        equal, ledger=(LedgerLine("rows", 1, 2), LedgerLine("rows", 1, 1)), files=(FileReport("a", "f", False, "so"),)
    )
    assert told == "NOT verified: file f of a: so; sums in the ledger that do not come out: 1"
    assert verdict() == "NOT verified: the diagram has no outputs to compare"
