"""The source log: what was acknowledged is there, once, whatever happens to the process or the disk."""

import errno
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.edge import durable, rejectedrows, sourcelog
from auroral.edge.durable import InUse, StorageError, StorageFull
from auroral.edge.ledger import Reason
from auroral.edge.records import DamagedSegment, Kind
from auroral.edge.refusals import Refused
from auroral.edge.sourcelog import SourceLog, SourceLogError
from auroral.edge.stamping import Stamped, Stamper, stamped_schema
from auroral.model.diagram import Input, Late, Stamp
from auroral.model.schema import schema
from edge.children import killed_after, moments, small_disk

SCHEMA = schema("t long, name string(5)")
INPUT = Input("s", SCHEMA, Stamp("t", delay=20), Late.REJECT)
B = 10


def rows(first: int, count: int, name: str = "x") -> pa.Table:
    return pa.table({"t": pa.array(range(first, first + count), pa.int64()), "name": [name] * count})


def fill(log: SourceLog, first: int, count: int, name: str = "x") -> Stamped:
    stamper = Stamper(INPUT, B, log.state.stamp)
    stamped = stamper.stamp(rows(first, count, name), 0)
    log.append(stamped, stamper.state)
    return stamped


def stimes(table: pa.Table) -> list[int]:
    values: list[int] = table.column("__stime").to_pylist()
    return values


def test_rows_and_state_are_there_again(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path / "log", SCHEMA, stream="s") as log:
        one, two = fill(log, 0, 50), fill(log, 50, 10)
        state = log.state
        assert state.boundary == 30
        assert (state.rows, state.rows_read, state.ended) == (60, 60, False)
    with SourceLog.open(tmp_path / "log", SCHEMA, stream="s") as again:
        assert again.torn is None
        assert again.state == state
        assert again.read().equals(pa.concat_tables([one.rows, two.rows]))
        fill(again, 60, 5)
        assert again.read().column("__seq").to_pylist() == list(range(65))
        assert again.read().schema.equals(stamped_schema(SCHEMA))


def test_read_takes_only_what_overlaps(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        for first in range(0, 100, 10):
            fill(log, first, 10)
        stamper = Stamper(INPUT, B, log.state.stamp)
        log.mark(stamper.state)
        assert stimes(log.read(35, 52)) == list(range(35, 52))
        assert [(p.low, p.high) for p in log.parts(35, 52)] == [(30, 39), (40, 49), (50, 59)]
        assert log.parts(100, 200) == log.parts(-5, 0) == []
        assert log.read(100, 200).schema.equals(stamped_schema(SCHEMA))
        assert stimes(log.read(None, 3)) == [0, 1, 2]
        assert stimes(log.read(97)) == [97, 98, 99]


def test_rows_out_of_order_are_found_too(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 1)
        fill(log, 30, 1)
        fill(log, 12, 1)
        fill(log, 29, 3)
        assert stimes(log.read(10, 31)) == [30, 12, 29, 30]


def test_large_batches_get_a_parquet_file(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 9_999)
        big = fill(log, 9_999, 10_000)
        inline, parquet = log.parts()
        assert (inline.kind, parquet.kind) == (Kind.INLINE, Kind.PARQUET)
        assert (parquet.low, parquet.high, parquet.rows) == (9_999, 19_998, 10_000)
        assert pq.read_table(parquet.path).equals(big.rows)
        assert log.read_part(parquet).equals(big.rows)
        assert stimes(log.read(9_998, 10_001)) == [9_998, 9_999, 10_000]
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert log.read().num_rows == 19_999


def test_marks_carry_boundary_and_end(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 5)
        size = (tmp_path / "000001.seg").stat().st_size
        log.mark(log.state.stamp)
        assert (tmp_path / "000001.seg").stat().st_size == size, "nothing changed, nothing written"
        stamper = Stamper(INPUT, B, log.state.stamp)
        stamper.end_of_input()
        log.mark(stamper.state, ended=True)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert (log.state.boundary, log.state.ended) == (10, True)
        assert [entry.header.kind for entry in log.entries()] == [Kind.INLINE, Kind.MARK]
        assert [entry.header.rows for entry in log.entries()] == [5, 0]


def test_rejected_and_refused_rows_are_kept_and_counted(tmp_path: Path) -> None:
    refused = Refused("in.csv", 7, 5, "t", "abc", "long", "not a whole number")
    with SourceLog.open(tmp_path, SCHEMA, stream="s") as log:
        stamper = Stamper(INPUT, B)
        log.append(stamper.stamp(rows(100, 1), 0), stamper.state)
        log.append(stamper.stamp(rows(3, 2), 0), stamper.state, refused=[refused])
        fill(log, 100, 1, "too long")
    with SourceLog.open(tmp_path, SCHEMA, stream="s") as log:
        assert log.state.rows_read == 5
        ledger = log.state.ledger
        reasons = (Reason.LATE, Reason.REFUSED, Reason.TOO_LONG)
        assert [ledger.count("s", reason) for reason in reasons] == [2, 1, 1]
        assert [entry["__reason"] for entry in log.rejected] == ["refused", "late", "late", "too long"]
        assert log.rejected[0]["line"] == 7
        assert log.rejected[1] == {"t": 3, "name": "x", "__reason": "late"}


def test_position_in_the_input_can_be_given(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        stamper = Stamper(INPUT, B)
        log.append(stamper.stamp(rows(0, 1), 0), stamper.state, rows_read=17)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert log.state.rows_read == 17


def test_segments_rotate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sourcelog, "SEGMENT_BYTES", 2_000)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        for first in range(20):
            fill(log, first, 1)
    assert len(list(tmp_path.glob("*.seg"))) > 3
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 20, 1)
        assert stimes(log.read()) == list(range(21))
    (tmp_path / "000002.seg").rename(tmp_path / "away")
    with pytest.raises(DamagedSegment, match=r"000002\.seg.*missing"):
        SourceLog.open(tmp_path, SCHEMA)


