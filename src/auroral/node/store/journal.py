"""The segments of a core's store: lists of records that are appended, each whole or not there at all, and space that is given back.

A list is its contents and then a commit, which says all that is held: whatever was before it in the same or another segment is needed only
for the contents that the newest commit still holds. So a segment without any is removed, and contents of one that has few are written
again, to the newest.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from auroral.edge.durable import StorageError, cut_back, sync_folder, write_at
from auroral.node.store.holdings import Commit, Holdings, freed
from auroral.node.store.locking import Acknowledged, CoreLock
from auroral.node.store.records import HEAD_BYTES, DamagedStore, Key, Kind, Lies, Packed, framed, head, read_record

SEGMENT_BYTES = 8 << 20
"""A segment that has so many is not added to any more."""


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:010}.seg"


@dataclass(slots=True)
class Segment:
    size: int
    """Bytes."""
    held: int = 0
    """Bytes of contents in it that are held."""


@dataclass(slots=True)
class Journal:
    folder: Path
    store: bytes
    lock: CoreLock
    segment_bytes: int = SEGMENT_BYTES
    segments: dict[int, Segment] = field(default_factory=dict)
    newest: int = 0
    """The highest number of a segment so far."""
    last: Commit = field(default_factory=Commit)
    places: dict[Key, Lies] = field(default_factory=dict)
    """Of all contents that are held."""
    fd: int | None = None
    """Of the newest segment, once something was added to it."""
    unusable: str = ""
    spoiled: dict[int, str] = field(default_factory=dict)
    """Segments that were found damaged since the store was opened, and what was said of them."""

    def commit(self, holdings: Holdings, fresh: Mapping[Key, Packed], moved: Iterable[Key] = ()) -> None:
        """One more list: durable when this returns, not there when it raises an OSError. `moved` are held elsewhere until now."""
        if self.unusable:
            raise StorageError(f"{self.folder}: {self.unusable}\n    next: check the disk, then start the core again")
        number = self.last.number + 1
        gone = [*freed(self.last.holdings, holdings), *moved]
        held = Counter({other: segment.held for other, segment in self.segments.items()})
        for key in gone:
            held[self.places[key].segment] -= self.places[key].size
        begins = self.newest not in self.segments or self.segments[self.newest].size >= self.segment_bytes
        target = self.newest + 1 if begins else self.newest
        others = [(other, self.segments[other].size) for other in self.segments if held[other] and other != target]
        before = self.last.holdings
        decides = (before.plan, before.layout) != (holdings.plan, holdings.layout)
        commit = Commit(number, number if decides else self.last.decided, tuple(others), holdings)

        start = at = HEAD_BYTES if begins else self.segments[target].size
        parts: list[bytes | memoryview] = [head(self.store, target)] if begins else []
        places = {}
        for key, one in fresh.items():
            record = framed(Kind.CONTENT, one.header, one.rows, self.store)
            places[key] = Lies(target, at, sum(len(part) for part in record))
            at += places[key].size
            parts += record
        parts += framed(Kind.COMMIT, commit.to_bytes(), b"", self.store)
        end = self._begin(target, parts) if begins else self._append(target, start, parts)

        for key in gone:
            self.places.pop(key, None)
        self.places.update(places)
        held[target] += sum(lies.size for lies in places.values())
        kept = {*(other for other, _ in others), target}
        sizes = {other: segment.size for other, segment in self.segments.items()} | {target: end}
        self.segments = {other: Segment(sizes[other], held[other]) for other in sorted(kept)}
        self.newest, self.last = target, commit
        self.lock.note(Acknowledged(self.store, commit.number, commit.decided))
        self._remove(other for other in sizes if other not in kept)

    def _append(self, number: int, start: int, parts: list[bytes | memoryview]) -> int:
        if self.fd is None:
            self.fd = os.open(segment_path(self.folder, number), os.O_RDWR)
        try:
            return write_at(self.fd, start, *parts)
        except OSError:
            try:
                cut_back(self.fd, start)
            except OSError as error:
                # Only opening it again can tell what is on the disk.
                self.unusable = f"cutting back an unfinished write failed ({error.strerror})"
            raise

    def _begin(self, number: int, parts: list[bytes | memoryview]) -> int:
        """A segment has its name when its first list is durable: one without any is damaged, never unfinished."""
        path = segment_path(self.folder, number)
        unfinished = path.with_name(path.name + ".tmp")
        fd = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            end = write_at(fd, 0, *parts)
            os.rename(unfinished, path)
            sync_folder(self.folder)
        except OSError:
            os.close(fd)
            for one in (unfinished, path):
                one.unlink(missing_ok=True)
            raise
        if self.fd is not None:
            os.close(self.fd)
        self.fd = fd
        return end

    def _remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            # Not synced: one that comes back is removed when the store is opened.
            with suppress(OSError):
                segment_path(self.folder, number).unlink(missing_ok=True)

    # Space

    def tidy(self) -> None:
        """Keep what is on disk below a small multiple of what is held. What most of is held stays where it is: of a stream that is truncated
        as it grows, nothing is written twice."""
        while (
            sum(segment.size for segment in self.segments.values())
            > 2 * sum(segment.held for segment in self.segments.values()) + 2 * self.segment_bytes
        ):
            sparse = {
                number: segment.held / segment.size
                for number, segment in self.segments.items()
                if number not in {self.newest, *self.spoiled} and 2 * segment.held < segment.size
            }
            if not sparse:
                return
            emptiest = min(sparse, key=sparse.__getitem__)
            keys = [key for key, lies in self.places.items() if lies.segment == emptiest]
            try:
                again = {key: Packed(header, memoryview(rows)) for key, header, rows in self.read(keys)}
            except DamagedStore as error:
                # It stays as it is, to be refused when the store is opened: what the core has in memory is right.
                self.spoiled[emptiest] = str(error)
            else:
                self.commit(self.last.holdings, again, moved=keys)

    # Reading

    def read(self, keys: Iterable[Key]) -> Iterator[tuple[Key, bytes, pa.Buffer]]:
        """Headers and rows, in the order in which they lie."""
        file, opened = None, 0
        try:
            for lies, key in sorted((self.places[key], key) for key in keys):
                path = segment_path(self.folder, lies.segment)
                if file is None or lies.segment != opened:
                    if file is not None:
                        file.close()
                    file, opened = open(path, "rb"), lies.segment  # noqa: SIM115
                if (found := read_record(file, lies, self.store)) is None:
                    raise DamagedStore(
                        path,
                        f"the record at byte {lies.offset} was whole when the store was opened, and is not any more",
                        "files that nobody else writes to, on a disk that is in order",
                        "check the disk, then start the core again: it goes on with what is whole",
                    )
                yield key, *found
        except OSError as error:
            raise DamagedStore(
                self.folder,
                f"what is kept cannot be read: {error.strerror}",
                "files that nobody else removes, on a disk that is in order",
                "check the disk, then start the core again: it goes on with what is whole",
            ) from error
        finally:
            if file is not None:
                file.close()

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None
