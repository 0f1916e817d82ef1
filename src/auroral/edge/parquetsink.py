"""Parquet as an output: a folder of part files, with the commit in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.edge.commits import Commit, commit_path, load, refuse_foreign
from auroral.edge.durable import lock, make_folder, storage_error, sync_folder, write_new
from auroral.edge.sinks import OutputError, Sink
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema

_PART = re.compile(r"^part-(\d+)(?:-(\d+))?_(-?\d+)_(-?\d+)\.parquet$")


class Part(NamedTuple):
    """A file with the rows of [low, high): one part, or those from `first` to `last` that were merged."""

    first: int
    last: int
    low: int
    high: int

    @property
    def name(self) -> str:
        merged = f"-{self.last:08}" if self.last > self.first else ""
        return f"part-{self.first:08}{merged}_{self.low}_{self.high}.parquet"

    @property
    def made_from(self) -> int:
        """How many parts are in it."""
        return self.last - self.first + 1


def stored_parts(folder: Path) -> tuple[list[Part], list[Part]]:
    """What is in `folder`, committed or not, in its order: the parts that count, and those that are in another one too, as merging them was not
    finished."""
    matches = [m for path in folder.iterdir() if (m := _PART.match(path.name))]
    found = [Part(int(m[1]), int(m[2] or m[1]), int(m[3]), int(m[4])) for m in matches]
    counting, covered = list[Part](), list[Part]()
    for part in sorted(found, key=lambda one: (one.first, -one.last)):
        (covered if counting and part.last <= counting[-1].last else counting).append(part)
    return counting, covered


def write_part(path: Path, rows: pa.Table) -> None:
    """As a whole or not at all. Durable when this returns."""
    temporary = path.with_name(path.name + ".tmp")
    content = pa.BufferOutputStream()
    # Whoever reads it can tell that it is damaged: the compression alone does not.
    pq.write_table(rows, content, write_page_checksum=True)
    write_new(temporary, memoryview(content.getvalue()))
    os.replace(temporary, path)
    sync_folder(path.parent)


def lacking(parts: Iterable[Part], commit: Commit) -> list[int]:
    """Numbers of parts that should be there, and are not."""
    there = {number for part in parts for number in range(part.first, part.last + 1)}
    return sorted(set(range(commit.gone, commit.length)) - there)


class ParquetSink(Sink):
    """Files `part-NUMBER_LOW_HIGH.parquet`, each the rows of [LOW, HIGH); ranges without rows have none. Who owns the folder may merge some
    that follow one another (`node.merging`).

    Spark and others skip the commit, `_commit.json`, by its underscore.
    """

    def __init__(self, path: Path, schema: Schema, owner: str):
        super().__init__(str(path), schema)
        self.path = path
        self._commit_path = commit_path(path)
        try:
            make_folder(path)
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise storage_error(error, "the output (a folder)", path) from error
        try:
            lock(self._fd, path)
            self._commit = self._recover(owner)
        except OSError as error:
            os.close(self._fd)
            raise storage_error(error, "the output's commit", self._commit_path) from error
        except AuroralError:
            os.close(self._fd)
            raise
        self.frontier = self._commit.frontier

    def _recover(self, owner: str) -> Commit:
        commit = load(self.path, str(self.schema), owner)
        for leftover in self.path.glob("*.tmp"):
            leftover.unlink()
        if commit is None:
            if any(self.path.iterdir()):
                raise refuse_foreign(self.path, self._commit_path)
            commit = Commit(str(self.schema), owner)
            commit.save(self._commit_path)
            sync_folder(self.path.parent)
        parts, covered = stored_parts(self.path)
        outside = (part for part in parts if part.first >= commit.length or part.last < commit.gone)
        for part in [*covered, *outside]:
            (self.path / part.name).unlink()
        sync_folder(self.path)
        missing = lacking(parts, commit)
        if missing:
            raise OutputError(
                f"{self.path} lacks part {missing[0]} of {commit.length}: it was changed by somebody else\n"
                f"    next: restore it from a copy, or remove {self.path} to write it anew"
            )
        return commit

    def _write(self, low: int, high: int, rows: pa.Table) -> None:
        self._must_be_usable()
        before = self._commit
        part = self.path / Part(before.length, before.length, low, high).name
        temporary = part.with_name(part.name + ".tmp")
        commit = before
        try:
            if rows.num_rows:
                write_part(part, rows)
            length = before.length + (1 if rows.num_rows else 0)
            commit = replace(before, frontier=high, length=length, rows=before.rows + rows.num_rows)
            commit.save(self._commit_path)
        except OSError as error:
            self._undo(before, commit, (temporary, part))
            raise storage_error(error, f"{rows.num_rows} rows", part) from error
        self._commit = commit

    @property
    def commit(self) -> Commit:
        return self._commit

    def let_go(self, parts: Sequence[Part], rows: int) -> None:
        """Without the first parts that there are, which have so many rows. What counts is said before they are removed: a crash in between leaves
        files that nobody reads, and opening the output removes them."""
        self._must_be_usable()
        last, before = parts[-1], self._commit
        commit = replace(before, gone=last.last + 1, let_go=before.let_go + rows, base=last.high)
        try:
            commit.save(self._commit_path)
        except OSError as error:
            self._undo(before, commit, ())
            raise storage_error(error, "what is let go", self._commit_path) from error
        self._commit = commit
        for part in parts:
            (self.path / part.name).unlink(missing_ok=True)

    def _undo(self, before: Commit, commit: Commit, files: tuple[Path, ...]) -> None:
        """Without what was written, unless its commit is there already, only not surely durable: then it must stay.

        In that case, and where removing fails too, only opening the output again can tell what counts.
        """
        self._usable = False
        with suppress(OSError):
            if commit == before or not commit.is_in(self._commit_path):
                for file in files:
                    file.unlink(missing_ok=True)
                self._usable = True

    def _remove(self) -> None:
        self._commit_path.unlink(missing_ok=True)
        self.path.rmdir()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
