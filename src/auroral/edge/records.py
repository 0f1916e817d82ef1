"""The records of a source log on disk: their framing, their header, and finding where a file is torn or
damaged.

    record  = magic (4 bytes), payload length (u32), crc32 of the payload (u32), payload
    payload = header length (u32), header (JSON), Arrow IPC stream of the rows (kind `inline` only)

All numbers little-endian. Each record is synced before the next one begins, so that a write that was cut
short can only be the last one; anything wrong with a valid record behind it is damage. So is anything wrong with
a last record that was acknowledged: see `acknowledged`.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from auroral.edge.ledger import Reason
from auroral.edge.stamping import StampState
from auroral.model.errors import AuroralError

MAGIC = b"\xa7AuL"
_FRAME = struct.Struct("<4sII")
_LENGTH = struct.Struct("<I")
LARGEST_PAYLOAD = 2**32 - 1


class Kind(StrEnum):
    INLINE = "inline"
    """The rows are in the record."""
    PARQUET = "parquet"
    """The rows are in a Parquet file of their own, which the record names."""
    MARK = "mark"
    """No rows: a boundary, counts, or the end of input."""


class DamagedSegment(AuroralError):
    """A source log that was whole once and is no more."""

    def __init__(self, path: Path, offset: int, what: str):
        self.path, self.offset = path, offset
        super().__init__(
            f"{path}, byte {offset}: {what}\n"
            "    allowed: only the very end of the last segment may be incomplete, after a crash\n"
            "    next: restore this file from a copy or a replica and check the disk; "
            "or start a new run folder from the original input"
        )


@dataclass(frozen=True, slots=True)
class Header:
    """What a record says besides its rows. `rejected_bytes` is how much of the log of rejected rows
    belongs to it."""

    number: int
    kind: Kind
    rows: int
    low: int | None
    high: int | None
    state: StampState
    counts: Mapping[Reason, int]
    rows_read: int
    rejected_bytes: int
    ended: bool = False
    file: str | None = None
    size: int | None = None
    crc: int | None = None

    @property
    def boundary(self) -> int | None:
        return self.state.boundary

    def to_bytes(self) -> bytes:
        stored = {name: getattr(self, name) for name in self.__slots__}
        stored |= {"state": self.state.to_json(), "counts": {r.value: n for r, n in self.counts.items()}}
        return json.dumps({name: value for name, value in stored.items() if value is not None}).encode()

    @staticmethod
    def from_bytes(text: bytes) -> Header:
        stored: dict[str, Any] = json.loads(text.decode())
        stored["kind"] = Kind(stored["kind"])
        stored["state"] = StampState.from_json(stored["state"])
        stored["counts"] = {Reason(reason): count for reason, count in stored["counts"].items()}
        stored.setdefault("low", None)
        stored.setdefault("high", None)
        return Header(**stored)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a record is: its header, its segment, the record's first byte and its rows' bytes."""

    header: Header
    segment: Path
    offset: int
    rows_at: int
    end: int


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of a segment that a crash cut short: `lost` bytes from `offset` on, which were never
    acknowledged."""

    segment: Path
    offset: int
    lost: int

    def __str__(self) -> str:
        return f"{self.segment}: the last {self.lost} bytes (from byte {self.offset} on) are an unfinished write"


def encode(header: Header, rows: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """The record as parts to be written one after the other."""
    text = header.to_bytes()
    length = _LENGTH.size + len(text) + len(rows)
    if length > LARGEST_PAYLOAD:
        raise ValueError(f"a record of {length} bytes; large batches belong into Parquet files")
    head = _LENGTH.pack(len(text)) + text
    return [_FRAME.pack(MAGIC, length, zlib.crc32(rows, zlib.crc32(head))) + head, rows]


def scan(segment: Path, start: int, last: bool) -> Iterator[Entry | Torn]:
    """Entries from byte `start` on. `last` says that this is the last segment, whose end may be torn."""
    data = memoryview(segment.read_bytes())
    offset = start
    while offset < len(data):
        found = _whole_record(data, offset)
        if found is None:
            if not last:
                raise DamagedSegment(segment, offset, "this record is damaged (its checksum does not match)")
            if (behind := _next_whole_record(data, offset + 1)) is not None:
                what = f"this record is damaged, and an undamaged one follows at byte {behind}"
                raise DamagedSegment(segment, offset, what)
            yield Torn(segment, offset, len(data) - offset)
            return
        body, end = found
        (length,) = _LENGTH.unpack_from(data, body)
        rows_at = body + _LENGTH.size + length
        try:
            header = Header.from_bytes(bytes(data[body + _LENGTH.size : rows_at]))
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedSegment(segment, offset, f"this record's header is of another version ({error})") from error
        yield Entry(header, segment, offset, rows_at, end)
        offset = end


def headers(segment: Path, start: int, end: int) -> Iterator[Entry]:
    """The records between two bytes of a segment, which were found whole before; the rows are not read."""
    with open(segment, "rb") as file:
        while start < end:
            file.seek(start)
            try:
                magic, length, _ = _FRAME.unpack(file.read(_FRAME.size))
                (text,) = _LENGTH.unpack(file.read(_LENGTH.size))
                header = Header.from_bytes(file.read(text))
            except (struct.error, ValueError, KeyError, TypeError) as error:
                raise DamagedSegment(segment, start, f"this record is damaged ({error})") from error
            body = start + _FRAME.size
            if magic != MAGIC or body + length > end:
                raise DamagedSegment(segment, start, "this record is damaged")
            yield Entry(header, segment, start, body + _LENGTH.size + text, body + length)
            start = body + length


def _whole_record(data: memoryview, offset: int) -> tuple[int, int] | None:
    """Start and end of the payload of the record at `offset`, where there is an undamaged one."""
    body = offset + _FRAME.size
    if body > len(data):
        return None
    magic, length, crc = _FRAME.unpack_from(data, offset)
    end = body + length
    if magic != MAGIC or length < _LENGTH.size or end > len(data) or zlib.crc32(data[body:end]) != crc:
        return None
    return body, end


def _next_whole_record(data: memoryview, start: int) -> int | None:
    raw = data.obj
    assert isinstance(raw, bytes)
    position = raw.find(MAGIC, start)
    while position >= 0:
        if _whole_record(data, position) is not None:
            return position
        position = raw.find(MAGIC, position + 1)
    return None


def rows_to_bytes(rows: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return memoryview(sink.getvalue())


def rows_from_bytes(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
        return reader.read_all()
