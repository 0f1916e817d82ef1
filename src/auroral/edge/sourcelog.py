"""The durable log of one source: every row is here before anything is computed from it.

A folder with `log.json` (format and schema), `NNNNNN.seg` (records, see `records`), `NNNNNNNNNN.parquet` (the
rows of one large batch each), `rejected.jsonl` (rows that were rejected or refused, each with its reason) and
`writer.lock`. One process writes; any number may read meanwhile.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from auroral.edge.durable import cut_back, replace_file, storage_error, sync_folder, write_at
from auroral.edge.ledger import Ledger, Reason
from auroral.edge.logindex import LogIndex, Part, checked_parquet, part_of, rows_of, within
from auroral.edge.records import DamagedSegment, Entry, Header, Kind, Torn, encode, rows_to_bytes, scan
from auroral.edge.refusals import Refused
from auroral.edge.segments import claim, segment, segments, span, write_parquet
from auroral.edge.spelling import json_lines
from auroral.edge.stamping import Stamped, StampState, rejected_schema, stamped_schema
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema

PARQUET_ROWS = 10_000
SEGMENT_BYTES = 64 * 2**20
FORMAT = 1


class SourceLogError(AuroralError):
    """A folder that is no source log, one of another source, or one that must be opened again."""


@dataclass(frozen=True, slots=True)
class LogState:
    """Where the log ends: what a source goes on from.

    `rows` is how many rows it holds; `rows_read` how many rows of the input are behind it, refused ones
    included: what to skip when reading on. `ended` says that the end of input was logged.
    """

    stamp: StampState = field(default_factory=StampState)
    ledger: Ledger = field(default_factory=Ledger)
    rows: int = 0
    rows_read: int = 0
    ended: bool = False

    @property
    def boundary(self) -> int | None:
        return self.stamp.boundary


@dataclass(frozen=True, slots=True)
class Record:
    """One append, as it was logged."""

    header: Header
    rows: pa.Table


class SourceLog:
    """Open it with `SourceLog.open`. `torn` tells what was cut off the end when it was opened after a
    crash."""

    def __init__(self, folder: Path, schema: Schema, stream: str, lock_fd: int | None):
        self.folder = folder
        self.schema = schema
        self.stream = stream
        self.torn: Torn | None = None
        self.state = LogState()
        self._arrow = stamped_schema(schema)
        self._lock = lock_fd
        self._index = LogIndex()
        self._last: Header | None = None
        self._segments = 0
        self._end = 0
        self._fd: int | None = None
        self._unusable: str | None = None

    @staticmethod
    def open(folder: Path | str, schema: Schema, *, stream: str | None = None, readonly: bool = False) -> SourceLog:
        """Open the log for writing, making it where there is none; or for reading. `stream` names it in
        the ledger."""
        folder = Path(folder)
        if readonly and not (folder / "log.json").exists():
            raise SourceLogError(
                f"{folder} is no source log (log.json is missing)\n    next: check the run folder's path"
            )
        lock_fd = None
        if not readonly:
            lock_fd = claim(folder)
        log = SourceLog(folder, schema, stream or folder.name, lock_fd)
        try:
            log._check_schema(readonly)
            log.refresh()
            if not readonly:
                log._tidy()
        except BaseException:
            log.close()
            raise
        return log

    def refresh(self) -> None:
        """Take in what was appended since (by the writer, when this is a reader)."""
        found = segments(self.folder)
        self.torn = None
        for number in range(max(self._segments, 1), len(found) + 1):
            path = found[number - 1]
            if number > self._segments:
                self._segments, self._end = number, 0
            for item in scan(path, self._end, last=number == len(found)):
                if isinstance(item, Torn):
                    self.torn = item
                else:
                    self._take(item)

    def append(
        self,
        stamped: Stamped,
        state: StampState,
        *,
        refused: Sequence[Refused] = (),
        rows_read: int | None = None,
    ) -> None:
        """Log what a Stamper gave, its state after it, and the rows refused before it. Durable when this
        returns.

        `rows_read` is the position in the input after these rows; left out, it goes on by the rows that are
        here.
        """
        counts = dict(stamped.counts)
        if refused:
            counts[Reason.REFUSED] = counts.get(Reason.REFUSED, 0) + len(refused)
        if rows_read is None:
            rows_read = self.state.rows_read + stamped.offered + len(refused)
        self._append(stamped.rows, stamped.rejected, refused, state, counts, rows_read, self.state.ended)

    def mark(self, state: StampState, *, ended: bool = False) -> None:
        """Log a boundary without rows, or the end of input. Nothing is written where nothing changed."""
        ended = ended or self.state.ended
        if state != self.state.stamp or ended != self.state.ended:
            nothing = rejected_schema(self.schema).empty_table()
            self._append(self._arrow.empty_table(), nothing, (), state, {}, self.state.rows_read, ended)

    def read(self, low: int | None = None, high: int | None = None) -> pa.Table:
        """Rows with `low <= stime < high`, in the order of seq. None is no bound."""
        tables = [
            within(rows_of(entry, self._arrow), entry.header, low, high) for entry in self._index.between(low, high)
        ]
        return pa.concat_tables([self._arrow.empty_table(), *tables])

    def parts(self, low: int | None = None, high: int | None = None) -> list[Part]:
        """The parts of the log that may have rows with `low <= stime < high`; a part may have others
        besides."""
        return [part_of(entry) for entry in self._index.between(low, high)]

    def read_part(self, part: Part) -> pa.Table:
        """All rows of one part."""
        return rows_of(self._index[part.number], self._arrow)

    def iter_records(self) -> Iterator[Record]:
        """Every append in its order, marks included."""
        for entry in self._index:
            yield Record(entry.header, rows_of(entry, self._arrow))

    @property
    def rejected_path(self) -> Path:
        return self.folder / "rejected.jsonl"

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Rows that were rejected or refused, as they were logged, each with its `__reason`."""
        length = self._last.rejected_bytes if self._last else 0
        if not length:
            return []
        with self.rejected_path.open("rb") as file:
            return [json.loads(line) for line in file.read(length).splitlines()]

    def close(self) -> None:
        for fd in (self._fd, self._lock):
            if fd is not None:
                os.close(fd)
        self._fd = self._lock = None

    def __enter__(self) -> SourceLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(
        self,
        rows: pa.Table,
        rejected: pa.Table,
        refused: Sequence[Refused],
        state: StampState,
        counts: Mapping[Reason, int],
        rows_read: int,
        ended: bool,
    ) -> None:
        self._must_be_writable()
        number = self._last.number + 1 if self._last else 0
        before = self._last.rejected_bytes if self._last else 0
        low, high = span(rows)
        kind = Kind.MARK if not rows.num_rows else Kind.INLINE if rows.num_rows < PARQUET_ROWS else Kind.PARQUET
        header = Header(number, kind, rows.num_rows, low, high, state, counts, rows_read, before, ended)
        own_file = self.folder / f"{number:010}.parquet" if kind is Kind.PARQUET else None
        target = self.rejected_path
        try:
            header = replace(header, rejected_bytes=self._log_rejected(before, rejected, refused))
            if own_file is not None:
                target = own_file
                header = write_parquet(own_file, rows, header)
            target = self._open_segment()
            assert self._fd is not None
            parts = encode(header, rows_to_bytes(rows) if kind is Kind.INLINE else b"")
            end = write_at(self._fd, self._end, *parts)
        except OSError as error:
            self._undo(before, own_file)
            raise storage_error(error, f"a batch of {rows.num_rows} rows of {self.stream!r}", target) from error
        rows_at = end - len(parts[1])
        self._take(Entry(header, segment(self.folder, self._segments), self._end, rows_at, end))

    def _log_rejected(self, before: int, rejected: pa.Table, refused: Sequence[Refused]) -> int:
        """Goes first: what lies behind the length that the last record names is cut off when the log is
        opened."""
        lines = "".join(refusal.to_json() + "\n" for refusal in refused)
        lines += json_lines(rejected) if rejected.num_rows else ""
        if not lines:
            return before
        fd = os.open(self.rejected_path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            end = write_at(fd, before, lines.encode())
        finally:
            os.close(fd)
        if before == 0:
            sync_folder(self.folder)
        return end

    def _open_segment(self) -> Path:
        if self._fd is not None and self._end >= SEGMENT_BYTES:
            os.close(self._fd)
            self._fd = None
            self._segments, self._end = self._segments + 1, 0
        path = segment(self.folder, max(self._segments, 1))
        if self._fd is None:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            self._segments = max(self._segments, 1)
            sync_folder(self.folder)
        return path

    def _undo(self, rejected_bytes: int, own_file: Path | None) -> None:
        """Back to before the append. If even that fails, only opening the log again can tell what is on
        the disk."""
        try:
            if self._fd is not None:
                cut_back(self._fd, self._end)
            if self.rejected_path.exists():
                os.truncate(self.rejected_path, rejected_bytes)
            if own_file is not None:
                own_file.unlink(missing_ok=True)
        except OSError as error:
            self._unusable = f"cutting back an unfinished write failed ({error.strerror})"

    def _take(self, entry: Entry) -> None:
        header = entry.header
        if header.number != (self._last.number + 1 if self._last else 0):
            expected = self._last.number + 1 if self._last else 0
            what = f"this is record {header.number}, but record {expected} is due: records are missing"
            raise DamagedSegment(entry.segment, entry.offset, what)
        if header.kind is Kind.PARQUET:
            checked_parquet(entry, content=False)
        self._index.add(entry, self.state.boundary)
        self._last, self._end = header, entry.end
        self.state = LogState(
            header.state,
            self.state.ledger.add_all(self.stream, header.counts),
            self.state.rows + header.rows,
            header.rows_read,
            header.ended,
        )

    def _check_schema(self, readonly: bool) -> None:
        path = self.folder / "log.json"
        described = {"format": FORMAT, "schema": str(self.schema)}
        if not path.exists():
            replace_file(path, json.dumps(described, ensure_ascii=False).encode())
            return
        found = json.loads(path.read_text())
        if found != described:
            raise SourceLogError(
                f"{self.folder} is the log of another input: format {found.get('format')}, "
                f"schema {found.get('schema')!r}\n    allowed: format {FORMAT}, schema {str(self.schema)!r}\n"
                "    next: start a new run folder, or restore the diagram that this one was made with"
            )

    def _tidy(self) -> None:
        """What a crash left behind: the torn end, rejected rows and Parquet files of a record that never
        came."""
        if self.torn is not None:
            with open(self.torn.segment, "r+b") as file:
                cut_back(file.fileno(), self.torn.offset)
        known = {entry.header.file for entry in self._index}
        for path in self.folder.glob("*.parquet"):
            if path.name not in known:
                path.unlink()
        length = self._last.rejected_bytes if self._last else 0
        found = self.rejected_path.stat().st_size if self.rejected_path.exists() else 0
        if found < length:
            raise DamagedSegment(
                self.rejected_path, found, f"the log of rejected rows had {length} bytes and is cut short"
            )
        if found > length:
            os.truncate(self.rejected_path, length)
        sync_folder(self.folder)

    def _must_be_writable(self) -> None:
        if self._lock is None:
            raise SourceLogError(f"{self.folder} is closed or open for reading\n    next: open it for writing")
        if self._unusable is not None:
            raise SourceLogError(f"{self.folder}: {self._unusable}\n    next: check the disk, then open the log again")
