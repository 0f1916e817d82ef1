"""What connection points show in their folders, and what is let go of logs that are there for them alone."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

import auroral
from auroral.edge.generations import Generations
from auroral.edge.stamping import STIME
from auroral.node import committing
from auroral.node.history import MANIFEST, Histories
from auroral.node.outputlog import DamagedOutput, LetGo, OutputLog
from auroral.node.runfolder import RunFolder
from node.keeping import BUCKETS, EACH, ROWS, B, Writing, rows, shown, wrong
from node.running import PassOn, runner_in
from node.running import rows as seconds_of


def test_each_shows_the_newest_rows_and_the_log_is_cut_to_them(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "run")
    seen = []
    for _ in range(BUCKETS):
        writing.step()
        assert wrong(tmp_path / "run") == []
        seen.append(writing.log.base)
    assert seen[0] is None and seen[-1] is not None and seen[-1] > B * BUCKETS // 2
    kept = writing.log.read()
    assert kept.num_rows + writing.log.let_go == writing.log.rows == BUCKETS * EACH
    with pytest.raises(LetGo, match="were let go"):
        writing.log.read(0)
    with pytest.raises(LetGo, match="were let go"):
        list(writing.log.ranges(0))
    looked = OutputLog.look(writing.log.folder, writing.log.schema)
    assert looked.read().equals(kept)
    # Somebody who looked before, and reads what is gone by now, is told so.
    for _ in range(BUCKETS):
        writing.step()
    with pytest.raises(LetGo):
        looked.read()
    # A stream that a sink writes elsewhere stays whole.
    assert Histories(writing.folder, {"f": writing.log, "g": writing.log}, ["f"]).cut == set()


def test_what_was_shown_before_stays_for_a_while_and_then_goes(tmp_path: Path) -> None:
    place = Generations(tmp_path / "history" / "v", stays=3600)
    place.show({"a": b"1"})
    before = place.newest
    place.show({"b": b"2", "a": tmp_path / "history" / "v" / "a"})
    assert before is not None and (before / "a").read_bytes() == b"1"
    assert sorted(one.name for one in (tmp_path / "history" / "v").iterdir()) == ["a", "b"]
    Generations(tmp_path / "history" / "v", stays=0).show({"c": b"3"})
    assert not before.exists() and [one.name for one in (tmp_path / "history" / "v").iterdir()] == ["c"]


def test_a_copy_that_followed_links_goes_on(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "run")
    writing.live(BUCKETS // 2)
    writing.close()
    # As scp does.
    shutil.copytree(tmp_path / "run", tmp_path / "copy", symlinks=False)
    assert not (tmp_path / "copy" / "history" / "rows").is_symlink()
    Writing(tmp_path / "copy").live(BUCKETS)
    assert wrong(tmp_path / "copy") == []
    assert shown(tmp_path / "copy" / "history" / "rows")[1]["frontier"] == BUCKETS * B


def test_nothing_and_values_that_are_missing(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "n long").filter("f", "true").keep("by n", last=5, by="n")
    folder = RunFolder.claim(tmp_path / "run", d.check(), {}, {}, False)
    log = OutputLog.open(folder.output("f"), auroral.schema("n long"), "run")
    histories = Histories(folder, {"f": log})
    histories.publish()
    assert not folder.history("by n").exists()
    log.append(0, B, pa.table({STIME: pa.array([], pa.int64()), "n": pa.array([], pa.int64())}))
    histories.publish()
    assert shown(folder.history("by n"))[0] == [], "whoever reads it knows the columns all the same"
    log.append(B, 2 * B, pa.table({STIME: [B, B + 1, B + 2], "n": [3, None, 9]}))
    log.append(2 * B, 3 * B, pa.table({STIME: [2 * B], "n": [4]}))
    histories.publish()
    assert shown(folder.history("by n")) == (
        [9, 4],
        {"view": "by n", "stream": "f", "begin": B, "frontier": 3 * B, "cut": 4, "rows": 2, "before": 2},
    )
    # Of what was damaged nothing is used: it is made anew.
    newest = Generations(folder.history("by n")).newest
    assert newest is not None
    (newest / MANIFEST).write_text("{")
    Histories(folder, {"f": log}).publish()
    assert shown(folder.history("by n"))[0] == [9, 4]


def test_a_part_that_is_damaged_is_named_and_others_are_shown(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "n long")
    s.filter("f", "true").keep("of f", last="2s")
    s.filter("g", "true").keep("of g", rows=20)
    folder = RunFolder.claim(tmp_path / "run", d.check(), {}, {}, False)
    logs = {name: OutputLog.open(folder.output(name), auroral.schema("n long"), "run") for name in "fg"}
    for log in logs.values():
        for bucket in range(8):
            log.append(bucket * B, (bucket + 1) * B, rows(bucket))
    (part, *_) = logs["f"].listed()
    (logs["f"].folder / part.name).write_bytes(b"PAR1 but not for long")
    histories = Histories(folder, logs)
    with pytest.raises(DamagedOutput, match=part.name):
        histories.publish()
    assert shown(folder.history("of g"))[0] == list(range(4, 8 * EACH)) and not folder.history("of f").exists()
    # What was written for the folder alone is made anew.
    newest = Generations(folder.history("of g")).newest
    assert newest is not None
    (reduced,) = newest.glob("*_from_*")
    reduced.write_bytes(b"")
    logs["g"].append(8 * B, 9 * B, rows(8))
    with pytest.raises(DamagedOutput):
        Histories(folder, logs).publish()
    assert shown(folder.history("of g"))[0] == list(range(4, 9 * EACH))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "run")
    writing.live(3)
    damaged = writing.log.folder / writing.log.listed()[0].name
    damaged.write_bytes(damaged.read_bytes()[:-9])
    writing.close()
    with pytest.raises(DamagedOutput, match=damaged.name):
        Writing(tmp_path / "run").histories.publish()


def test_it_ends_at_every_call_that_changes_the_disk(tmp_path: Path) -> None:
    program = Path(__file__).with_name("keeping.py")
    run = [sys.executable, str(program), str(tmp_path / "run")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == [] and told["lives"] > 20, done.stderr
    assert wrong(tmp_path / "run") == []


def _endlessly(place: Path) -> None:
    writing = Writing(place)
    while True:
        writing.step()


def test_whoever_lists_the_folder_sees_no_row_twice_and_misses_none(tmp_path: Path) -> None:
    """While it is written to, merged, and its writer is killed."""
    place, ends = tmp_path / "run", [0]
    for _ in range(2):
        writer = multiprocessing.get_context("spawn").Process(target=_endlessly, args=(place,))
        writer.start()
        deadline = time.monotonic() + 60
        before = ends[-1]
        while ends[-1] < before + 40 * EACH:
            assert time.monotonic() < deadline, "it does not go on"
            try:
                numbers, _ = shown(place / "history" / "rows")
            except (FileNotFoundError, NotADirectoryError):
                # There was nothing yet; or a file was gone when it was opened, which nobody can take for nothing.
                continue
            assert len(numbers) >= min(ROWS, numbers[-1] + 1)
            assert numbers == list(range(numbers[0], numbers[-1] + 1))
            ends.append(numbers[-1])
            assert ends == sorted(ends)
        writer.kill()
        writer.join()
        assert wrong(place) == []


def test_what_came_is_shown_while_nothing_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "PUBLISH_EVERY", 0.2)
    d = auroral.diagram("d", bucket="1s")
    d.input("in", "ts long, v long", stime="ts", unit="us").filter("out", "true").keep("all").output()
    runner = runner_in(tmp_path / "run", d.check(), PassOn())
    running = Thread(target=runner.run, daemon=True)
    running.start()
    (source,) = runner.sources.values()
    # The last of them leaves its bucket open.
    for seconds in ((0.1,), (1.1, 2.1)):
        source.take(seconds_of(*seconds), 0)
        runner.wake()
    place, deadline = tmp_path / "run" / "history" / "all" / MANIFEST, time.monotonic() + 20
    while not place.exists() or json.loads(place.read_text())["frontier"] < 2 * B:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    runner.request_stop()
    running.join()
