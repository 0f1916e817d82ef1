"""The durable log of one source: every row is here before anything is computed from it.

A folder with `log.json` (format and schema), `NNNNNN.seg` (records, see `records`), `NNNNNNNNNN.parquet` (the
rows of one large batch each), `rejected.jsonl` (rows that were rejected or refused, each with its reason),
`pruned.json` (where the log begins, once its oldest records were removed), `writer.lock` (with the number of records
that were acknowledged) and, for a file, `input.json` (what is remembered of it). One process writes; any number may
read meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from auroral.edge import rejectedrows
from auroral.edge.acknowledged import LOCK, note_count, read_count, refuse_lost
from auroral.edge.durable import claim, cut_back, storage_error, sync_folder, write_at
from auroral.edge.ledger import Reason
from auroral.edge.logbase import LogBase, LogState
from auroral.edge.logformat import SourceLogError, check_schema
from auroral.edge.logindex import LogIndex, Part, checked_parquet, part_of, rows_of, within
from auroral.edge.records import DamagedSegment, Entry, Header, Kind, Torn, encode, rows_to_bytes, scan
from auroral.edge.refusals import Refused
from auroral.edge.segments import parquet_file, remove_pruned, segment, segments, span, stored, write_parquet
from auroral.edge.stamping import Stamped, StampState, rejected_schema, stamped_schema
from auroral.model.schema import Schema

__all__ = ["LogState", "SourceLog", "SourceLogError"]

PARQUET_ROWS = 10_000
SEGMENT_BYTES = 64 * 2**20


class SourceLog:
    """Open it with `SourceLog.open`. `torn` tells what was cut off the end when it was opened after a
    crash."""

    def __init__(self, folder: Path, schema: Schema, stream: str, lock_fd: int | None):
        self.folder = folder
        self.schema = schema
        self.stream = stream
        self.torn: Torn | None = None
        self.base = LogBase()
        self.state = self.base.state
        self._arrow = stamped_schema(schema)
        self._lock = lock_fd
        self._index = LogIndex(folder)
        self._last: Header | None = None
        self._segments = 0
        self._end = 0
        self._fd: int | None = None
        self._unusable: str | None = None

    @staticmethod
    def open(
        folder: Path | str,
        schema: Schema,
        *,
        stream: str | None = None,
        readonly: bool = False,
        used: int | None = None,
    ) -> SourceLog:
        """Open the log for writing, making it where there is none; or for reading. `stream` names it in the ledger;
        `used` is the stime up to which its rows were evaluated."""
        folder = Path(folder)
        if readonly and not (folder / "log.json").exists():
            raise SourceLogError(
                f"{folder} is no source log (log.json is missing)\n    next: check the run folder's path"
            )
        lock_fd = None if readonly else claim(folder / LOCK, "a source log")
        # Looked at first: a writer may append while this one reads.
        acknowledged = read_count(folder)
        log = SourceLog(folder, schema, stream or folder.name, lock_fd)
        try:
            check_schema(folder, schema)
            log.base = LogBase.load(folder)
            log.state = log.base.state
            if used is not None:
                log.settle(used)
            log.refresh()
            end = log.torn or (segment(folder, max(log._segments, 1)), log._end)
            refuse_lost(end, log.next_number, acknowledged, log.state, used)
            if not readonly:
                log._tidy()
        except BaseException:
            log.close()
            raise
        return log

    def refresh(self) -> None:
        """Take in what was appended since (by the writer, when this is a reader)."""
        first = self.base.segment
        found = segments(self.folder, first, pruned=self.base.first > 0)
        self.torn = None
        for number, path in enumerate(found, start=first):
            if number < self._segments:
                continue
            if number > self._segments:
                self._segments, self._end = number, 0
            for item in scan(path, self._end, last=path == found[-1]):
                if isinstance(item, Torn):
                    self.torn = item
                elif item.header.number < self.base.first:
                    # Pruned, and not yet cut off its segment.
                    self._end = item.end
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
        tables = [within(rows_of(part, self._arrow), part, low, high) for part in self._index.between(low, high)]
        return pa.concat_tables([self._arrow.empty_table(), *tables])

    def parts(self, low: int | None = None, high: int | None = None) -> list[Part]:
        """The parts of the log that may have rows with `low <= stime < high`; a part may have others
        besides."""
        return list(self._index.between(low, high))

    def read_part(self, part: Part) -> pa.Table:
        """All rows of one part."""
        return rows_of(part, self._arrow)

    def settle(self, stime: int) -> None:
        """Rows before `stime` were evaluated. They can be read as before, only more slowly, and take less memory."""
        self._index.settle(stime)

    @property
    def first_stime(self) -> int | None:
        """The smallest stime in the log; None where it has no rows."""
        return self._index.first_stime

    def entries(self) -> Iterator[Entry]:
        """Every append that was not pruned, in its order, marks included; read again from the segments."""
        return stored(self.folder, self.base.segment, range(self.base.first, self.next_number))

    def history(self) -> Iterator[tuple[LogState, Header]]:
        """The same, each header with the log's state before it."""
        state = self.base.state
        for entry in self.entries():
            yield state, entry.header
            state = state.after(entry.header, self.stream)

    def remove_before(self, base: LogBase) -> None:
        """Remove files that no record from `base` on needs. Where it is not this log's own, open the log anew."""
        remove_pruned(self.folder, base.segment, range(base.first, self.next_number))

    @property
    def rejected_path(self) -> Path:
        return self.folder / "rejected.jsonl"

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Rows that were rejected or refused, as they were logged, each with its `__reason`."""
        return rejectedrows.read(self.rejected_path, self.rejected_bytes)

    @property
    def rejected_bytes(self) -> int:
        """How long the file of rejected rows is; what lies behind that never came."""
        return self._last.rejected_bytes if self._last else self.base.rejected_bytes

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
        number, before = self.next_number, self.rejected_bytes
        low, high = span(rows)
        kind = Kind.MARK if not rows.num_rows else Kind.INLINE if rows.num_rows < PARQUET_ROWS else Kind.PARQUET
        header = Header(number, kind, rows.num_rows, low, high, state, counts, rows_read, before, ended)
        own_file = parquet_file(self.folder, number) if kind is Kind.PARQUET else None
        target = self.rejected_path
        try:
            length = rejectedrows.append(self.rejected_path, before, rejected, refused)
            header = replace(header, rejected_bytes=length)
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
        assert self._lock is not None
        note_count(self._lock, self.next_number)

    def _open_segment(self) -> Path:
        if self._fd is not None and self._end >= SEGMENT_BYTES:
            os.close(self._fd)
            self._fd = None
            self._segments, self._end = self._segments + 1, 0
        self._segments = max(self._segments, 1)
        path = segment(self.folder, self._segments)
        if self._fd is None:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
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
        if header.number != self.next_number:
            what = f"this is record {header.number}, but record {self.next_number} is due: records are missing"
            raise DamagedSegment(entry.segment, entry.offset, what)
        if header.kind is Kind.PARQUET:
            checked_parquet(part_of(entry), content=False)
        self._index.add(entry, self.state.boundary)
        self._last, self._end = header, entry.end
        self.state = self.state.after(header, self.stream)

    @property
    def next_number(self) -> int:
        """How many records there are, pruned ones included: the number of the next one."""
        return self._last.number + 1 if self._last else self.base.first

    def _tidy(self) -> None:
        """What a crash left behind: the torn end, rejected rows and Parquet files of a record that never
        came, and files that were being pruned."""
        if self.torn is not None:
            with open(self.torn.segment, "r+b") as file:
                cut_back(file.fileno(), self.torn.offset)
        self.remove_before(self.base)
        rejectedrows.tidy(self.rejected_path, self.rejected_bytes)
        sync_folder(self.folder)

    def _must_be_writable(self) -> None:
        if self._lock is None:
            raise ValueError(f"{self.folder} is closed, or open for reading")
        if self._unusable is not None:
            raise SourceLogError(f"{self.folder}: {self._unusable}\n    next: check the disk, then open the log again")
