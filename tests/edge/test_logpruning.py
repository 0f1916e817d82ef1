"""Pruning a source log: what is needed stays, the sums stay right, and an interruption anywhere does no harm."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from auroral.edge import sourcelog
from auroral.edge.ledger import Reason
from auroral.edge.logpruning import Removed, prune_log
from auroral.edge.records import DamagedSegment
from auroral.edge.sourcelog import SourceLog
from edge.test_sourcelog import SCHEMA, fill, stimes


class Crash(BaseException):
    """The process ends here."""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stimes 0 to 199 in several segments, every third batch with a file of its own, and some rows rejected."""
    monkeypatch.setattr(sourcelog, "SEGMENT_BYTES", 3000)
    monkeypatch.setattr(sourcelog, "PARQUET_ROWS", 10)
    folder = tmp_path / "log"
    with SourceLog.open(folder, SCHEMA, stream="s") as opened:
        for first in range(0, 200, 10):
            if first % 30 == 0:
                fill(opened, first, 10)
            else:
                fill(opened, first, 5)
                fill(opened, first + 5, 5)
        fill(opened, 20, 3)
    return folder


def prune(folder: Path, below: int, records: int = 10**6) -> Removed:
    return prune_log(folder, SCHEMA, "s", below, records)


def reading(folder: Path) -> SourceLog:
    return SourceLog.open(folder, SCHEMA, stream="s", readonly=True)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_rows_from_there_on_and_all_sums_stay(log: Path) -> None:
    whole = reading(log)
    wanted, numbers = whole.read(105), [p.number for p in whole.parts(105)]
    history = list(whole.history())
    removed = prune(log, 105)
    pruned = reading(log)
    assert removed.rows == 105 and removed.bytes > 0
    assert pruned.state == whole.state and pruned.state.ledger.count("s", Reason.LATE) == 3
    assert pruned.read(105).equals(wanted)
    assert min(stimes(pruned.read())) == 105, "the record of 105 to 109 is the first one"
    assert pruned.base.below == 105 and pruned.base.state.rows == 105
    assert [p.number for p in pruned.parts(105)] == numbers
    assert pruned.read_part(pruned.parts(120, 121)[0]).num_rows == 10
    assert pruned.rejected == whole.rejected
    states = [state for state, _ in pruned.history()]
    assert states == [state for state, header in history if header.number >= pruned.base.first]
    assert "000001.seg" not in names(log)
    assert prune(log, 105) == Removed(0, 0)


def test_at_most_so_many_records_go(log: Path) -> None:
    prune(log, 105, records=4)
    assert reading(log).base.first == 4
    prune(log, 105, records=3)
    assert reading(log).base.first == 4, "what is gone stays gone"


def test_a_log_goes_on_when_nothing_is_left_of_it(log: Path) -> None:
    before = reading(log).state
    prune(log, 10**9)
    with SourceLog.open(log, SCHEMA, stream="s") as opened:
        assert opened.state == before and opened.read().num_rows == 0
        fill(opened, 200, 12)
        assert opened.read().column("__seq").to_pylist() == list(range(200, 212))
    again = reading(log)
    assert stimes(again.read()) == list(range(200, 212)) and len(again.rejected) == 3


@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(12))
def test_interrupted_at_any_step(log: Path, monkeypatch: pytest.MonkeyPatch, at: int, done: bool) -> None:
    state, wanted = reading(log).state, reading(log).read(105)
    complete = Path(shutil.copytree(log, log.with_name("complete")))
    prune(complete, 105)
    steps = 0

    def crashing(real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == at + 1 and not done:
                raise Crash
            result = real(*given, **named)
            if steps == at + 1:
                raise Crash
            return result

        return call

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", crashing(os.replace))
        patched.setattr(os, "unlink", crashing(os.unlink))
        try:
            prune(log, 105)
        except Crash:
            assert steps == at + 1
        else:
            assert at >= steps > 4, "there are not so many steps"
    left = Path(shutil.copytree(log, log.with_name("left")))
    assert reading(left).state == state
    assert reading(left).read(105).equals(wanted)
    with SourceLog.open(left, SCHEMA, stream="s") as opened:
        fill(opened, 200, 5)
    assert stimes(reading(left).read(105)) == list(range(105, 205))
    prune(log, 105)
    assert names(log) == names(complete)
    assert all((log / name).read_bytes() == (complete / name).read_bytes() for name in names(log))


def test_damage_is_refused_by_name(log: Path, tmp_path: Path) -> None:
    prune(log, 105)
    first = min(log.glob("*.seg"))

    def changed(name: str) -> Path:
        return Path(shutil.copytree(log, tmp_path / name))

    lost = changed("lost")
    (lost / first.name).unlink()
    with pytest.raises(DamagedSegment, match=f"{first.name}.*is missing"):
        reading(lost)
    forgotten = changed("forgotten")
    (forgotten / "pruned.json").unlink()
    with pytest.raises(DamagedSegment, match=r"000001\.seg.*is missing"):
        reading(forgotten)
    torn = changed("torn")
    text = (torn / "pruned.json").read_text()
    (torn / "pruned.json").write_text(text.replace('"rows": 105', '"rows": 104'))
    with pytest.raises(DamagedSegment, match=r"pruned\.json.*what was pruned"):
        reading(torn)
    damaged = changed("damaged")
    content = bytearray((damaged / first.name).read_bytes())
    content[40] ^= 1
    (damaged / first.name).write_bytes(content)
    with pytest.raises(DamagedSegment, match=first.name):
        reading(damaged)
