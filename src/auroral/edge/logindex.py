"""Finding and reading the rows of a source log by stime."""

from __future__ import annotations

import os
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.records import DamagedSegment, Entry, Header, Kind, rows_from_bytes
from auroral.edge.stamping import STIME, STIME_LIMIT


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that lie together on disk: a whole Parquet file, or `length` bytes of an Arrow IPC stream at
    `offset` of `path`.

    `low` and `high` are the smallest and the largest stime in it. `number` is the record's.
    """

    number: int
    kind: Kind
    path: Path
    low: int
    high: int
    rows: int
    offset: int
    length: int


class LogIndex:
    """The records of a log, found by stime in a few steps however long the log is.

    Rows never lie below the boundary that was in force before them, and boundaries only rise: that bounds the
    search on the right. The largest stime so far only rises too: that bounds it on the left.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._boundary_before: list[int] = []
        self._highest: list[int] = []

    def add(self, entry: Entry, boundary_before: int | None) -> None:
        highest = self._highest[-1] if self._highest else -2 * STIME_LIMIT
        self._entries.append(entry)
        self._boundary_before.append(-2 * STIME_LIMIT if boundary_before is None else boundary_before)
        self._highest.append(highest if entry.header.high is None else max(highest, entry.header.high))

    def between(self, low: int | None, high: int | None) -> Iterator[Entry]:
        """Records that have rows, with at least one stime in [low, high) or on both sides of it."""
        first = 0 if low is None else bisect_left(self._highest, low)
        last = len(self._entries) if high is None else bisect_left(self._boundary_before, high)
        for entry in self._entries[first:last]:
            header = entry.header
            if header.low is None or header.high is None:
                continue
            if (low is None or header.high >= low) and (high is None or header.low < high):
                yield entry

    def __getitem__(self, number: int) -> Entry:
        return self._entries[number]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)


def part_of(entry: Entry) -> Part:
    header = entry.header
    assert header.low is not None and header.high is not None
    span = (header.low, header.high, header.rows)
    if header.kind is Kind.PARQUET:
        assert header.file is not None and header.size is not None
        return Part(header.number, header.kind, entry.segment.with_name(header.file), *span, 0, header.size)
    return Part(header.number, header.kind, entry.segment, *span, entry.rows_at, entry.end - entry.rows_at)


def rows_of(entry: Entry, schema: pa.Schema) -> pa.Table:
    if entry.header.kind is Kind.MARK:
        return schema.empty_table()
    if entry.header.kind is Kind.PARQUET:
        return pq.read_table(pa.BufferReader(checked_parquet(entry, content=True)), schema=schema)
    fd = os.open(entry.segment, os.O_RDONLY)
    try:
        return rows_from_bytes(os.pread(fd, entry.end - entry.rows_at, entry.rows_at))
    finally:
        os.close(fd)


def within(rows: pa.Table, header: Header, low: int | None, high: int | None) -> pa.Table:
    assert header.low is not None and header.high is not None
    if low is not None and header.low < low:
        rows = rows.filter(pc.field(STIME) >= low)
    if high is not None and header.high >= high:
        rows = rows.filter(pc.field(STIME) < high)
    return rows


def checked_parquet(entry: Entry, content: bool) -> bytes:
    """The bytes of a record's Parquet file, compared with its checksum; with its size only where `content`
    is not asked for."""
    header = entry.header
    assert header.file is not None
    path = entry.segment.with_name(header.file)
    try:
        size = path.stat().st_size
        read = path.read_bytes() if content else b""
    except FileNotFoundError as error:
        raise DamagedSegment(path, 0, f"this file of record {header.number} is missing") from error
    if size != header.size:
        what = f"this file of record {header.number} had {header.size} bytes and has {size}"
        raise DamagedSegment(path, min(size, header.size or 0), what)
    if content and zlib.crc32(read) != header.crc:
        raise DamagedSegment(path, 0, f"this file of record {header.number} is damaged (its checksum does not match)")
    return read