@pytest.mark.parametrize("keep", [1, 4, 11, 12, 40, 200, -1])
def test_a_torn_end_is_cut_and_reported(tmp_path: Path, keep: int) -> None:
    segment = tmp_path / "000001.seg"
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 3)
        whole = segment.stat().st_size
        fill(log, 100, 1)
        fill(log, 0, 3)
        log.close()
    never_acknowledged(tmp_path)
    second = segment.read_bytes()[whole:]
    segment.write_bytes(segment.read_bytes()[:whole] + second[: len(second) // 2][:keep])
    size = segment.stat().st_size
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert log.torn is not None
        assert (log.torn.offset, log.torn.lost) == (whole, size - whole)
        assert "unfinished" in str(log.torn)
        assert log.rejected == []
        fill(log, 3, 2)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert log.torn is None
        assert stimes(log.read()) == [0, 1, 2, 3, 4]


def test_a_bad_checksum_at_the_very_end_is_torn_and_zeros_too(tmp_path: Path) -> None:
    segment = tmp_path / "000001.seg"
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 3)
        whole = segment.stat().st_size
        fill(log, 3, 3)
    flip(segment, -5)
    never_acknowledged(tmp_path)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert log.torn is not None
        assert stimes(log.read()) == [0, 1, 2]
    with segment.open("ab") as file:
        file.write(bytes(4096))
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert segment.stat().st_size == whole
        assert stimes(log.read()) == [0, 1, 2]


def never_acknowledged(folder: Path) -> None:
    """As if the process had ended within the write, and not after it."""
    (folder / "writer.lock").write_bytes(b"")


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("offset", [0, 5, 9, 20, 300])
def test_a_damaged_record_in_the_middle_is_an_error(tmp_path: Path, offset: int) -> None:
    segment = tmp_path / "000001.seg"
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 30)
        start = segment.stat().st_size
        fill(log, 30, 30)
        fill(log, 60, 30)
    before = segment.stat().st_size
    flip(segment, start + offset)
    with pytest.raises(DamagedSegment, match=rf"(?s)000001\.seg, byte {start}: .*allowed.*next: restore") as raised:
        SourceLog.open(tmp_path, SCHEMA)
    assert raised.value.offset == start
    assert segment.stat().st_size == before, "nothing is cut off a damaged log"


