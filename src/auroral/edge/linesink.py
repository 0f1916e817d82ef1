"""CSV and JSON lines as an output: one file, with its commit beside it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from auroral.edge.commits import Commit, commit_path, load, refuse_foreign
from auroral.edge.durable import cut_back, lock, make_folder, storage_error, sync_folder, write_at
from auroral.edge.sinks import OutputError, Sink
from auroral.edge.spelling import csv_header, csv_lines, json_lines
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema


class LineSink(Sink):
    """Appends behind the committed length; the commit is `NAME.commit`."""

    def __init__(self, path: Path, schema: Schema, owner: str, as_csv: bool):
        super().__init__(str(path), schema)
        self.path = path
        self._commit_path = commit_path(path)
        self._as_csv = as_csv
        try:
            make_folder(path.parent)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise storage_error(error, "the output", path) from error
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
        size = os.fstat(self._fd).st_size
        commit = load(self.path, str(self.schema), owner)
        if commit is None:
            if size:
                raise refuse_foreign(self.path, self._commit_path)
            # Before the first byte, so that a file with bytes and no commit is always somebody else's.
            commit = Commit(str(self.schema), owner)
            commit.save(self._commit_path)
            sync_folder(self.path.parent)
        if size < commit.length:
            raise OutputError(
                f"{self.path} has {size} bytes, but {commit.length} were committed: somebody changed it\n"
                f"    next: restore it from a copy, or remove it and {self._commit_path} to write it anew"
            )
        if size > commit.length:
            cut_back(self._fd, commit.length)
        return commit

    def _write(self, low: int, high: int, rows: pa.Table) -> None:
        self._must_be_usable()
        before = self._commit
        text = csv_lines(rows) if self._as_csv else json_lines(rows)
        if self._as_csv and before.length == 0:
            text = csv_header(self._arrow.names) + text
        commit = before
        try:
            end = write_at(self._fd, before.length, text.encode()) if text else before.length
            commit = replace(before, frontier=high, length=end, rows=before.rows + rows.num_rows)
            commit.save(self._commit_path)
        except OSError as error:
            self._undo(before, commit)
            raise storage_error(error, f"{rows.num_rows} rows", self.path) from error
        self._commit = commit

    def _undo(self, before: Commit, commit: Commit) -> None:
        """Back to the commit before, unless the new one is there already, only not surely durable: then its rows must stay.

        In that case, and where cutting back fails too, only opening the output again can tell what counts.
        """
        self._usable = False
        with suppress(OSError):
            if commit == before or not commit.is_in(self._commit_path):
                cut_back(self._fd, before.length)
                self._usable = True

    def _remove(self) -> None:
        # The commit last: without it, rows in the file would be taken for somebody else's.
        self.path.unlink(missing_ok=True)
        self._commit_path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
