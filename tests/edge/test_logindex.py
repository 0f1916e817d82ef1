"""The index of a source log: small however long the log is, and right where it was made smaller."""

from collections.abc import Callable
from pathlib import Path

import pytest

from auroral.edge import logindex, sourcelog
from auroral.edge.records import DamagedSegment, Kind
from auroral.edge.segments import segment
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import StampState
from edge.test_sourcelog import SCHEMA, fill, stimes

PACKAGE = "*/auroral/*"
MARKS = 3_000
PUSHES = 1_000
WARM = 200


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)


def test_marks_take_no_memory(tmp_path: Path, bytes_held: Callable[[str], int]) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        for number in range(MARKS + 1):
            if number == WARM:
                before = bytes_held(PACKAGE)
            log.mark(StampState(0, None, number * 10))
        assert (bytes_held(PACKAGE) - before) / (MARKS - WARM) < 2
    before = bytes_held(PACKAGE)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert (bytes_held(PACKAGE) - before) / MARKS < 2
        assert log.next_number == MARKS + 1 and log.state.boundary == MARKS * 10
        assert sum(1 for _ in log.entries()) == MARKS + 1


def test_rows_that_were_evaluated_take_hardly_any(
    tmp_path: Path, bytes_held: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logindex, "MERGED", 32)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        for first in range(PUSHES):
            if first == WARM:
                before = bytes_held(PACKAGE)
            fill(log, first, 1)
            log.settle(first)
        assert (bytes_held(PACKAGE) - before) / (PUSHES - WARM) < 20
        assert stimes(log.read(300, 600)) == list(range(300, 600))
        assert stimes(log.read()) == list(range(PUSHES))
    before = bytes_held(PACKAGE)
    with SourceLog.open(tmp_path, SCHEMA, used=PUSHES - 50) as log:
        assert (bytes_held(PACKAGE) - before) / PUSHES < 20


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logindex, "MERGED", 4)
    monkeypatch.setattr(logindex, "LONGEST", 9)
    monkeypatch.setattr(sourcelog, "SEGMENT_BYTES", 8_000)
    monkeypatch.setattr(sourcelog, "PARQUET_ROWS", 5)


def varied(log: SourceLog) -> None:
    """Rows out of order, files of their own and stretches of marks, in several segments."""
    for number in range(60):
        fill(log, number * 4, 7 if number % 5 == 0 else 3)
        if number % 3 == 0:
            fill(log, number * 4 - 9, 2)
        for _ in range(number % 7 if number > 30 else 0):
            stamp = log.state.stamp
            log.mark(StampState(stamp.next_seq, stamp.newest_stime, (stamp.boundary or 0) + 1))


@pytest.mark.parametrize("settled", [0, 1, 37, 150, 236, 10**9])
def test_it_finds_the_same_when_merged(tmp_path: Path, small: None, settled: int) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        varied(log)
        exact = SourceLog.open(tmp_path, SCHEMA, readonly=True)
        log.settle(settled)
        assert len(list(tmp_path.glob("*.seg"))) > 2
        for low in (None, *range(-20, 260, 7)):
            for high in (None, *range(-20, 260, 11)):
                assert log.parts(low, high) == exact.parts(low, high)
        assert all(log.read_part(part).equals(exact.read_part(part)) for part in exact.parts())
        assert {part.kind for part in exact.parts()} == {Kind.INLINE, Kind.PARQUET}
        assert log.first_stime == exact.first_stime == min(stimes(exact.read()))
        assert [e.header for e in log.entries()] == [e.header for e in exact.entries()]


def test_what_is_merged_is_still_looked_at(tmp_path: Path, small: None) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        varied(log)
        log.settle(10**9)
        path = segment(tmp_path, 1)
        content = bytearray(path.read_bytes())
        content[0] ^= 1
        path.write_bytes(content)
        with pytest.raises(DamagedSegment, match=r"000001\.seg, byte 0"):
            log.parts(0, 1)


def test_settling_again_and_again_is_the_same(tmp_path: Path, small: None) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        varied(log)
        for stime in range(0, 250, 3):
            log.settle(stime)
            fill(log, 240 + stime, 2)
        exact = SourceLog.open(tmp_path, SCHEMA, readonly=True)
        assert log.parts() == exact.parts()
        assert log.parts(100, 300) == exact.parts(100, 300)
