"""Opening a core's store: which of its files are whole, what of them counts, and what must not be gone on without.

What a crash cut short is the end of the newest segment, of a list that was never acknowledged: it is cut off. Everything else that is not
as it was written is damage: the segment is refused, by name, and moved aside. Contents of a refused segment are never used; a commit in it
that is whole is, as its plan and its positions must not be forgotten. Where a plan or a layout is lost for all that, nothing is touched, and
every opening says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from auroral.edge.durable import cut_back, sync_folder
from auroral.node.store.holdings import Commit, mended
from auroral.node.store.journal import Journal, Segment, segment_path
from auroral.node.store.locking import Acknowledged, CoreLock
from auroral.node.store.records import DamagedStore, Key, Kind, Lies, commits_behind, key_of, read_head, records

_NAME = re.compile(r"^(\d{10})\.seg$")


@dataclass(slots=True)
class Seen:
    """A segment as it was found."""

    number: int
    size: int = 0
    contents: list[tuple[Key, Lies]] = field(default_factory=list)
    last: Commit | None = None
    """The last before anything that is not whole."""
    end: int = 0
    """Where it ends."""
    newest: Commit | None = None
    """Also of those behind what is not whole."""
    wrong: str = ""
    """What is not whole."""

    def torn(self, acknowledged: int) -> bool:
        """Whether what is not whole is the list that was being written: nothing is behind it, and nobody was told that it is there."""
        if self.last is None or self.newest is None:
            return False
        return self.newest.number <= self.last.number + 1 and acknowledged <= self.last.number


def open_journal(folder: Path, lock: CoreLock, segment_bytes: int) -> tuple[Journal, list[str]]:
    """With what is to be said of damage."""
    for unfinished in folder.glob("*.seg.tmp"):
        unfinished.unlink()
    found = {int(match[1]): path for path in folder.glob("*.seg") if (match := _NAME.match(path.name))}
    refused = {path: "not the name of a segment" for path in folder.glob("*.seg") if not _NAME.match(path.name)}
    said = lock.read()
    store = said.store if said is not None else _store_of(found)
    if store is None:
        if found:
            raise _nothing_known(folder)
        said = lock.begin()
        store = said.store

    known = said or Acknowledged(store)
    newest = _newest(found, store, known.number, refused)
    _refuse_to_forget(folder, newest, said, refused)
    final = Commit() if newest is None or newest.newest is None else newest.newest
    segments = _older(found, store, final, 0 if newest is None else newest.number, refused)
    if newest is not None and found[newest.number] not in refused:
        if newest.end < newest.size:
            _cut(found[newest.number], newest.end)
        segments.append(newest)
    places = {key: lies for seen in segments for key, lies in seen.contents}
    holdings, gone = mended(final.holdings, places)
    holds = holdings.kept()
    places = {key: lies for key, lies in places.items() if holds(key)}
    last = replace(final, number=max(final.number, known.number), holdings=holdings)
    journal = Journal(folder, store, lock, segment_bytes, newest=max(found, default=0), last=last, places=places)
    journal.segments = {seen.number: Segment(seen.end) for seen in segments}
    for lies in places.values():
        journal.segments[lies.segment].held += lies.size

    damage = _missing(folder, found, final, known.number)
    if refused or damage:
        # Before anything is moved: opened again after a crash, the store is found like this, or as it was.
        try:
            journal.commit(holdings, {})
        except BaseException:
            journal.close()
            raise
        damage += [f"{path.name}: {why}; moved aside to {_aside(path)}" for path, why in refused.items()]
        sync_folder(folder)
    else:
        lock.note(Acknowledged(store, last.number, last.decided))
    for number, path in found.items():
        if number not in journal.segments and path not in refused:
            # A crash came before it was removed.
            path.unlink(missing_ok=True)
    return journal, damage + gone


def _store_of(found: dict[int, Path]) -> bytes | None:
    """The name of the store by its segments, where the lock does not say."""
    for number in sorted(found, reverse=True):
        with open(found[number], "rb") as file:
            if (said := read_head(file, found[number])) is not None:
                return said[0]
    return None


def _newest(found: dict[int, Path], store: bytes, acknowledged: int, refused: dict[Path, str]) -> Seen | None:
    """The newest segment that has a commit; those behind it, and it too where it is damaged, are refused."""
    for number in sorted(found, reverse=True):
        path = found[number]
        seen = _look(path, number, store, lambda _: True)
        if seen.wrong and not seen.torn(acknowledged):
            refused[path] = seen.wrong
        if seen.newest is not None:
            if path not in refused:
                seen.newest = seen.last
            return seen
    return None


def _refuse_to_forget(folder: Path, newest: Seen | None, said: Acknowledged | None, refused: dict[Path, str]) -> None:
    number = 0 if newest is None or newest.newest is None else newest.newest.number
    if said is None:
        # What a segment without any commit had is not known.
        lost = any(
            _NAME.match(path.name) and (newest is None or path.stem > f"{newest.number:010}") for path in refused
        )
    else:
        lost = said.decided > number
    if lost:
        why = "; ".join(f"{path.name}: {what}" for path, what in refused.items()) or "a segment is missing"
        raise DamagedStore(
            folder,
            f"the plan or the layout that this core kept last is lost ({why})",
            "a core goes on only with what it promised, and nothing here was changed",
            "restore the files of this folder from a copy; or throw the folder away, and start the core as a new one, with the plan that "
            "the catalog has",
        )


def _nothing_known(folder: Path) -> DamagedStore:
    return DamagedStore(
        folder,
        "neither the lock nor any segment can be read: whether a plan or a layout was kept is not known",
        "a folder that a core wrote, or an empty one; nothing here was changed",
        "restore the files of this folder from a copy, or throw it away and start the core as a new one",
    )


def _older(found: dict[int, Path], store: bytes, final: Commit, newest: int, refused: dict[Path, str]) -> list[Seen]:
    """The segments that the newest commit names and that are whole, the oldest first. Others may be there after a crash: of no use any more
    or, where they are damaged, not yet moved aside."""
    whole, holds, sizes = [], final.holdings.kept(), dict(final.segments)
    for number, path in sorted(found.items()):
        if number == newest or path in refused:
            continue
        seen = _look(path, number, store, holds)
        if not seen.wrong and seen.size != sizes.get(number, seen.size):
            seen.wrong = f"it has {seen.size} bytes, and had {sizes[number]}"
        if seen.wrong:
            refused[path] = seen.wrong
        elif number in sizes:
            whole.append(seen)
    return whole


def _missing(folder: Path, found: Container[int], final: Commit, acknowledged: int) -> list[str]:
    said = [f"{segment_path(folder, number).name} is missing" for number, _ in final.segments if number not in found]
    if final.number < acknowledged:
        said.append(f"the last {acknowledged - final.number} lists that were kept are missing")
    return said


def _cut(path: Path, end: int) -> None:
    with open(path, "r+b") as file:
        cut_back(file.fileno(), end)


def _look(path: Path, number: int, store: bytes, holds: Callable[[Key], bool]) -> Seen:
    """All records of a segment; contents that are held are noted."""
    seen = Seen(number)
    with open(path, "rb") as file:
        seen.size = os.fstat(file.fileno()).st_size
        head = read_head(file, path)
        if head is None or head != (store, number):
            seen.wrong = "its head is damaged" if head is None else _foreign(head, store)
            seen.newest = _salvaged(file, 0, store) if head is None else None
            return seen
        commit, end = b"", 0
        for record in records(file, store):
            end = record.end
            if record.kind is Kind.COMMIT:
                commit, seen.end = record.header, record.end
            elif holds(key := key_of(record.header)):
                seen.contents.append((key, Lies(number, record.offset, record.end - record.offset)))
        # What was being written again counts where it was before.
        seen.contents = [(key, lies) for key, lies in seen.contents if lies.offset < seen.end]
        seen.last = seen.newest = Commit.from_bytes(commit) if commit else None
        if seen.end < seen.size:
            seen.wrong = f"what is at byte {max(end, seen.end)} is no whole record"
            seen.newest = _salvaged(file, end, store) or seen.last
    return seen


def _foreign(head: tuple[bytes, int], store: bytes) -> str:
    return "it is a segment of another store" if head[0] != store else f"it is segment {head[1]} under another name"


def _salvaged(file: BinaryIO, offset: int, store: bytes) -> Commit | None:
    found = [Commit.from_bytes(record.header) for record in commits_behind(file, offset, store)]
    return max(found, key=lambda commit: commit.number, default=None)


def _aside(path: Path) -> str:
    """The name that it has now."""
    aside, count = path.with_name(f"{path.name}.damaged"), 1
    while aside.exists():
        count += 1
        aside = path.with_name(f"{path.name}.damaged-{count}")
    path.rename(aside)
    return aside.name
