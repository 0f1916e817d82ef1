"""New folders are as durable as what is in them, and a failed commit leaves an output that can be gone on with."""

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.edge import commits
from auroral.edge.durable import StorageError, make_folder
from auroral.edge.sinks import OutputError, Sink, open_sink
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import STIME
from auroral.model.schema import schema

SCHEMA = schema("v long")


def rows(*stimes: int) -> pa.Table:
    return pa.table({STIME: pa.array(stimes, pa.int64()), "v": pa.array(stimes, pa.int64())})


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    found: set[str] = set()
    original = os.fsync

    def fsync(fd: int) -> None:
        found.add(os.readlink(f"/proc/self/fd/{fd}"))
        original(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_the_parents_of_new_folders_are_synced(tmp_path: Path, synced: set[str]) -> None:
    make_folder(tmp_path / "a/b/c")
    assert {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a/b")} <= synced
    synced.clear()
    make_folder(tmp_path / "a/b/c")
    assert not synced, "nothing is new"


def test_a_new_log_is_durable_under_its_name(tmp_path: Path, synced: set[str]) -> None:
    SourceLog.open(tmp_path / "run/sources/s", SCHEMA).close()
    assert {str(tmp_path), str(tmp_path / "run"), str(tmp_path / "run/sources")} <= synced


@pytest.mark.parametrize("name", ["x/out.csv", "x/out.parquet"])
def test_a_new_output_is_durable_under_its_name(tmp_path: Path, synced: set[str], name: str) -> None:
    open_sink(tmp_path / name, SCHEMA).close()
    assert {str(tmp_path), str(tmp_path / "x")} <= synced


def content(path: Path) -> list[int]:
    if path.is_dir():
        parts = sorted(path.glob("part-*"))
        return [value for part in parts for value in pq.read_table(part).column("v").to_pylist()]
    return [int(line.split(",")[1]) for line in path.read_text().splitlines()[1:]]


def again(path: Path) -> None:
    with open_sink(path, SCHEMA) as sink:
        sink.append(0 if sink.frontier is None else sink.frontier, 30, rows(*range(sink.frontier or 0, 30)))
    assert content(path) == list(range(30))


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_commit_that_is_visible_but_not_synced_is_not_cut_back(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    with open_sink(path, SCHEMA) as sink:
        sink.append(0, 10, rows(*range(10)))

        def save(self: commits.Commit, to: Path) -> None:
            original(self, to)
            raise OSError(errno.EIO, "the folder was not synced")

        original = commits.Commit.save
        with monkeypatch.context() as patch:
            patch.setattr(commits.Commit, "save", save)
            with pytest.raises(StorageError):
                sink.append(10, 20, rows(*range(10, 20)))
    again(path)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("same_process", [True, False])
def test_undoing_that_fails_too_is_one_clear_error(
    tmp_path: Path, name: str, same_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, "gone")

    def fill(sink: Sink) -> None:
        sink.append(10, 25, rows(*range(10, 25)))

    with open_sink(path, SCHEMA) as sink:
        sink.append(0, 10, rows(*range(10)))
        with monkeypatch.context() as patch:
            patch.setattr(commits.Commit, "save", broken)
            patch.setattr("auroral.edge.linesink.cut_back", broken)
            patch.setattr(Path, "unlink", broken)
            with pytest.raises(StorageError):
                fill(sink)
        if same_process:
            with pytest.raises(OutputError, match="could not be undone"):
                sink.append(10, 15, rows(*range(10, 15)))
    again(path)
