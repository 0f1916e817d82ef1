"""Files that appear in a folder, and a file that grows: each row once, in order, also when the source is killed at any moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.edge.intake import Format
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ
from auroral.node.fleet.inputs import folder as folders
from auroral.node.fleet.inputs import tail as tails
from auroral.node.fleet.inputs.folder import FolderInput
from auroral.node.fleet.inputs.tail import TailInput
from auroral.node.fleet.inputs.takenfiles import Begun, TakenFiles
from auroral.node.source import Source
from fleet import inputs
from fleet.inputs import a_source, ledger, numbers, until

AN_HOUR_AGO = time.time() - 3600


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(folders, "QUIET", 0.1)
    monkeypatch.setattr(tails, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(tails, "QUIET", 0.1)


@contextmanager
def running(feed: FolderInput | TailInput) -> Iterator[None]:
    stop, failed = threading.Event(), []

    def run() -> None:
        try:
            feed.run(stop, lambda: None)
        except Exception as error:  # noqa: BLE001  it is raised below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)
    for error in failed:
        raise error


def old(path: Path, text: str) -> Path:
    """A file that says that it was written long ago, as a copy may."""
    path.write_text(text)
    os.utime(path, (AN_HOUR_AGO, AN_HOUR_AGO))
    return path


def csv(*values: int) -> str:
    return "ts,n,name\n" + "".join(f"1,{n},x\n" for n in values)


def json_rows(*values: int) -> str:
    return "".join(f'{{"ts": 1, "n": {n}, "name": "x"}}\n' for n in values)


class Told:
    def __init__(self) -> None:
        self.all: list[str] = []

    def __call__(self, text: str) -> None:
        self.all.append(text)

    def of(self, part: str) -> list[str]:
        return [text for text in self.all if part in text]


@pytest.fixture
def come(tmp_path: Path) -> Path:
    (tmp_path / "come").mkdir()
    return tmp_path / "come"


def folder_input(source: Source, come: Path, told: Told) -> FolderInput:
    return FolderInput(source, come, lambda: 7, told)


# A folder


def test_files_of_each_format_are_taken_once_in_the_order_of_their_names(come: Path, tmp_path: Path) -> None:
    told, source = Told(), a_source(tmp_path / "log")
    old(come / "b.jsonl", json_rows(3, 4))
    old(come / "a.csv", csv(1, 2))
    old(come / "_c.csv", csv(99))
    pq.write_table(pa.table({"ts": [1], "n": [5], "name": ["x"]}), come / "c.parquet")
    os.utime(come / "c.parquet", (AN_HOUR_AGO, AN_HOUR_AGO))
    with running(folder_input(source, come, told)):
        until(lambda: source.state.rows_read == 5)
        # One whose name stands before the others is new all the same.
        os.rename(old(tmp_path / "elsewhere", csv(6)), come / "aa.csv")
        until(lambda: source.state.rows_read == 6)
    with running(folder_input(source, come, told)):
        os.rename(old(tmp_path / "elsewhere", csv(7)), come / "d.csv")
        until(lambda: source.state.rows_read == 7)
    assert numbers(source) == [1, 2, 3, 4, 5, 6, 7] and told.all == []
    source.close()


def test_a_file_is_taken_when_it_has_not_changed_for_a_while(
    come: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = a_source(tmp_path / "log")
    monkeypatch.setattr(folders, "QUIET", 1000)
    with running(folder_input(source, come, Told())):
        (come / "a.csv").write_text(csv(1))
        # As a copy that keeps the time, and is not done yet.
        old(come / "b.csv", csv(9))
        time.sleep(0.2)
        assert source.state.rows_read == 0
        with (come / "a.csv").open("a") as file:
            file.write("1,2,x\n")
        monkeypatch.setattr(folders, "QUIET", 0.05)
        until(lambda: source.state.rows_read == 3)
    assert sorted(numbers(source)) == [1, 2, 9]
    source.close()


def test_what_cannot_be_read_is_told_of_once_and_read_when_it_is_mended(come: Path, tmp_path: Path) -> None:
    told, source = Told(), a_source(tmp_path / "log")
    old(come / "a.csv", "ts,name\n1,x\n")
    old(come / "b.parquet", "PAR1 half of it")
    old(come / "c.xlsx", "?")
    old(come / "d.csv", csv(1) + "1,many,x\n")
    with running(folder_input(source, come, told)):
        until(lambda: source.state.rows_read == 2)
        until(lambda: told.of("c.xlsx"))
        old(come / "a.csv", csv(2))
        until(lambda: source.state.rows_read == 3)
        # The same name again, with other rows.
        old(come / "d.csv", csv(3, 4, 5))
        until(lambda: told.of("d.csv was taken before, and is not read again"))
        time.sleep(0.1)
    assert numbers(source) == [1, 2] and ledger(source) == {"refused": 1}
    assert len(told.all) == 4
    assert "no column 'n'" in told.of("a.csv")[0] and "no readable Parquet" in told.of("b.parquet")[0]
    assert "allowed: names that end with .csv" in told.of("c.xlsx")[0]
    source.close()


def test_files_whose_names_are_no_utf8_are_taken_or_told_of(come: Path, tmp_path: Path) -> None:
    told, source = Told(), a_source(tmp_path / "log")
    csv_file, parquet = (come / os.fsdecode(b"\xff." + ending) for ending in (b"csv", b"parquet"))
    old(csv_file, csv(1) + "1,many,x\n")
    pq.write_table(pa.table({"ts": [1], "n": [3], "name": ["x"]}), tmp_path / "plain.parquet")
    os.rename(tmp_path / "plain.parquet", parquet)
    with running(folder_input(source, come, told)):
        until(lambda: told.of("the name is not UTF-8"))
        old(come / "z.csv", csv(2))
        until(lambda: source.state.rows_read == 3)
    assert numbers(source) == [1, 2] and ledger(source) == {"refused": 1}
    source.close()


def test_a_folder_that_goes_away_is_told_of_and_waited_for(come: Path, tmp_path: Path) -> None:
    told, source = Told(), a_source(tmp_path / "log")
    with running(folder_input(source, come, told)):
        come.rmdir()
        until(lambda: told.of("cannot be read"))
        come.mkdir()
        old(come / "a.csv", csv(1))
        until(lambda: source.state.rows_read == 1)
    assert len(told.all) == 1
    source.close()


@pytest.mark.parametrize(
    ("change", "said"), [("gone", "is gone since 2 rows"), ("changed", "has changed since 2 rows")]
)
def test_a_file_that_changes_in_the_middle_is_told_of(change: str, said: str, come: Path, tmp_path: Path) -> None:
    told, source = Told(), a_source(tmp_path / "log")
    TakenFiles(source.log.folder).begin(Begun("a.csv", 0, {"size": 55, "changed": 1}))
    source.take(pa.table({"ts": [1, 1], "n": [1, 2], "name": ["x", "x"]}), 0)
    if change == "changed":
        old(come / "a.csv", csv(1, 2, 3))
    old(come / "b.csv", csv(4))
    with running(folder_input(source, come, told)):
        until(lambda: source.state.rows_read == 3)
    assert numbers(source) == [1, 2, 4]
    assert said in told.all[0]
    source.close()


def test_half_a_note_of_a_crash_is_none(tmp_path: Path) -> None:
    taken = TakenFiles(tmp_path)
    taken.begin(Begun("a", 3, {"size": 1}))
    taken.end("a", {"size": 1})
    with (tmp_path / "files.jsonl").open("a") as file:
        file.write('{"begun": "b", "first": 7, "mark": {"a long": "one, which a crash cut of')
    again = TakenFiles(tmp_path)
    assert again.unfinished is None and again.ended == {"a": {"size": 1}}
    again.begin(Begun("b", 8))
    last = TakenFiles(tmp_path)
    assert last.unfinished == Begun("b", 8) and list(last.ended) == ["a"]


# A file that grows


def tail_input(source: Source, path: Path, told: Told, form: Format = Format.CSV) -> TailInput:
    return TailInput(source, path, form, lambda: 7, told)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_is_followed_through_rotations(tmp_path: Path) -> None:
    told, source, path = Told(), a_source(tmp_path / "log"), tmp_path / "rows.csv"
    with running(tail_input(source, path, told)):
        path.write_text("ts,n,name\n1,1,x\n1,2")
        until(lambda: source.state.rows_read == 1)
        append(path, ",x\n1,bad,x\n")
        until(lambda: source.state.rows_read == 3)
        path.rename(tmp_path / "rows.csv.1")
        # Its writer notices a little later; its last line has no end.
        append(tmp_path / "rows.csv.1", "1,3,x")
        path.write_text(csv(4))
        until(lambda: source.state.rows_read == 5)
        # Cut to nothing and written anew.
        path.write_text("")
        until(lambda: told.of("was cut from"))
        path.write_text(csv(5))
        until(lambda: source.state.rows_read == 6)
    assert numbers(source) == [1, 2, 3, 4, 5] and ledger(source) == {"refused": 1}
    source.close()


def test_files_that_have_the_name_only_for_a_moment_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, source, path = Told(), a_source(tmp_path / "log"), tmp_path / "rows.jsonl"
    monkeypatch.setattr(tails, "QUIET", 0.5)
    feed = tail_input(source, path, told, Format.JSON)
    path.write_text(json_rows(1))
    with running(feed):
        until(lambda: source.state.rows_read == 1)
        for n in (2, 3, 4):
            path.rename(tmp_path / f"rows.jsonl.{n}")
            path.write_text(json_rows(n))
            until(lambda n=n: len(feed._opened) == n - 1)
        until(lambda: source.state.rows_read == 4)
    assert numbers(source) == [1, 2, 3, 4] and told.all == []
    source.close()


def test_a_file_is_gone_on_with_in_the_next_life_also_if_it_was_renamed(tmp_path: Path) -> None:
    told, source, path = Told(), a_source(tmp_path / "log"), tmp_path / "rows.log"
    path.write_text(json_rows(1, 2))
    with running(tail_input(source, path, told, Format.JSON)):
        until(lambda: source.state.rows_read == 2)
    append(path, json_rows(3))
    with running(tail_input(source, path, told, Format.JSON)):
        until(lambda: source.state.rows_read == 3)
    assert told.all == []
    append(path, json_rows(4))
    path.rename(tmp_path / "rows.log-20260301")
    path.write_text(json_rows(5))
    with running(tail_input(source, path, told, Format.JSON)):
        until(lambda: source.state.rows_read == 5)
    assert "is rows.log-20260301 now" in told.all[0] and len(told.all) == 1
    # One that cannot be found any more.
    path.unlink()
    old(path, json_rows(6))
    with running(tail_input(source, path, told, Format.JSON)):
        until(lambda: source.state.rows_read == 6)
    assert "cannot be found" in told.all[1]
    assert numbers(source) == [1, 2, 3, 4, 5, 6]
    source.close()


def test_lines_that_are_too_long_and_rubbish_are_refused(tmp_path: Path) -> None:
    told, source, path = Told(), a_source(tmp_path / "log"), tmp_path / "rows.jsonl"
    path.write_bytes(bytes(3 << 20) + b"\n" + json_rows(1).encode() + bytes(range(255)) + b"\n")
    with running(tail_input(source, path, told, Format.JSON)):
        until(lambda: numbers(source) == [1] and source.state.rows_read >= 3)
        read = source.state.rows_read
    with running(tail_input(source, path, told, Format.JSON)):
        append(path, json_rows(2))
        until(lambda: source.state.rows_read == read + 1)
    assert numbers(source) == [1, 2] and ledger(source) == {"refused": read - 1}
    source.close()


def test_a_file_with_a_wrong_header_is_told_of_and_the_next_one_taken(tmp_path: Path) -> None:
    told, source, path = Told(), a_source(tmp_path / "log"), tmp_path / "rows.csv"
    path.write_text("ts,name\n1,x\n")
    with running(tail_input(source, path, told)):
        until(lambda: told.of("no column 'n'"))
        path.rename(tmp_path / "wrong.csv")
        path.write_text(csv(1))
        until(lambda: source.state.rows_read == 1)
    assert numbers(source) == [1]
    source.close()


def rewritten(path: Path, text: str) -> None:
    """In place: it keeps its number."""
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def test_a_file_that_is_written_anew_in_its_place_is_read_from_its_beginning(tmp_path: Path) -> None:
    told, source, path = Told(), a_source(tmp_path / "log"), tmp_path / "rows.csv"
    # Its beginning stays the same, which is longer than what is compared.
    same = range(1000, 1700)
    path.write_text(csv(*same, 1, 2, 3))
    with running(tail_input(source, path, told)):
        until(lambda: source.state.rows_read == 703)
    rewritten(path, csv(*same, 4, 5, 6, 7))
    with running(tail_input(source, path, told)):
        until(lambda: source.state.rows_read == 703 + 704)
        time.sleep(0.1)
        rewritten(path, csv(*same, 8, 9, 1, 2, 3))
        until(lambda: source.state.rows_read == 703 + 704 + 705)
        append(path, "1,4,x\n")
        until(lambda: source.state.rows_read == 703 + 704 + 706)
    assert numbers(source) == [*same, 1, 2, 3, *same, 4, 5, 6, 7, *same, 8, 9, 1, 2, 3, 4]
    assert [("since the source ended" in text, "written anew" in text) for text in told.all] == [
        (True, True),
        (False, True),
    ]
    source.close()


# Killed


def started(log: Path, how: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, inputs.__file__, str(log), how], env=environment)


def logged(log: Path) -> Any:
    with SourceLog.open(log, a_schema(), readonly=True) as found:
        return found.read().sort_by(SEQ).column("n").to_pylist(), found.state.rows_read


def a_schema() -> Any:
    return inputs.auroral.schema("ts long, n int, name string")


def rows_read(log: Path) -> int:
    try:
        return int(logged(log)[1])
    except Exception:  # noqa: BLE001  it may just be written
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("way", ["folder", "tail"])
def test_killed_at_any_moment_each_row_is_taken_once(way: str, come: Path, tmp_path: Path) -> None:
    draw, log, path = random.Random(way), tmp_path / "log", tmp_path / "rows.jsonl"
    how = f"{come}/" if way == "folder" else f"tail:{path}"
    written, files = 0, 0
    child = started(log, how)
    try:
        for _ in range(4):
            for _ in range(draw.randrange(2, 5)):
                values = range(written, written + draw.randrange(1, 6_000))
                written = values.stop
                files += 1
                if way == "folder":
                    os.rename(old(tmp_path / "new", json_rows(*values)), come / f"{files:04}.jsonl")
                else:
                    append(path, json_rows(*values))
                    if draw.random() < 0.3:
                        # Not twice while the source is away: it has begun with this one.
                        until(lambda end=written: rows_read(log) == end)
                        path.rename(tmp_path / f"rows.jsonl.{files}")
            before, end = rows_read(log), written
            until(lambda before=before, end=end: rows_read(log) > before or rows_read(log) == end)
            time.sleep(draw.random() * 0.2)
            child.kill()
            child.wait()
            child = started(log, how)
        until(lambda: rows_read(log) == written)
    finally:
        child.kill()
        child.wait()
    assert logged(log)[0] == list(range(written))
