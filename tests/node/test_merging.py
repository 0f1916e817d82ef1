"""An output log has a few files, however many deliveries it was written in."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import auroral
from auroral.edge.sinks import output_schema
from auroral.edge.stamping import STIME
from auroral.node.merging import TOGETHER, merge
from auroral.node.outputlog import DamagedOutput, OutputLog

SCHEMA = auroral.schema("n long")
MANY = TOGETHER * TOGETHER + 3 * TOGETHER + 5


def rows(number: int) -> pa.Table:
    """Of [10 * number, 10 * number + 10)."""
    return pa.table({STIME: [10 * number, 10 * number + 5], "n": [number, -number]})


def written(folder: Path, begin: int, end: int) -> OutputLog:
    log = OutputLog.open(folder, SCHEMA, "run")
    for number in range(begin, end):
        log.append(10 * number, 10 * number + 10, rows(number))
    return log


def expected(end: int, begin: int = 0) -> pa.Table:
    together = pa.concat_tables([rows(number) for number in range(begin, end)])
    return pa.table(
        [together.column(0).cast(output_schema(SCHEMA).field(0).type), together.column(1)], output_schema(SCHEMA)
    )


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OutputLog]:
    with closing(written(tmp_path / "out", 0, MANY)) as log:
        yield log


def test_few_files_are_left_and_all_is_read_as_before(log: OutputLog) -> None:
    assert len(files(log.folder)) == MANY
    assert merge(log) == MANY - (1 + 3 + 5)
    assert merge(log) == 0
    assert len(files(log.folder)) == log.parts == 1 + 3 + 5
    for found in (log, OutputLog.look(log.folder, SCHEMA)):
        assert found.read().equals(expected(MANY))
        assert found.read(1005, 1015).equals(expected(102, 100).slice(1, 2))
        assert pa.concat_tables([piece for _, piece in found.ranges(700)]).equals(expected(MANY, 70))
    # It goes on, in this life and in the next.
    log.append(10 * MANY, 10 * MANY + 10, rows(MANY))
    log.close()
    with closing(written(log.folder, MANY + 1, MANY + 20)) as again:
        merge(again)
        assert again.read().equals(expected(MANY + 20))
    assert OutputLog.look(log.folder, SCHEMA).rows == 2 * (MANY + 20)


def test_a_crash_between_the_merged_part_and_those_that_it_is_made_from(log: OutputLog, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(log.folder, before)
    merge(log)
    log.close()
    few = files(log.folder)
    for part in files(before):
        shutil.copy(part, log.folder)
    (log.folder / "part-00000000-00000003_0_40.parquet.tmp").write_bytes(b"half")
    assert OutputLog.look(log.folder, SCHEMA).read().equals(expected(MANY))
    with closing(OutputLog.open(log.folder, SCHEMA, "run")) as again:
        assert files(log.folder) == few and not list(log.folder.glob("*.tmp"))
        assert again.read().equals(expected(MANY))


def test_who_reads_meanwhile_goes_on(log: OutputLog) -> None:
    for reading in (log, OutputLog.look(log.folder, SCHEMA)):
        pieces = reading.pieces(15)
        begun = [next(pieces) for _ in range(3)]
        number = log.parts
        log.append(log.frontier or 0, (log.frontier or 0) + 10, rows((log.frontier or 0) // 10))
        merge(log)
        assert log.parts < number or reading is not log
        found = pa.concat_tables([*begun, *pieces])
        assert found.slice(0, 2 * MANY - 3).equals(expected(MANY).slice(3))


def test_what_was_not_committed_when_it_was_looked_at_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with closing(written(folder, 0, TOGETHER - 3)) as log:
        looked = OutputLog.look(folder, SCHEMA)
        for number in range(TOGETHER - 3, TOGETHER):
            log.append(10 * number, 10 * number + 10, rows(number))
        assert merge(log) == TOGETHER - 1
        assert looked.read().equals(expected(TOGETHER - 3))
        assert [end for end, _ in looked.ranges(None)][-1] == 10 * (TOGETHER - 3)


def test_what_is_damaged_or_gone_is_refused(log: OutputLog) -> None:
    part = files(log.folder)[3]
    content = part.read_bytes()
    part.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    with pytest.raises(DamagedOutput, match="part-00000003"):
        merge(log)
    assert len(files(log.folder)) == MANY, "what it was to be merged with is there"
    part.write_bytes(content)
    merge(log)
    files(log.folder)[0].unlink()
    with pytest.raises(DamagedOutput, match="missing"):
        log.read()
    with pytest.raises(DamagedOutput, match="part 0 of"):
        OutputLog.look(log.folder, SCHEMA)


def _endlessly(folder: Path) -> None:
    log = OutputLog.open(folder, SCHEMA, "run")
    while True:
        number = (log.frontier or 0) // 10
        log.append(10 * number, 10 * number + 10, rows(number))
        merge(log)


@pytest.mark.slow
def test_whoever_writes_and_merges_is_killed(tmp_path: Path) -> None:
    folder, ends = tmp_path / "out", list[int]()
    for life in range(6):
        writer = multiprocessing.get_context("spawn").Process(target=_endlessly, args=(folder,))
        writer.start()
        until = (ends[-1] if ends else 0) + TOGETHER * 3 + life
        deadline = time.monotonic() + 60
        while len(ends) == life:
            assert time.monotonic() < deadline, "it does not go on"
            if (folder / "_commit.json").exists():
                # Also while parts are merged.
                looked = OutputLog.look(folder, SCHEMA)
                end = (looked.frontier or 0) // 10
                assert looked.rows == looked.read().num_rows == 2 * end
                if end >= until:
                    ends.append(end)
        writer.kill()
        writer.join()
    with closing(OutputLog.open(folder, SCHEMA, "run")) as log:
        end = (log.frontier or 0) // 10
        assert log.read().equals(expected(end))
        merge(log)
        assert len(files(folder)) < 3 * TOGETHER < end
