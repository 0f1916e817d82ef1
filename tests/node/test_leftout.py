"""What boxes of replicas left out, on disk: each bucket counted once, whoever is killed or counts again, and compared with a batch run."""

from __future__ import annotations

import shutil
import sqlite3
from functools import partial
from pathlib import Path

import pytest

import auroral
from auroral.edge.durable import StorageError
from auroral.model.checking import Checked
from auroral.node.fleet.leavingout import left_out_lines
from auroral.node.fleet.preparing import prepare
from auroral.node.leftout import LeftOutLog, counted_in, log_of
from auroral.node.runfolder import RunFolder


def test_a_bucket_that_is_counted_again_counts_once(tmp_path: Path) -> None:
    file = log_of(tmp_path, "n@na")
    log = LeftOutLog(file)
    log.count(["late", "shed"], 10, 13, {("late", "late", 10): 2, ("shed", "shed", 12): 5, ("other", "late", 11): 9})
    log.count(["late"], 15, 16, {})
    # Killed: nothing is closed. Another life makes some of the buckets again, cut otherwise, and reads earlier ones for it.
    again = LeftOutLog(file)
    assert again.totals == {("late", "late"): 2, ("shed", "shed"): 5}
    again.count(["late", "shed"], 12, 15, {("late", "late", 10): 2, ("shed", "shed", 12): 5, ("late", "late", 14): 1})
    assert again.totals == {("late", "late"): 3, ("shed", "shed"): 5}
    again.close()
    (found,) = counted_in(tmp_path)
    assert found.replica == "n@na"
    assert found.counts == {("late", "late", 10): 2, ("shed", "shed", 12): 5, ("late", "late", 14): 1}
    assert found.spans == {"late": ((10, 16),), "shed": ((10, 15),)}


def test_one_that_is_damaged_is_put_aside_and_said(tmp_path: Path) -> None:
    file = log_of(tmp_path, "n@na")
    LeftOutLog(file).close()
    file.write_bytes(b"not a database" * 1000)
    with pytest.raises(StorageError, match=r"n@na.db cannot be read(.|\n)*next: start the deployment"):
        counted_in(tmp_path)
    log = LeftOutLog(file)
    assert log.damage is not None and "n@na.damaged" in log.damage and not log.totals
    log.close()
    assert not counted_in(tmp_path)[0].spans


def test_one_that_somebody_holds_is_not_taken_for_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = log_of(tmp_path, "n@na")
    log = LeftOutLog(file)
    log.count(["late"], 1, 2, {("late", "late", 1): 3})
    log.close()
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.01))
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match=r"n@na.db(.|\n)*cannot be opened: database is locked(.|\n)*next: see to"):
        LeftOutLog(file)
    holder.close()
    again = LeftOutLog(file)
    assert again.damage is None and again.totals == {("late", "late"): 3}
    again.close()


def test_one_whose_writer_was_killed_halfway_is_read_as_it_was(tmp_path: Path) -> None:
    """Its journal has what is to be put back."""
    file = log_of(tmp_path, "n@na")
    log = LeftOutLog(file)
    log.count(["late"], 1, 2, {("late", "late", 1): 3})
    log.close()
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.executemany("INSERT INTO left_out VALUES ('late', 'late', ?, 9)", ((at,) for at in range(100, 20_000)))
    killed = tmp_path / "killed" / "a folder?"
    shutil.copytree(tmp_path / "ledger", killed / "ledger")
    writer.close()
    assert (killed / "ledger" / "n@na.db-journal").exists()
    (found,) = counted_in(killed)
    assert found.counts == {("late", "late", 1): 3}


def diagram() -> Checked:
    d = auroral.diagram("sheds", bucket="1s")
    d.input("s", "n int").drop("some", 0.5).filter("high", "n > 2").output(availability="8s")
    return d.check()


def test_each_replica_is_compared_in_what_it_counted(tmp_path: Path) -> None:
    deployed = prepare(tmp_path / "live", diagram()).begin(100)
    folder = RunFolder.look(deployed.folder)
    batch = {("some", "shed", at * 1_000_000): 1 for at in range(100, 110)}
    lines, notes = left_out_lines(folder, 110_000_000, batch)
    assert not lines and "nobody here counted the rows that it left out of 10 of 10 buckets" in notes[0]
    whole, late = (LeftOutLog(log_of(deployed.folder, f"n@{node}")) for node in ("na", "nb"))
    # Further than the outputs are by now.
    whole.count(["some"], 100, 112, {("some", "shed", at): 1 for at in range(100, 112)})
    late.count(["some"], 106, 109, {("some", "shed", at): 1 for at in range(106, 109)})
    lines, notes = left_out_lines(folder, 110_000_000, batch)
    assert [(line.found, line.expected) for line in lines] == [(10, 10), (3, 3)] and not notes
    # Lost, doubled, and never counted.
    for at, n in ((101, 0), (102, 2)):
        whole.count(["some"], at, at + 1, {("some", "shed", at): n} if n else {})
        assert not all(line.ok for line in left_out_lines(folder, 110_000_000, batch)[0])
        whole.count(["some"], at, at + 1, {("some", "shed", at): 1})
    assert [line.ok for line in left_out_lines(folder, 110_000_000, {})[0]] == [False, False]
    for log in (whole, late):
        log.close()
