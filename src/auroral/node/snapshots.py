"""Durable snapshots of fold state, each at the stime up to which it holds.

A snapshot is the whole state, or what changed of it since an earlier one: a state of a million keys is not written anew because a thousand
of them changed. How many files lie behind one another, and how much is in them, is bounded.

A snapshot can always be made again from the source logs: a damaged one is passed over and reported, never
fatal. States of users' aggregates are pickles, which can run any code when they are loaded: resume only run folders that you trust.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from auroral.edge.durable import make_folder, replace_file, storage_error
from auroral.engine.foldstates import FoldStates, NotFoldStates, ipc_bytes, ipc_rows, states_from
from auroral.node.statedeltas import MOST_DELTAS, WHOLE, Behind, to_write

_NAME = re.compile(r"^(-?\d+)\.state$")
_MAGIC, _OLDER = b"auroral fold state 2\n", b"auroral fold state 1\n"
_HEAD = len(_MAGIC) + 8


@dataclass(frozen=True, slots=True)
class Header:
    """What a snapshot says of itself: the one that it is the changes of, how many lie behind a whole one, how many keys these have changed
    together, and the digest of the state that comes of it."""

    base: int | None
    deltas: int
    changed: int
    digest: str

    @property
    def behind(self) -> Behind:
        return Behind(self.deltas, self.changed)


@dataclass(frozen=True, slots=True)
class _Written:
    stime: int
    header: Header
    states: FoldStates


class _Damaged(Exception):
    pass


@dataclass(slots=True)
class Snapshots:
    """The snapshots of a folder. `notes` say what was passed over and why."""

    folder: Path
    notes: list[str] = field(default_factory=list)
    _last: _Written | None = None
    """The one that was written or read last: only of this it is known what changed since."""

    def stimes(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(match[1]) for path in self.folder.iterdir() if (match := _NAME.match(path.name)))

    def save(self, stime: int, states: FoldStates) -> None:
        last = self._last
        if last is not None and not self._path(last.stime).exists():
            last = None
        rows, behind = to_write(states, last.states if last else None, last.header.behind if last else WHOLE)
        base = last.stime if last is not None and behind != WHOLE else None
        header = Header(base, behind.deltas, behind.changed, f"{states.digest:032x}")
        path = self._path(stime)
        try:
            make_folder(self.folder)
            replace_file(path, _bytes(header, ipc_bytes(rows)))
        except OSError as error:
            raise storage_error(error, "a snapshot of fold state", path) from error
        self._last = _Written(stime, header, states)

    def read(self, stime: int) -> FoldStates | None:
        """The state at `stime`; None, with a note, where it cannot be had."""
        path = self._path(stime)
        try:
            header, states = self._read(stime, MOST_DELTAS)
        except _Damaged as error:
            self.notes.append(f"{error} and was passed over; an older state serves, at more work")
            return None
        if f"{states.digest:032x}" != header.digest:
            self.notes.append(f"{path} is not the state that was written and was passed over; an older one serves")
            return None
        self._last = _Written(stime, header, states)
        return states

    def _read(self, stime: int, most: int) -> tuple[Header, FoldStates]:
        path = self._path(stime)
        header, content = self._content(path)
        try:
            rows = ipc_rows(content)
            if header.base is None:
                return header, states_from(rows)
            if most == 0 or header.base >= stime:
                raise _Damaged(f"{path} is damaged")
            return header, self._read(header.base, most - 1)[1].with_rows(rows)
        except NotFoldStates as error:
            raise _Damaged(f"{path} is damaged ({error})") from error

    def _content(self, path: Path) -> tuple[Header, bytes]:
        try:
            found = path.read_bytes()
        except FileNotFoundError as error:
            raise _Damaged(f"{path}, of which a later one has the changes, is missing") from error
        if found.startswith(_OLDER):
            raise _Damaged(f"{path} was written by an earlier version of auroral")
        checked = found[_HEAD - 4 :]
        if not found.startswith(_MAGIC) or zlib.crc32(checked).to_bytes(4, "little") != found[_HEAD - 8 : _HEAD - 4]:
            raise _Damaged(f"{path} is damaged")
        end = _HEAD + int.from_bytes(checked[:4], "little")
        return Header(**json.loads(found[_HEAD:end])), found[end:]

    def prune(self, below: int) -> None:
        """Remove all that are older than the newest one at or below `below`, but for those that others are the changes of."""
        older = [stime for stime in self.stimes() if stime <= below]
        self.remove(older[:-1])

    def remove(self, stimes: Iterable[int]) -> int:
        """All but those that others, which stay, are the changes of. Gives the bytes freed."""
        unwanted = set(stimes)
        needed = {base for stime in self.stimes() if stime not in unwanted for base in self._bases(stime)}
        paths = [self._path(stime) for stime in unwanted - needed]
        freed = sum(path.stat().st_size for path in paths)
        for path in paths:
            path.unlink()
        return freed

    def _bases(self, stime: int) -> list[int]:
        """Those that this one is the changes of, as far as they are there."""
        found: list[int] = []
        at: int | None = stime
        while at is not None and len(found) <= MOST_DELTAS:
            at = _base(self._path(at))
            if at is not None:
                found.append(at)
        return found

    def _path(self, stime: int) -> Path:
        return self.folder / f"{stime}.state"


def _base(path: Path) -> int | None:
    """What a snapshot says that it is the changes of, without a look at all of it; None where it says nothing."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            said = file.read(int.from_bytes(head[-4:], "little")) if head.startswith(_MAGIC) else b"{}"
        base: int | None = json.loads(said).get("base")
    except (FileNotFoundError, ValueError, AttributeError):
        return None
    return base


def _bytes(header: Header, rows: bytes) -> bytes:
    said = json.dumps(asdict(header), separators=(",", ":")).encode()
    checked = len(said).to_bytes(4, "little") + said + rows
    return _MAGIC + zlib.crc32(checked).to_bytes(4, "little") + checked
