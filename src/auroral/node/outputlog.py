"""The run's own copy of an output: written through the Parquet sink, read by subscribers and by `verify`."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.commits import Commit
from auroral.edge.parquetsink import ParquetSink
from auroral.edge.sinks import output_schema
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema

_PART = re.compile(r"^part-(\d+)_(-?\d+)_(-?\d+)\.parquet$")


class DamagedOutput(AuroralError):
    """An output log that was whole once and is no more."""

    def __init__(self, path: Path, what: str):
        super().__init__(
            f"{path}: {what}\n    allowed: the files that the run wrote, unchanged\n"
            "    next: restore it from a copy, or run again in a new run folder"
        )


@dataclass(frozen=True, slots=True)
class _Part:
    low: int
    high: int
    path: Path


class OutputLog:
    """Parts by stime. From `open` it can be appended to; from `look` it is what was committed just now."""

    def __init__(self, folder: Path, schema: Schema, sink: ParquetSink | None, commit: Commit):
        self.folder = folder
        self.schema = schema
        self.rows = commit.rows
        self._sink = sink
        self._frontier = commit.frontier
        self._parts = _parts(folder, commit.length)

    @staticmethod
    def open(folder: Path, schema: Schema, owner: str) -> OutputLog:
        sink = ParquetSink(folder, schema, owner)
        return OutputLog(folder, schema, sink, _commit(folder))

    @staticmethod
    def look(folder: Path, schema: Schema) -> OutputLog:
        return OutputLog(folder, schema, None, _commit(folder))

    @property
    def frontier(self) -> int | None:
        """Everything below it is written, and final."""
        return self._frontier

    def append(self, low: int, high: int, rows: pa.Table) -> int:
        """Durable when this returns; gives how many rows were new."""
        assert self._sink is not None, "opened for reading"
        before = self._frontier
        written = self._sink.append(low, high, rows)
        if written:
            begin = low if before is None else max(before, low)
            path = self.folder / f"part-{len(self._parts):08}_{begin}_{high}.parquet"
            self._parts.append(_Part(begin, high, path))
        self.rows += written
        self._frontier = self._sink.frontier
        return written

    def read(self, low: int | None = None, high: int | None = None) -> pa.Table:
        """Rows with low <= stime < high, in canonical order; the stime comes first."""
        return pa.concat_tables([output_schema(self.schema).empty_table(), *self.pieces(low, high)])

    def pieces(self, low: int | None = None, high: int | None = None) -> Iterator[pa.Table]:
        """The same, part by part."""
        first = 0 if low is None else bisect_right(self._parts, low, key=lambda part: part.high)
        for part in self._parts[first:]:
            if high is not None and part.low >= high:
                return
            rows = self._load(part)
            if low is not None and part.low < low:
                rows = rows.filter(pc.greater_equal(rows.column(0), low))
            if high is not None and part.high > high:
                rows = rows.filter(pc.less(rows.column(0), high))
            yield rows

    def ranges(self, low: int) -> Iterator[tuple[int, pa.Table]]:
        """From `low` up to the frontier in pieces: the end of each, and its rows."""
        assert self._frontier is not None
        for part in self._parts:
            if part.high > low:
                yield part.high, self.read(max(low, part.low), part.high)
                low = part.high
        if low < self._frontier:
            yield self._frontier, output_schema(self.schema).empty_table()

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()

    def _load(self, part: _Part) -> pa.Table:
        schema = output_schema(self.schema)
        try:
            # From the bytes: the dataset reader would take a folder's name for a partition column.
            return pq.read_table(pa.BufferReader(part.path.read_bytes())).cast(schema)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DamagedOutput(part.path, f"this part cannot be read: {error}") from error


def _commit(folder: Path) -> Commit:
    path = folder / "_commit.json"
    try:
        return Commit(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise DamagedOutput(path, f"this says how much of the output counts, and cannot be read: {error}") from error


def _parts(folder: Path, length: int) -> list[_Part]:
    found: dict[int, _Part] = {}
    for path in folder.iterdir():
        if match := _PART.match(path.name):
            found[int(match[1])] = _Part(int(match[2]), int(match[3]), path)
    missing = [number for number in range(length) if number not in found]
    if missing:
        raise DamagedOutput(folder, f"part {missing[0]} of {length} is missing")
    return [found[number] for number in range(length)]
