"""Removing the oldest records of a source log, in steps that may be interrupted anywhere.

First `pruned.json` says where the log begins from now on; whatever lies before that no longer counts, so that the
files can go one by one. What an interruption left is removed when the log is next opened for writing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auroral.edge.durable import replace_file, storage_error
from auroral.edge.logbase import LogBase
from auroral.edge.records import Entry
from auroral.edge.segments import segment
from auroral.edge.sourcelog import SourceLog
from auroral.model.schema import Schema


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out of a log: rows, and bytes on disk. To note where it begins takes some bytes itself."""

    rows: int
    bytes: int


def prune_log(folder: Path, schema: Schema, stream: str, below: int, records: int) -> Removed:
    """Remove the records before the first one with a row at or after stime `below`, and at most the first `records`
    of them. The log is claimed meanwhile."""
    before = _bytes(folder)
    with SourceLog.open(folder, schema, stream=stream) as log:
        base, first_kept = _cut(log, below, records)
        rows = base.state.rows - log.base.state.rows
        if base.first:
            try:
                base.save(folder)
                # Also where the log begins as before: this may have been what was interrupted.
                _cut_segment(segment(folder, base.segment), first_kept)
            except OSError as error:
                raise storage_error(error, "where the log begins", folder) from error
            log.remove_before(base)
    return Removed(rows, max(0, before - _bytes(folder)))


def _cut(log: SourceLog, below: int, records: int) -> tuple[LogBase, Entry | None]:
    """Where the log may begin, and the record that is then its first; None where none is left."""
    base, state, rejected_bytes, number = log.base, log.base.state, log.base.rejected_bytes, log.base.segment
    first = base.first
    for entry in log.entries():
        header = entry.header
        number = int(entry.segment.stem)
        if header.number >= records or (header.high is not None and header.high >= below):
            return LogBase(first, number, below, state, rejected_bytes), entry
        first, state, rejected_bytes = header.number + 1, state.after(header, log.stream), header.rejected_bytes
    return LogBase(first, number, below, state, rejected_bytes), None


def _cut_segment(path: Path, first_kept: Entry | None) -> None:
    """Take the bytes before the first record that stays off its segment. A reader takes the old form as well as the new."""
    begin = first_kept.offset if first_kept is not None else path.stat().st_size
    if begin:
        replace_file(path, path.read_bytes()[begin:])


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