def test_damage_at_the_end_of_an_earlier_segment_is_no_torn_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sourcelog, "SEGMENT_BYTES", 1)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 1)
        fill(log, 1, 1)
    flip(tmp_path / "000001.seg", -1)
    with pytest.raises(DamagedSegment, match=r"000001\.seg"):
        SourceLog.open(tmp_path, SCHEMA)


def test_damaged_or_missing_parquet_files_are_errors(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 10_000)
        path = log.parts()[0].path
    flip(path, path.stat().st_size // 2)
    with SourceLog.open(tmp_path, SCHEMA) as log, pytest.raises(DamagedSegment, match="checksum"):
        log.read()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedSegment, match="bytes and has"):
        SourceLog.open(tmp_path, SCHEMA)
    path.unlink()
    with pytest.raises(DamagedSegment, match="missing"):
        SourceLog.open(tmp_path, SCHEMA)


def test_what_a_crash_left_behind_is_removed(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 100, 1)
        fill(log, 0, 1)
    kept = (tmp_path / "rejected.jsonl").read_text()
    (tmp_path / "0000000099.parquet").write_bytes(b"PAR1 and then the power went")
    (tmp_path / "rejected.jsonl").write_text(kept + '{"t": 1, ')
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert len(log.rejected) == 1
        assert not (tmp_path / "0000000099.parquet").exists()
        assert (tmp_path / "rejected.jsonl").read_text() == kept
    (tmp_path / "rejected.jsonl").write_text("")
    with pytest.raises(DamagedSegment, match="cut short"):
        SourceLog.open(tmp_path, SCHEMA)


def test_one_writer_many_readers(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 3)
        with pytest.raises(InUse, match=r"(?s)already being written.*next"):
            SourceLog.open(tmp_path, SCHEMA)
        with SourceLog.open(tmp_path, SCHEMA, readonly=True) as reader:
            assert stimes(reader.read()) == [0, 1, 2]
            fill(log, 3, 2)
            reader.refresh()
            assert stimes(reader.read()) == [0, 1, 2, 3, 4]
            assert reader.state == log.state
            with pytest.raises(ValueError, match="reading"):
                fill(reader, 5, 1)
    SourceLog.open(tmp_path, SCHEMA).close()


def test_a_reader_passes_over_a_write_that_is_under_way(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 3)
    segment = tmp_path / "000001.seg"
    with segment.open("ab") as file:
        file.write(segment.read_bytes()[:50])
    size = segment.stat().st_size
    with SourceLog.open(tmp_path, SCHEMA, readonly=True) as reader:
        assert stimes(reader.read()) == [0, 1, 2]
    assert segment.stat().st_size == size


@pytest.mark.parametrize("text", ["", "{", "[]", "5"])
def test_what_says_nothing_of_its_schema_is_damaged(tmp_path: Path, text: str) -> None:
    SourceLog.open(tmp_path, SCHEMA).close()
    (tmp_path / "log.json").write_text(text)
    with pytest.raises(SourceLogError, match=r"(?s)log.json is damaged.*restore it"):
        SourceLog.open(tmp_path, SCHEMA, readonly=True)


def test_another_schema_or_no_log_is_refused(tmp_path: Path) -> None:
    SourceLog.open(tmp_path, SCHEMA).close()
    with pytest.raises(SourceLogError, match=r"(?s)another input.*new run folder"):
        SourceLog.open(tmp_path, schema("t long"))
    with pytest.raises(SourceLogError, match="no source log"):
        SourceLog.open(tmp_path / "nowhere", SCHEMA, readonly=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="next"):
        SourceLog.open(tmp_path / "file" / "log", SCHEMA)


def fill_until_full(log: SourceLog, count: int) -> None:
    for first in range(0, 10_000_000, count):
        fill(log, first, count)


