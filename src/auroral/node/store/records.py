"""Records of a core's store on disk: how they are framed, what is in one with contents, and which of them are whole.

    segment = head, records
    head    = magic (8 bytes), format (u16), the store's name (16 bytes), number of the segment (u64), crc32 of these
    record  = magic (4 bytes), kind (u8), 3 zeros, length of the header (u32), length of the rows (u64), crc32, header (JSON), rows

All numbers little-endian. The checksum of a record is over all of it and begins with the store's name: a record of another store is never
whole in this one. Rows are an Arrow IPC stream, or bytes. Those of a fold's state may be only what changed since another one, which the
commits say. Nothing is ever unpickled here.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from auroral.dpc.values import Content
from auroral.model.errors import AuroralError, Place, Problem
from auroral.wire import rows as arrow
from auroral.wire.measuring import measured, write
from auroral.wire.unfolding import Arrays

FORMAT = 1
_HEAD_MAGIC, _MAGIC = b"AuroCore", b"\xa7AuC"
_HEAD = struct.Struct("<8sH16sQ")
_FRAME = struct.Struct("<4sB3xIQ")
_CRC = struct.Struct("<I")
HEAD_BYTES = _HEAD.size + _CRC.size
_BEFORE_HEADER = _FRAME.size + _CRC.size
_AT_ONCE = 1 << 20
_LARGEST_HEADER = 1 << 28

Key = tuple[int, int]
"""Of contents: the group that they were kept in, and their bucket. No group is ever used again for something else."""


class Kind(IntEnum):
    CONTENT = 1
    COMMIT = 2


class DamagedStore(AuroralError):
    """Something that must never be forgotten is not there any more, or cannot be read by this version."""

    def __init__(self, path: Path, what: str, allowed: str, next_step: str):
        super().__init__(str(Problem(what, Place(str(path)), allowed, next_step)))


class Lies(NamedTuple):
    """Where a record is."""

    segment: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Record:
    kind: Kind
    header: bytes
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class Packed:
    """A record with contents, before it has its place."""

    header: bytes
    rows: bytes | memoryview


# Heads


def head(store: bytes, number: int) -> bytes:
    said = _HEAD.pack(_HEAD_MAGIC, FORMAT, store, number)
    return said + _CRC.pack(zlib.crc32(said))


def read_head(file: BinaryIO, path: Path) -> tuple[bytes, int] | None:
    """The store that a segment is of, and its number; None where its head is not whole."""
    try:
        data = file.read(HEAD_BYTES)
    except OSError:
        return None
    if len(data) < HEAD_BYTES or _CRC.unpack_from(data, _HEAD.size)[0] != zlib.crc32(data[: _HEAD.size]):
        return None
    magic, format, store, number = _HEAD.unpack_from(data)
    if magic != _HEAD_MAGIC:
        return None
    if format != FORMAT:
        raise DamagedStore(
            path,
            f"another version of auroral wrote this: format {format}",
            f"format {FORMAT}",
            "go on with the version that wrote it, or throw the core's folder away: it begins anew",
        )
    return store, number


# Records


def framed(kind: Kind, header: bytes, rows: bytes | memoryview, store: bytes) -> list[bytes | memoryview]:
    """The record as parts to be written one after the other."""
    said = _FRAME.pack(_MAGIC, kind, len(header), len(rows))
    crc = zlib.crc32(rows, zlib.crc32(header, zlib.crc32(said, zlib.crc32(store))))
    return [said + _CRC.pack(crc) + header, rows]


def record_at(file: BinaryIO, offset: int, store: bytes) -> Record | None:
    """The record that begins here, where there is a whole one. Its rows are looked at piece by piece, and not kept."""
    try:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        start = file.read(_BEFORE_HEADER)
        if len(start) < _BEFORE_HEADER:
            return None
        said = start[: _FRAME.size]
        magic, kind, length, rows = _FRAME.unpack(said)
        end = offset + _BEFORE_HEADER + length + rows
        if magic != _MAGIC or kind not in (*Kind,) or length > _LARGEST_HEADER or end > size:
            return None
        header = file.read(length)
        crc = zlib.crc32(header, zlib.crc32(said, zlib.crc32(store)))
        while rows:
            piece = file.read(min(rows, _AT_ONCE))
            if not piece:
                return None
            crc, rows = zlib.crc32(piece, crc), rows - len(piece)
    except OSError:
        # A place that the disk cannot read any more is damaged like any other.
        return None
    return Record(Kind(kind), header, offset, end) if crc == _CRC.unpack_from(start, _FRAME.size)[0] else None


def records(file: BinaryIO, store: bytes) -> Iterator[Record]:
    """All up to the first that is not whole."""
    offset = HEAD_BYTES
    while (found := record_at(file, offset, store)) is not None:
        yield found
        offset = found.end


def commits_behind(file: BinaryIO, offset: int, store: bytes) -> Iterator[Record]:
    """Whole commits somewhere behind what is not whole."""
    looked_for = _MAGIC + bytes([Kind.COMMIT])
    try:
        file.seek(offset)
        data = file.read()
    except OSError:
        return
    at = data.find(looked_for)
    while at >= 0:
        if (found := record_at(file, offset + at, store)) is not None:
            yield found
        at = data.find(looked_for, at + 1)


def read_record(file: BinaryIO, lies: Lies, store: bytes) -> tuple[bytes, pa.Buffer] | None:
    """Header and rows of a record that was whole; None where it is not any more."""
    file.seek(lies.offset)
    start = file.read(_BEFORE_HEADER)
    if len(start) < _BEFORE_HEADER:
        return None
    _, _, length, size = _FRAME.unpack_from(start)
    if _BEFORE_HEADER + length + size != lies.size:
        return None
    header, rows = file.read(length), pa.allocate_buffer(size)
    if size and file.readinto(memoryview(rows)) != size:  # type: ignore[attr-defined]
        return None
    same = framed(Kind.CONTENT, header, memoryview(rows), store)[0]
    return (header, rows) if same == start + header else None


# Contents


def packed(key: Key, content: Content | None, usually_at: float | None) -> Packed:
    """WireError for rows that could not be read again."""
    if content is None:
        return Packed(_json([*key, usually_at, None, 0, None]), b"")
    rows, form = content.rows, None
    if isinstance(rows, bytes):
        form = "bytes"
    elif rows is not None:
        form = "batch" if isinstance(rows, pa.RecordBatch) else "table"
        rows = _arrow_bytes(content)
    return Packed(_json([*key, usually_at, content.hash, content.count, form]), rows or b"")


def packed_state(key: Key, content: Content, rows: pa.Table) -> Packed:
    """A fold's state, of which these rows are to be written. It has other counts than they have."""
    given = Content(content.hash, rows.num_rows, rows)
    return Packed(_json([*key, None, content.hash, content.count, "state", rows.num_rows]), _arrow_bytes(given))


