"""The files of a source log: who may write them, what they are called, how a large batch gets its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.edge.durable import sync_folder, write_new
from auroral.edge.records import DamagedSegment, Entry, Header, Torn, scan
from auroral.model.parquet_layout import stored_layout


def segment(folder: Path, number: int) -> Path:
    return folder / f"{number:06}.seg"


def segments(folder: Path, first: int = 1, pruned: bool = False) -> list[Path]:
    """The segments from number `first` on; a log that was `pruned` has at least that one."""
    found = [path for path in sorted(folder.glob("*.seg")) if path.stem >= segment(folder, first).stem]
    for number, path in enumerate(found, start=first):
        if path != segment(folder, number):
            raise DamagedSegment(segment(folder, number), 0, f"this segment is missing; the next one is {path.name}")
    if pruned and not found:
        raise DamagedSegment(segment(folder, first), 0, "this segment is missing")
    return found


def stored(folder: Path, first: int, records: range) -> Iterator[Entry]:
    """These records, read from the segments from number `first` on."""
    found = segments(folder, first, pruned=records.start > 0)
    for path in found:
        for item in scan(path, 0, last=path == found[-1]):
            if isinstance(item, Torn) or item.header.number >= records.stop:
                return
            if item.header.number in records:
                yield item


def parquet_file(folder: Path, number: int) -> Path:
    """The file of record `number`, where its rows have one of their own."""
    return folder / f"{number:010}.parquet"


def remove_pruned(folder: Path, first: int, records: range) -> None:
    """Remove segments before number `first`, and Parquet files that are not of these `records`."""
    for path in folder.glob("*.seg"):
        if path.stem < segment(folder, first).stem:
            path.unlink()
    for path in folder.glob("*.parquet"):
        if not (path.stem.isdecimal() and int(path.stem) in records):
            path.unlink()
    for path in folder.glob("*.seg.tmp"):
        path.unlink()
    sync_folder(folder)


def span(rows: pa.Table) -> tuple[int | None, int | None]:
    if not rows.num_rows:
        return None, None
    stimes = rows.column(0).to_numpy()
    return int(stimes.min()), int(stimes.max())


def write_parquet(path: Path, rows: pa.Table, header: Header) -> Header:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **stored_layout(rows.schema))
    content = memoryview(sink.getvalue())
    write_new(path, content)
    return replace(header, file=path.name, size=len(content), crc=zlib.crc32(content))