@pytest.mark.parametrize("count", [100, 20_000])
def test_full_disk(tmp_path: Path, count: int) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk, SourceLog.open(disk / "log", SCHEMA) as log:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(600_000))
        with pytest.raises(StorageFull, match=r"(?s)disk is full.*nothing of it was kept.*next: make room.*--resume"):
            fill_until_full(log, count)
        acknowledged = log.state.rows_read
        assert acknowledged > 0
        assert log.state.rows == log.read().num_rows == acknowledged
        ballast.unlink()
        fill(log, acknowledged, count)
        log.close()
        with SourceLog.open(disk / "log", SCHEMA) as again:
            assert again.torn is None
            assert stimes(again.read()) == list(range(acknowledged + count))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_no_room_at_any_step_of_an_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """The same without a mount: the disk is full at the first, second or third sync of one append."""
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 100, 1)
        mixed = pa.concat_tables([rows(0, 1), rows(100, 10_000)])
        stamper = Stamper(INPUT, B, log.state.stamp)
        before = log.state
        calls = iter(range(1, 100))
        write_at = durable.write_at

        def full(fd: int, position: int, *parts: bytes | memoryview) -> int:
            if next(calls) == step:
                os.pwrite(fd, bytes(parts[0])[:7], position)
                raise OSError(errno.ENOSPC, "No space left on device")
            return write_at(fd, position, *parts)

        monkeypatch.setattr(durable, "write_at", full)
        monkeypatch.setattr(sourcelog, "write_at", full)
        monkeypatch.setattr(rejectedrows, "write_at", full)
        with pytest.raises(StorageFull):
            log.append(stamper.stamp(mixed, 0), stamper.state)
        monkeypatch.undo()
        assert log.state == before
        assert list(tmp_path.glob("*.parquet")) == []
        assert log.rejected == []
        fill(log, 101, 4)
    with SourceLog.open(tmp_path, SCHEMA) as log:
        assert log.torn is None
        assert log.state.rows == 5


def test_a_log_that_cannot_be_cut_back_must_be_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 1)
        monkeypatch.setattr(sourcelog, "write_at", broken)
        monkeypatch.setattr(sourcelog, "cut_back", broken)
        with pytest.raises(StorageError, match="Input/output error"):
            fill(log, 1, 1)
        monkeypatch.undo()
        with pytest.raises(SourceLogError, match="open the log again"):
            fill(log, 1, 1)


WRITER = """
import sys
import pyarrow as pa
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import Stamper
from auroral.model.diagram import Input, Late, Stamp
from auroral.model.schema import schema

SCHEMA = schema("t long, name string(5)")
log = SourceLog.open(sys.argv[1], SCHEMA)
stamper = Stamper(Input("s", SCHEMA, Stamp("t", delay=20), Late.REJECT), 10, log.state.stamp)
while True:
    first = log.state.rows_read
    count = 10_000 if first % 3 == 0 else 7
    times = list(range(first, first + count))
    names = ["x"] * count
    names[-1] = "too long"
    stamped = stamper.stamp(pa.table({"t": pa.array(times, pa.int64()), "name": names}), 0)
    log.append(stamped, stamper.state)
    print(log.state.rows_read, flush=True)
"""


@pytest.mark.slow
def test_sigkill_in_the_middle_of_appends_loses_and_repeats_nothing(tmp_path: Path) -> None:
    for waited, pause in moments(7, 6):
        acknowledged = killed_after(WRITER, [str(tmp_path / "log")], waited, pause)
        with SourceLog.open(tmp_path / "log", SCHEMA) as log:
            state = log.state
            assert state.rows_read >= acknowledged
            ledger_rows = state.ledger.count(reason=Reason.TOO_LONG)
            kept = stimes(log.read())
            rejected = [entry["t"] for entry in log.rejected]
            assert state.rows == len(kept)
            assert len(rejected) == ledger_rows
            assert sorted(kept + rejected) == list(range(state.rows_read))
            assert log.read().column("__seq").to_pylist() == list(range(len(kept)))


def test_rejected_log_is_plain_json_lines(tmp_path: Path) -> None:
    with SourceLog.open(tmp_path, SCHEMA) as log:
        fill(log, 0, 1, "too long")
        assert json.loads(log.rejected_path.read_text()) == {
            "t": 0,
            "name": "too long",
            "__reason": "too long",
        }
