"""Finding and reading the rows of a source log by stime."""

from __future__ import annotations

import os
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.records import DamagedSegment, Entry, Kind, headers, rows_from_bytes
from auroral.edge.segments import parquet_file, segment
from auroral.edge.stamping import STIME, STIME_LIMIT

MERGED = 256
"""So many records with rows, when they were evaluated, become one entry of the index."""
LONGEST = 4 * MERGED
"""What is merged spans at most so many records, marks included: they are read again where it is asked for."""
_KEPT = 4
_BEFORE_ALL = -2 * STIME_LIMIT
_INLINE, _MERGED = -1, -2


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that lie together on disk: a whole Parquet file, or `length` bytes of an Arrow IPC stream at
    `offset` of `path`.

    `low` and `high` are the smallest and the largest stime in it. `number` is the record's, `crc` the file's.
    """

    number: int
    kind: Kind
    path: Path
    low: int
    high: int
    rows: int
    offset: int
    length: int
    crc: int | None = None


class _Row(NamedTuple):
    """A record with rows, or several that were merged: then all numbers are of them together.

    `begin` and `end` are its bytes in the segment. Those of the rows are the last `length` of them; of a Parquet file,
    `length` is its size and `crc` its checksum, which is -1 for rows in the segment and -2 where it is merged.
    `boundary` is the one in force before it, `highest` the largest stime up to it.
    """

    number: int
    segment: int
    begin: int
    end: int
    low: int
    high: int
    boundary: int
    highest: int
    rows: int
    length: int
    crc: int


class LogIndex:
    """The records of a log that have rows, found by stime in a few steps however long the log is.

    Rows never lie below the boundary that was in force before them, and boundaries only rise: that bounds the
    search on the right. The largest stime so far only rises too: that bounds it on the left.

    It stays small: marks are not in it, a record is a few numbers, and records below a settled stime are merged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._columns = {name: array("q") for name in _Row._fields}
        self._settled = _BEFORE_ALL
        self._merged = 0
        self._read_again: dict[int, list[Part]] = {}

    def add(self, entry: Entry, boundary_before: int | None) -> None:
        if not entry.header.rows:
            return
        part, highest = part_of(entry), self._columns["highest"]
        row = _Row(
            part.number,
            int(entry.segment.stem),
            entry.offset,
            entry.end,
            part.low,
            part.high,
            _BEFORE_ALL if boundary_before is None else boundary_before,
            max(part.high, highest[-1]) if highest else part.high,
            part.rows,
            part.length,
            _INLINE if part.crc is None else part.crc,
        )
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        self._merge()

    def settle(self, stime: int) -> None:
        """Rows before `stime` were evaluated: they will hardly be asked for any more."""
        self._settled = max(self._settled, stime)
        self._merge()

    @property
    def first_stime(self) -> int | None:
        return min(self._columns["low"], default=None)

    def between(self, low: int | None, high: int | None) -> Iterator[Part]:
        """The rows of records that have at least one stime in [low, high) or on both sides of it."""
        lows, highs, boundaries = (self._columns[name] for name in ("low", "high", "boundary"))
        first = 0 if low is None else bisect_left(self._columns["highest"], low)
        last = len(boundaries) if high is None else bisect_left(boundaries, high)
        for at in range(first, last):
            if (low is None or highs[at] >= low) and (high is None or lows[at] < high):
                for part in self._parts(self._row(at)):
                    if (low is None or part.high >= low) and (high is None or part.low < high):
                        yield part

    def _row(self, at: int) -> _Row:
        return _Row(*(column[at] for column in self._columns.values()))

    def _parts(self, row: _Row) -> list[Part]:
        span = (row.low, row.high, row.rows)
        path = segment(self._folder, row.segment)
        if row.crc == _INLINE:
            return [Part(row.number, Kind.INLINE, path, *span, row.end - row.length, row.length)]
        if row.crc != _MERGED:
            file = parquet_file(self._folder, row.number)
            return [Part(row.number, Kind.PARQUET, file, *span, 0, row.length, row.crc)]
        if row.number not in self._read_again:
            if len(self._read_again) >= _KEPT:
                self._read_again.pop(next(iter(self._read_again)))
            found = [part_of(entry) for entry in headers(path, row.begin, row.end) if entry.header.rows]
            self._read_again[row.number] = found
        return self._read_again[row.number]

    def _merge(self) -> None:
        highest = self._columns["highest"]
        while self._merged + MERGED < len(highest) and highest[self._merged + MERGED - 1] < self._settled:
            first, *others = (self._row(self._merged + at) for at in range(MERGED))
            others = [o for o in others if o.segment == first.segment and o.number < first.number + LONGEST]
            if others:
                last, rows = others[-1], (first, *others)
                low, high = min(row.low for row in rows), max(row.high for row in rows)
                merged = first._replace(
                    end=last.end,
                    low=low,
                    high=high,
                    highest=last.highest,
                    rows=sum(row.rows for row in rows),
                    length=0,
                    crc=_MERGED,
                )
                for column, value in zip(self._columns.values(), merged, strict=True):
                    column[self._merged : self._merged + len(rows)] = array("q", [value])
            self._merged += 1


def part_of(entry: Entry) -> Part:
    header = entry.header
    assert header.low is not None and header.high is not None
    span = (header.low, header.high, header.rows)
    if header.kind is Kind.PARQUET:
        assert header.file is not None and header.size is not None
        file = entry.segment.with_name(header.file)
        return Part(header.number, header.kind, file, *span, 0, header.size, header.crc)
    return Part(header.number, header.kind, entry.segment, *span, entry.rows_at, entry.end - entry.rows_at)


def rows_of(part: Part, schema: pa.Schema) -> pa.Table:
    if part.kind is Kind.PARQUET:
        return pq.read_table(pa.BufferReader(checked_parquet(part, content=True)), schema=schema)
    fd = os.open(part.path, os.O_RDONLY)
    try:
        return rows_from_bytes(os.pread(fd, part.length, part.offset))
    finally:
        os.close(fd)


def within(rows: pa.Table, part: Part, low: int | None, high: int | None) -> pa.Table:
    if low is not None and part.low < low:
        rows = rows.filter(pc.field(STIME) >= low)
    if high is not None and part.high >= high:
        rows = rows.filter(pc.field(STIME) < high)
    return rows


def checked_parquet(part: Part, content: bool) -> bytes:
    """The bytes of a record's Parquet file, compared with its checksum; with its size only where `content`
    is not asked for."""
    path = part.path
    try:
        size = path.stat().st_size
        read = path.read_bytes() if content else b""
    except FileNotFoundError as error:
        raise DamagedSegment(path, 0, f"this file of record {part.number} is missing") from error
    if size != part.length:
        what = f"this file of record {part.number} had {part.length} bytes and has {size}"
        raise DamagedSegment(path, min(size, part.length), what)
    if content and zlib.crc32(read) != part.crc:
        raise DamagedSegment(path, 0, f"this file of record {part.number} is damaged (its checksum does not match)")
    return read