def _json(header: list[object]) -> bytes:
    return json.dumps(header, separators=(",", ":"), allow_nan=False).encode()


def _arrow_bytes(content: Content) -> memoryview:
    if not arrow.is_rows(content.rows) or content.rows.num_rows != content.count:
        raise TypeError(f"{content} has a {type(content.rows).__name__}, not as many rows of an Arrow table, or bytes")
    takes = measured(content.rows)
    Arrays().add(takes.columns, takes.batches, "content")
    sink = pa.BufferOutputStream()
    write(content.rows, sink)
    return memoryview(sink.getvalue())


def key_of(header: bytes) -> Key:
    group, bucket, *_ = json.loads(header)
    return group, bucket


def unpacked(header: bytes, rows: pa.Buffer, path: Path) -> tuple[Content | None, float]:
    """What was packed; the time is 0 where there was none."""
    _, _, usually_at, hash, count, form, *rows_of_state = json.loads(header)
    if hash is None:
        return None, 0.0
    match form:
        case None:
            found = None
        case "bytes":
            found = rows.to_pybytes()
        case "state":
            found = arrow.read(rows, False, rows_of_state[0], str(path), Arrays())
        case _:
            found = arrow.read(rows, form == "batch", count, str(path), Arrays())
    return Content(hash, count, found), usually_at or 0.0
