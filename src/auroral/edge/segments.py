"""The files of a source log: who may write them, what they are called, how a large batch gets its own."""

from __future__ import annotations

import os
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.edge.durable import lock, storage_error, write_new
from auroral.edge.records import DamagedSegment, Header
from auroral.model.errors import AuroralError


def claim(folder: Path) -> int:
    path = folder / "writer.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(error, "a source log", path) from error
    try:
        lock(fd, folder)
    except AuroralError:
        os.close(fd)
        raise
    return fd


def segment(folder: Path, number: int) -> Path:
    return folder / f"{number:06}.seg"


def segments(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.seg"))
    for number, path in enumerate(found, start=1):
        if path != segment(folder, number):
            raise DamagedSegment(segment(folder, number), 0, f"this segment is missing; the next one is {path.name}")
    return found


def span(rows: pa.Table) -> tuple[int | None, int | None]:
    if not rows.num_rows:
        return None, None
    stimes = rows.column(0).to_numpy()
    return int(stimes.min()), int(stimes.max())


def write_parquet(path: Path, rows: pa.Table, header: Header) -> Header:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    content = memoryview(sink.getvalue())
    write_new(path, content)
    return replace(header, file=path.name, size=len(content), crc=zlib.crc32(content))
