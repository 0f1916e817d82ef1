"""`prune` on its own, without Spark: what it refuses, what it leaves, and that the run goes on from that."""

import errno
import fcntl
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

import auroral
from auroral.cli import main
from auroral.edge.durable import InUse, StorageError
from auroral.edge.logpruning import Removed
from auroral.model.errors import AuroralError
from auroral.node import pruning, verified
from auroral.node.account import Account
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder
from auroral.node.standing import Standing
from auroral.node.verified import Link, VerifiedError
from auroral.node.verifylock import verifying
from node import test_kill
from node.killing import child, kill_when
from node.running import B, PassOn, rows, runner_in
from node.running import verified as verified_run


def diagram() -> "auroral.Checked":
    d = auroral.diagram("d", bucket="1s")
    one = d.input("one", "ts long, v long", stime="ts", unit="us")
    two = d.input("two", "ts long, v long", stime="ts", unit="us")
    one.union("both", two).output("out")
    return d.check()


def go_on(folder: Path, begin: int, end: int) -> PassOn:
    engine = PassOn()
    runner = runner_in(folder, diagram(), engine)
    for second in range(begin, end):
        for source in runner.sources.values():
            source.take(rows(second, second + 0.5), 0)
    runner.request_stop()
    runner.run()
    return engine


