"""Where stable output goes: files in which no row is lost or repeated, whenever the writer is killed.

Rows of closed buckets are appended range by range. What counts is what the *commit* says: a small file beside
the output that is replaced in one step after the rows are durable. Whatever lies behind it was never
acknowledged and is cut off when the output is opened again; `frontier` then says from which stime to go on.

The first column is the row's stime in microseconds, named `Schema.stime_name`. Values are spelt as `spelling`
says.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

import pyarrow as pa
import pyarrow.compute as pc

from auroral.edge.spelling import json_lines
from auroral.edge.stamping import STIME
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema, arrow_schema

LINE_SUFFIXES = (".csv", ".jsonl", ".ndjson", ".json")


class OutputError(AuroralError):
    """An output that cannot be written, or is not what its commit says."""


class OutputGap(OutputError):
    """Rows were offered that do not follow on those written: something before them is missing."""


class Sink(ABC):
    """An output. `frontier` is the stime up to which everything is written, None at the very beginning."""

    def __init__(self, name: str, schema: Schema):
        self.name = name
        self.schema = schema
        self.frontier: int | None = None
        self._arrow = output_schema(schema)
        self._usable = True

    def append(self, low: int, high: int, rows: pa.Table) -> int:
        """Write the rows of [low, high), which must follow on the frontier; gives how many were written.

        What lies below the frontier was written before and is left out, so that a range may be offered again.
        """
        if high < low:
            raise ValueError(f"the range [{low}, {high}) is upside down")
        if self.frontier is not None:
            if high <= self.frontier:
                return 0
            if low > self.frontier:
                raise OutputGap(
                    f"{self.name}: rows from stime {low} on came, but those from {self.frontier} on are due\n"
                    f"    allowed: a range that begins at or before {self.frontier}\n"
                    "    next: go on from the sink's frontier"
                )
        table = self._chosen(low, high, rows)
        self._write(low if self.frontier is None else self.frontier, high, table)
        self.frontier = high
        return int(table.num_rows)

    def _chosen(self, low: int, high: int, rows: pa.Table) -> pa.Table:
        names = [STIME, *self.schema.names]
        missing = [name for name in names if name not in rows.column_names]
        if missing:
            raise OutputError(f"{self.name}: rows lack {', '.join(missing)}\n    allowed: {', '.join(names)}")
        chosen = rows.select(names).rename_columns(self._arrow.names).cast(self._arrow)
        stimes = chosen.column(0)
        outside = pc.or_(pc.less(stimes, low), pc.greater_equal(stimes, high))
        if pc.any(outside).as_py():
            raise OutputError(f"{self.name}: a row's stime lies outside [{low}, {high})")
        if self.frontier is not None and low < self.frontier:
            chosen = chosen.filter(pc.greater_equal(stimes, self.frontier))
        return chosen

    def _must_be_usable(self) -> None:
        if not self._usable:
            raise OutputError(
                f"{self.name}: an earlier write failed and could not be undone\n"
                "    allowed: what its commit says is safe, and the run can go on from it\n"
                "    next: check the disk, then go on with: auroral run --resume RUN_FOLDER"
            )

    @abstractmethod
    def _write(self, low: int, high: int, rows: pa.Table) -> None:
        """Write and commit; after an error everything is as before."""

    def discard_empty(self) -> None:
        """Where nothing was ever committed, leave nothing behind: a new run could not write there."""
        if self.frontier is None:
            with suppress(OSError):
                self._remove()

    @abstractmethod
    def _remove(self) -> None:
        """Take the output and its commit away."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class StandardOutput(Sink):
    """JSON lines on standard output: best effort, since a pipe cannot be cut back and remembers nothing."""

    def __init__(self, schema: Schema, stream: TextIO | None = None):
        super().__init__("standard output", schema)
        self._stream = stream or sys.stdout

    def _write(self, low: int, high: int, rows: pa.Table) -> None:
        try:
            self._stream.write(json_lines(rows))
            self._stream.flush()
        except BrokenPipeError as error:
            raise OutputError(
                "whoever read standard output has gone\n    next: write to a file to keep the rows"
            ) from error

    def _remove(self) -> None:
        """What was written to a pipe is gone."""

    def close(self) -> None:
        """Standard output stays open: it is not ours."""


def is_text(path: Path) -> bool:
    """Whether an output is one file of lines; otherwise it is a folder of Parquet."""
    return path.suffix.lower() in LINE_SUFFIXES


def output_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of what is written: the stime, then the fields."""
    return pa.schema([pa.field(schema.stime_name, pa.int64()), *arrow_schema(schema)])


def open_sink(path: str | Path, schema: Schema, *, owner: str = "") -> Sink:
    """Open an output by its suffix, or go on with one that is there. `-` is standard output.

    `owner` names the run: an output of another one is not continued but refused.
    """
    from auroral.edge.linesink import LineSink
    from auroral.edge.parquetsink import ParquetSink

    if str(path) == "-":
        return StandardOutput(schema)
    path = Path(path)
    suffix = path.suffix.lower()
    if is_text(path):
        return LineSink(path, schema, owner, as_csv=suffix == ".csv")
    if suffix == ".parquet":
        return ParquetSink(path, schema, owner)
    raise OutputError(
        f"{path}: the format of a {suffix or 'nameless'} output is not known\n"
        f"    allowed: {', '.join(LINE_SUFFIXES)}, .parquet (a folder), or - for standard output\n"
        "    next: choose one of these endings"
    )
