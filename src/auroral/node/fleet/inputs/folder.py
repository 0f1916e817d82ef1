"""Rows from files that appear in a folder: each once, by its name, in the order of the names of those that are whole.

A file is whole when it was seen not to change for QUIET seconds; when it says that it was written tells nothing, as copies keep that. Who writes more slowly writes it elsewhere, or under a name that begins with `.`
or `_`, and renames it when it is done. One that cannot be read is told of, and read when it has changed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from auroral.edge.files import CSV, JSON, PARQUET, InputError, read_batches
from auroral.node.feeds import BATCH_ROWS, Clock
from auroral.node.fleet.inputs.takenfiles import Begun, TakenFiles
from auroral.node.source import Source

QUIET = 2.0
LOOK_EVERY = 0.5
_ENDINGS = (*CSV, *JSON, *PARQUET)
Note = Callable[[str], None]
"""Tells who watches the deployment."""


class FolderInput:
    """A feed: `run` goes on where the log ends."""

    def __init__(self, source: Source, folder: Path, clock: Clock, note: Note):
        self.source, self.folder, self.clock, self.note = source, folder, clock, note
        self.taken = TakenFiles(source.log.folder)
        self._seen: dict[str, tuple[Mapping[str, Any], float]] = {}
        """Of files that are not taken: how they looked last, and since when."""
        self._told: dict[str, Mapping[str, Any]] = {}
        """Of files of which something was said: how they looked then."""

    def run(self, stop: threading.Event, woken: Callable[[], None]) -> None:
        self._go_on(stop, woken)
        wait = 0.0
        while not stop.wait(wait):
            began = time.monotonic()
            for name in self._whole():
                self._take(name, stop, woken)
                if stop.is_set():
                    return
            # A folder with very many files is looked at less often.
            wait = max(LOOK_EVERY, 5 * (time.monotonic() - began))

    def _go_on(self, stop: threading.Event, woken: Callable[[], None]) -> None:
        """With the file that was being read when the last life ended."""
        begun = self.taken.unfinished
        if begun is None:
            return
        read = self.source.state.rows_read - begun.first
        now = _mark(self.folder / begun.name)
        if now is not None and now["size"] == begun.mark["size"]:
            self._rows(begun, read, stop, woken)
            return
        what = "is gone" if now is None else "has changed"
        self.note(f"{begun.name} {what} since {read} rows of it were taken: what stood behind them is not read")
        self.taken.end(begun.name, begun.mark)

    def _whole(self) -> list[str]:
        """Names of files that are to be taken now, in their order."""
        try:
            with os.scandir(self.folder) as entries:
                marks = {e.name: mark for e in entries if e.name[0] not in "._" and (mark := _mark(Path(e.path)))}
        except OSError as error:
            self._tell("", {"errno": error.errno}, f"{self.folder} cannot be read: {error.strerror}; it is tried again")
            return []
        for name in marks.keys() & self.taken.ended.keys():
            if (mark := marks.pop(name)) != self.taken.ended[name]:
                self._tell(name, mark, f"{name} was taken before, and is not read again: it needs a new name")
        now = time.monotonic()
        since = {
            name: self._seen[name][1] for name in marks if name in self._seen and self._seen[name][0] == marks[name]
        }
        self._seen = {name: (mark, since.get(name, now)) for name, mark in marks.items()}
        quiet = [
            name for name, (mark, first) in self._seen.items() if now - first >= QUIET and self._told.get(name) != mark
        ]
        return sorted(quiet)

    def _take(self, name: str, stop: threading.Event, woken: Callable[[], None]) -> None:
        mark = self._seen[name][0]
        if not name.lower().endswith(_ENDINGS):
            self._tell(name, mark, f"{name} is passed over\n    allowed: names that end with {', '.join(_ENDINGS)}")
            return
        begun = Begun(name, self.source.state.rows_read, mark)
        self._rows(begun, 0, stop, woken)

    def _rows(self, begun: Begun, skip: int, stop: threading.Event, woken: Callable[[], None]) -> None:
        given, new = self.source.input, self.taken.unfinished is None
        try:
            path = self.folder / begun.name
            batches = read_batches(path, given.schema, skip=skip, batch_rows=BATCH_ROWS, any_case=given.any_case)
        except InputError as error:
            self._tell(begun.name, begun.mark, f"{begun.name} is not taken: {error}")
            if not new:
                self.taken.end(begun.name, begun.mark)
            return
        if new:
            self.taken.begin(begun)
        try:
            for batch in batches:
                self.source.take(batch.rows, self.clock(), batch.refused, begun.first + batch.end)
                woken()
                if stop.is_set():
                    return
        except InputError as error:
            taken = self.source.state.rows_read - begun.first
            self.note(f"{begun.name} is read no further than its first {taken} rows: {error}")
        self.taken.end(begun.name, begun.mark)

    def _tell(self, name: str, mark: Mapping[str, Any], text: str) -> None:
        """Once, until it has changed."""
        if self._told.get(name) != mark:
            self._told[name] = mark
            self.note(text)


def _mark(path: Path) -> Mapping[str, Any] | None:
    """Of a file, its size and when it was changed; None where it is none."""
    try:
        found = path.stat()
        return {"size": found.st_size, "changed": found.st_mtime_ns} if path.is_file() else None
    except OSError:
        return None
