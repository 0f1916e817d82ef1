"""Durable snapshots of fold state, each at the stime up to which it holds.

A snapshot can always be made again from the source logs: a damaged one is passed over and reported, never
fatal. It holds a pickle, which can run any code when it is loaded: resume only run folders that you trust.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from auroral.edge.durable import make_folder, replace_file, storage_error

_NAME = re.compile(r"^(-?\d+)\.state$")
_MAGIC = b"auroral fold state 1\n"


@dataclass(slots=True)
class Snapshots:
    """The snapshots of a folder. `notes` say what was passed over and why."""

    folder: Path
    notes: list[str] = field(default_factory=list)

    def stimes(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(match[1]) for path in self.folder.iterdir() if (match := _NAME.match(path.name)))

    def save(self, stime: int, state: bytes) -> None:
        path = self._path(stime)
        try:
            make_folder(self.folder)
            replace_file(path, _MAGIC + zlib.crc32(state).to_bytes(4, "little") + state)
        except OSError as error:
            raise storage_error(error, "a snapshot of fold state", path) from error

    def read(self, stime: int) -> bytes | None:
        """The state at `stime`; None, with a note, where the file is damaged."""
        path = self._path(stime)
        content = path.read_bytes()
        head = len(_MAGIC) + 4
        state = content[head:]
        if not content.startswith(_MAGIC) or zlib.crc32(state).to_bytes(4, "little") != content[head - 4 : head]:
            self.notes.append(f"{path} is damaged and was passed over; an older state serves, at more work")
            return None
        return state

    def readable(self, stimes: Iterable[int]) -> dict[int, bytes]:
        return {stime: state for stime in stimes if (state := self.read(stime)) is not None}

    def prune(self, below: int) -> None:
        """Remove all that are older than the newest one at or below `below`."""
        older = [stime for stime in self.stimes() if stime <= below]
        for stime in older[:-1]:
            self._path(stime).unlink(missing_ok=True)

    def remove(self, stimes: Iterable[int]) -> int:
        """Gives the bytes freed."""
        paths = [self._path(stime) for stime in stimes]
        freed = sum(path.stat().st_size for path in paths)
        for path in paths:
            path.unlink()
        return freed

    def _path(self, stime: int) -> Path:
        return self.folder / f"{stime}.state"