def found_equal(folder: Path) -> None:
    report = verified_run(folder)
    assert report.ok, report.text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run up to second 19."""
    go_on(tmp_path / "run", 0, 20)
    return tmp_path / "run"


def out(folder: Path) -> list[int]:
    log = OutputLog.look(folder / "outputs" / "out.parquet", diagram().streams["out"].schema)
    stimes: list[int] = log.read().column(0).cast("int64").to_pylist()
    return stimes


def expected(end: int) -> list[int]:
    return sorted(2 * [s * B // 2 for s in range(2 * end)])


def test_only_what_was_verified_goes_and_the_run_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found_equal(folder)
    go_on(folder, 20, 25)
    outputs = sorted(folder.glob("outputs/*/*"))
    assert main(["prune", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "input one: 36 rows removed, " in told
    assert "pruned: 72 rows from before stime 18000000, " in told and "the run is verified up to stime 19000000" in told
    assert sorted(folder.glob("outputs/*/*")) == outputs
    run = Standing.look(RunFolder.look(folder))
    assert run.kept_from == 18 * B
    assert all(min(log.read().column(0).to_pylist()) == 18 * B for log in run.sources.values())
    engine = go_on(folder, 25, 30)
    assert engine.calls[0][0] == 23 * B, "one horizon before the frontier"
    assert out(folder) == expected(29)
    assert main(["prune", str(folder), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["rows"], again["freed"]) == (0, 0), "nothing was verified since"
    assert again["inputs"]["one"] == {"rows": 0, "bytes": 0}


def test_a_small_log_of_which_nothing_can_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All rows came in one batch, and the last of them is still needed."""
    runner = runner_in(tmp_path / "run", diagram(), PassOn())
    for source in runner.sources.values():
        source.take(rows(*range(20)), 0)
    runner.request_stop()
    runner.run()
    found_equal(tmp_path / "run")
    assert main(["prune", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert told.startswith("nothing was removed; the run is verified up to stime 19000000") and "freed" not in told
    assert Standing.look(RunFolder.look(tmp_path / "run")).kept_from is None


def test_a_run_that_was_never_verified_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", str(folder)]) == 1
    told = capsys.readouterr().err
    assert "was never verified" in told and f"next: auroral verify {folder}" in told
    assert main(["prune", str(folder / "nowhere")]) == 1


def test_a_folder_that_is_in_use_is_refused(folder: Path) -> None:
    found_equal(folder)
    with RunFolder.resume(folder), pytest.raises(InUse, match="by another process"):
        auroral.prune(folder)
    with verifying(folder), verifying(folder), pytest.raises(InUse, match="is being verified"):
        auroral.prune(folder)
    with pruning.pruning(folder), pytest.raises(InUse, match="is being pruned"), verifying(folder):
        pass
    assert auroral.prune(folder).freed > 0


def test_whoever_may_not_write_a_folder_keeps_it_from_being_pruned_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_equal(folder)
    (folder / "verified.json").unlink()
    opened = os.open

    def not_for_writing(path: Path, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        if flags & os.O_RDWR and Path(path).name == "verify.lock":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, *mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", not_for_writing)
        report = verified_run(folder)
        assert report.ok and "this verification was not recorded: the folder cannot be written" in report.text
        verifies = ExitStack()
        assert verifies.enter_context(verifying(folder)) is None
    with verifies, pytest.raises(InUse, match="is being verified"):
        auroral.prune(folder)
    (folder / "verify.lock").unlink()
    with monkeypatch.context() as patched, ExitStack() as verifies:
        patched.setattr(os, "open", not_for_writing)
        assert verifies.enter_context(verifying(folder)) is None, "nobody ever locked it"


def test_a_file_system_without_locks_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    told = r"(?s)cannot be taken: No locks available.*next: use a folder on a local disk"
    with pytest.raises(StorageError, match=told), verifying(folder):
        pass
    with pytest.raises(StorageError, match=told):
        RunFolder.resume(folder)


def _other_run(folder: Path) -> None:
    settings = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(settings | {"run": "another"}))


def _put_back(folder: Path) -> None:
    account = json.loads((folder / "ledger.json").read_text())
    (folder / "ledger.json").write_text(json.dumps(account | {"frontier": 5 * B}))


def _changed(folder: Path) -> None:
    record = (folder / "verified.json").read_text()
    (folder / "verified.json").write_text(record.replace('"until": 19000000', '"until": 29000000', 1))


def _of_another_version(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        stored = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(stored | {"format": 1, "check": 7}))

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_other_run, "of another run"),
        (_put_back, "parts of it were put back"),
        (_changed, "checksum does not match"),
        (_of_another_version("verified.json"), "another version of auroral wrote it"),
        (
            _of_another_version("run.json"),
            "another version of auroral wrote it, in format 1(.|\n)*with the version that wrote it",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_refused(folder: Path, change: Callable[[Path], None], told: str) -> None:
    found_equal(folder)
    change(folder)
    with pytest.raises(AuroralError, match=told):
        auroral.prune(folder)


def test_interrupted_between_two_inputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found_equal(folder)
    real, pruned = pruning.prune_log, []

    def first_only(*given: object) -> Removed:
        if pruned:
            raise KeyboardInterrupt
        pruned.append(given)
        return real(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(pruning, "prune_log", first_only)
        with pytest.raises(KeyboardInterrupt):
            auroral.prune(folder)
    bases = [log.base.first for log in Standing.look(RunFolder.look(folder)).sources.values()]
    assert bases[0] > bases[1] == 0
    go_on(folder, 20, 25)
    assert out(folder) == expected(24)
    found = auroral.prune(folder)
    assert found.inputs["one"].rows == 0 and found.inputs["two"].rows == 36


def test_the_record_comes_back_as_it_was(folder: Path) -> None:
    found_equal(folder)
    looked = RunFolder.look(folder)
    record = verified.load(looked)
    assert record is not None and verified.load_state(looked, record) is None
    assert (record.until, record.rows_in, record.output_rows) == (19 * B, 76, {"out": 76})
    assert record.counts == Account.load(looked.account).counts == {("box", "late"): 76}
    assert {stream: (log.rows, log.rows_read) for stream, log in record.logged.items()} == {
        "one": (40, 40),
        "two": (40, 40),
    }
    (last,) = record.chain
    later = replace(last, until=25 * B)
    assert [link.pieces for link in record.followed_by(later)] == [2]
    newer = Link(25 * B, "2026-03-02T12:00:00+00:00", "0.0", last.pyspark)
    assert record.followed_by(newer) == (*record.chain, newer)
    (folder / "verified.json").write_text("{")
    with pytest.raises(VerifiedError, match="cannot be read"):
        verified.load(looked)


@pytest.mark.slow
def test_killed_after_it_was_pruned(tmp_path: Path) -> None:
    data, target, folder = tmp_path / "s.jsonl", tmp_path / "out.csv", tmp_path / "run"
    test_kill.write_rows(data)
    # Many small records, so that there is something to prune.
    program = "from auroral.node import feeds\nfeeds.BATCH_ROWS = 50\n" + test_kill.PASS_ON
    arguments = (str(folder), str(data), str(target))
    freed: list[int] = []
    for _ in range(8):
        assert kill_when(child(program, *arguments), lines=4)
        # Left to chance: a run that was cut off between an output and its counts is not recorded.
        if Standing.look(RunFolder.look(folder)).settled:
            found_equal(folder)
            freed.append(auroral.prune(folder).freed)
        if len(freed) == 2:
            break
    assert len(freed) == 2 and sum(freed) > 0
    last = child(program, *arguments)
    last.communicate(timeout=120)
    assert last.returncode == 0
    lines = target.read_text().splitlines()[1:]
    assert [line.split(",")[2] for line in lines] == [str(i) for i in range(test_kill.ROWS)]
    assert Account.load(folder / "ledger.json").rows_in == test_kill.ROWS
