"""The run's own copy of an output: written through the Parquet sink, read by subscribers and by `verify`."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.commits import Commit, commit_path, read
from auroral.edge.parquetsink import ParquetSink, part_name, stored_parts
from auroral.edge.sinks import output_schema
from auroral.edge.stamping import STIME
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema


class DamagedOutput(AuroralError):
    """An output log that was whole once and is no more."""

    def __init__(self, path: Path, what: str):
        super().__init__(
            f"{path}: {what}\n    allowed: the files that the run wrote, unchanged\n"
            "    next: restore it from a copy, or run again in a new run folder"
        )


class OutputLog:
    """Parts by stime. From `open` it can be appended to; from `look` it is what was committed just now."""

    def __init__(self, folder: Path, schema: Schema, sink: ParquetSink | None, commit: Commit):
        self.folder = folder
        self.schema = schema
        self.rows = commit.rows
        self._sink = sink
        self._frontier = commit.frontier
        # Numbers only: there is a part for each job with rows, for as long as the run goes on.
        self._lows, self._highs = _parts(folder, commit.length)

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
            # The end last: whoever reads meanwhile goes by the ends.
            self._lows.append(begin)
            self._highs.append(high)
        self.rows += written
        self._frontier = self._sink.frontier
        return written

    def no_rows(self) -> pa.Table:
        """What an engine gives for a range of which nothing came."""
        fields = list(output_schema(self.schema))
        return pa.schema([pa.field(STIME, pa.int64()), *fields[1:]]).empty_table()

    def read(self, low: int | None = None, high: int | None = None) -> pa.Table:
        """Rows with low <= stime < high, in canonical order; the stime comes first."""
        return pa.concat_tables([output_schema(self.schema).empty_table(), *self.pieces(low, high)])

    def pieces(self, low: int | None = None, high: int | None = None) -> Iterator[pa.Table]:
        """The same, part by part."""
        first = 0 if low is None else bisect_right(self._highs, low)
        for number in range(first, len(self._highs)):
            begin, end = self._lows[number], self._highs[number]
            if high is not None and begin >= high:
                return
            rows = self._load(self.folder / part_name(number, begin, end))
            if low is not None and begin < low:
                rows = rows.filter(pc.greater_equal(rows.column(0), low))
            if high is not None and end > high:
                rows = rows.filter(pc.less(rows.column(0), high))
            yield rows

    @property
    def parts(self) -> int:
        return len(self._highs)

    def ranges(self, low: int | None, high: int | None = None) -> Iterator[tuple[int, pa.Table]]:
        """From `low` up to `high`, or to the frontier, in pieces: the end of each, and its rows."""
        # Asked once: what is appended meanwhile is left for the next time.
        until = self._frontier if high is None else high
        assert until is not None
        for number in range(0 if low is None else bisect_right(self._highs, low), len(self._highs)):
            begin, end = self._lows[number], min(self._highs[number], until)
            if begin >= until:
                break
            yield end, self.read(begin if low is None else max(low, begin), end)
            low = end
        if low is None or low < until:
            yield until, output_schema(self.schema).empty_table()

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()

    def _load(self, path: Path) -> pa.Table:
        schema = output_schema(self.schema)
        try:
            # From the bytes: the dataset reader would take a folder's name for a partition column.
            file = pq.ParquetFile(pa.BufferReader(path.read_bytes()), page_checksum_verification=True)
            rows = file.read().cast(schema)
            if rows.num_rows != file.metadata.num_rows:
                # Checksums are of pages, and do not say how many rows are to be read.
                raise ValueError(f"it has {rows.num_rows} rows, and says {file.metadata.num_rows}")
            return rows
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DamagedOutput(path, f"this part cannot be read: {error}") from error


def _commit(folder: Path) -> Commit:
    path = commit_path(folder)
    try:
        return read(path)
    except (OSError, ValueError, TypeError) as error:
        raise DamagedOutput(path, f"this says how much of the output counts, and cannot be read: {error}") from error


def _parts(folder: Path, length: int) -> tuple[array[int], array[int]]:
    """Where parts begin and where they end."""
    found = stored_parts(folder)
    missing = [number for number in range(length) if number not in found]
    if missing:
        raise DamagedOutput(folder, f"part {missing[0]} of {length} is missing")
    lows, highs = (array("q", (found[number][end] for number in range(length))) for end in (0, 1))
    return lows, highs
