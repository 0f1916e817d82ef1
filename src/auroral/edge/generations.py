"""A folder of files that changes as a whole: whoever lists it sees all of one generation, and nothing of another.

`NAME` is a symbolic link to the newest generation, a folder that is never changed once it is there. To change what `NAME` shows, a new
generation is made beside it, of links to files that stay and of new ones, and the link is put in the place of the old one in one step. A
crash before that leaves a generation that nobody sees, and that the next one takes away. Those that were shown before stay for a while, for
readers that have gone to the folder behind the link.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from auroral.edge.durable import make_folder, storage_error, sync_folder, write_new
from auroral.edge.parquetsink import write_part

STAYS = 600.0
"""Seconds for which a generation is there after the next one is shown."""
_BEHIND = ".generations"
_NEW = ".new"


class Generations:
    """Of the folder `place`; one process at a time writes it."""

    def __init__(self, place: Path, stays: float = STAYS):
        self.place, self._stays = place, stays
        self._behind = place.parent / _BEHIND / place.name

    @property
    def newest(self) -> Path | None:
        """The folder that is shown."""
        try:
            found = self.place.parent / os.readlink(self.place)
        except OSError:
            return None
        return found if found.is_dir() else None

    def show(self, files: Mapping[str, Path | pa.Table | bytes]) -> None:
        """From now on these, by name: a file as it is, rows as Parquet, or what is to be in it. Durable when this returns."""
        try:
            make_folder(self._behind)
            self._put_aside_a_copy()
            number = self._next()
            made, folder = self._behind / f"{number:08}{_NEW}", self._behind / f"{number:08}"
            for unfinished in self._behind.glob(f"*{_NEW}"):
                shutil.rmtree(unfinished)
            made.mkdir()
            for name, content in files.items():
                _put(made / name, content)
            sync_folder(made)
            made.rename(folder)
            sync_folder(self._behind)
            self._point_to(folder)
            self._clear(number)
        except OSError as error:
            raise storage_error(error, "what is kept", self._behind) from error

    def _put_aside_a_copy(self) -> None:
        """Whoever copied all of this and followed links, as scp does, has a folder where the link was: nothing can be put in its place in one step."""
        if self.place.is_dir() and not self.place.is_symlink():
            self.place.rename(self._behind / f"{self._next():08}")

    def _point_to(self, folder: Path) -> None:
        link = self.place.with_name(f".{self.place.name}{_NEW}")
        link.unlink(missing_ok=True)
        link.symlink_to(folder.relative_to(self.place.parent))
        link.replace(self.place)
        sync_folder(self.place.parent)

    def _all(self) -> list[Path]:
        if not self._behind.is_dir():
            return []
        return sorted(one for one in self._behind.iterdir() if one.name.isdigit())

    def _next(self) -> int:
        return max((int(one.name) for one in self._all()), default=0) + 1

    def _clear(self, shown: int) -> None:
        """Those that were followed long enough ago."""
        found = self._all()
        for folder, following in pairwise(found):
            if int(folder.name) < shown and time.time() - following.stat().st_mtime >= self._stays:
                shutil.rmtree(folder)


def _put(path: Path, content: Path | pa.Table | bytes) -> None:
    if isinstance(content, pa.Table):
        write_part(path, content)
    elif isinstance(content, bytes):
        write_new(path, content)
    else:
        try:
            os.link(content, path)
        except FileNotFoundError:
            raise
        except OSError:
            # Not every file system has links.
            write_new(path, content.read_bytes())
