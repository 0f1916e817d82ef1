"""Rows from a file of lines that grows, as `tail -F` follows it.

When its name comes to stand for another file, that is opened at once; the old one is read until it has not grown for QUIET seconds, then
the new one from its beginning. A source that is started again passes over the rows that it has logged; if the file was renamed meanwhile, it is looked for
beside its old name, by its number (inode) and its beginning. Whenever more comes of a file, what was read last must still stand where it
stood: otherwise it was written anew, and is read from its beginning.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from auroral.edge.batches import InputError
from auroral.edge.durable import storage_error
from auroral.edge.intake import Format
from auroral.edge.textfiles import Line
from auroral.edge.textfiles import Source as Text
from auroral.node.feeds import Clock
from auroral.node.fleet.inputs.folder import QUIET, Note
from auroral.node.fleet.inputs.lines import MOST_LINE, READERS
from auroral.node.fleet.inputs.takenfiles import Begun, TakenFiles
from auroral.node.source import Source

LOOK_EVERY = 0.2
_HEAD = 4096
_AT_ONCE = 1 << 20
# Stands before the beginning of a line that is too long: no text of JSON or CSV has it, so that the line is refused whatever follows.
_NO_TEXT = b"\xff"


class _Stopped(Exception):
    pass


class TailInput:
    """A feed: `run` goes on where the log ends."""

    def __init__(self, source: Source, path: Path, form: Format, clock: Clock, note: Note):
        self.source, self.path, self.form, self.clock, self.note = source, path, form, clock, note
        self.taken = TakenFiles(source.log.folder)
        self._opened: deque[BinaryIO] = deque()
        """Files that have had the name since the one that is followed, the oldest first."""
        self._newest: tuple[int, int] | None = None
        """The file that has the name, as far as it is known: it is open, so that no other can have its number."""
        self._told: str | None = None
        self._place = _Place(source.log.folder / "tail.json")

    def run(self, stop: threading.Event, woken: Callable[[], None]) -> None:
        try:
            self._go_on(stop, woken)
            while True:
                with self._next(stop) as file:
                    begun = Begun(self.path.name, self.source.state.rows_read, _mark(file))
                    self.taken.begin(begun)
                    self._follow(file, begun, stop, woken)
        except _Stopped:
            return
        finally:
            while self._opened:
                self._opened.pop().close()

    def _go_on(self, stop: threading.Event, woken: Callable[[], None]) -> None:
        """With the file that was followed when the last life ended."""
        begun = self.taken.unfinished
        if begun is None:
            return
        found = self._found(begun.mark)
        if found is None or found != self.path:
            where = "cannot be found" if found is None else f"is {found.name} now"
            self.note(
                f"the file that was {self.path} {where}; rows that were written meanwhile to files that had its name in between, or to one "
                "that cannot be found, are not read"
            )
        if found is None:
            self.taken.end(begun.name, begun.mark)
            return
        with found.open("rb", buffering=0) as file:
            if not self._place.was_in(file, begun.first):
                self.note(f"{found} was written anew since the source ended: it is read from its beginning")
                self.taken.end(begun.name, begun.mark)
                return
            self._newest = _number(file)
            self._follow(file, begun, stop, woken)

    def _found(self, mark: Mapping[str, Any]) -> Path | None:
        beside = sorted(self.path.parent.glob(f"{_literal(self.path.name)}*")) if self.path.parent.is_dir() else []
        for path in [self.path, *beside]:
            try:
                with path.open("rb", buffering=0) as file:
                    if _mark(file, mark["head"]) == mark:
                        return path
            except OSError:
                continue
        return None

    def _next(self, stop: threading.Event) -> BinaryIO:
        """The next file of that name, once it has a whole line, or one that is too long."""
        while True:
            self._look()
            while self._opened:
                begin = os.pread(self._opened[0].fileno(), MOST_LINE, 0)
                if b"\n" in begin or len(begin) == MOST_LINE or (begin and len(self._opened) > 1):
                    return self._opened.popleft()
                if len(self._opened) == 1:
                    break
                # It had nothing when another took its place.
                self._opened.popleft().close()
            if stop.wait(LOOK_EVERY):
                raise _Stopped

    def _look(self) -> None:
        """Opens the file that has the name now, if it is another one."""
        try:
            there = self.path.stat()
            if (there.st_dev, there.st_ino) != self._newest:
                file = self.path.open("rb", buffering=0)
                self._opened.append(file)
                self._newest = _number(file)
            self._told = None
        except FileNotFoundError:
            # Renamed, or not there yet.
            pass
        except OSError as error:
            if self._told != error.strerror:
                self._told = error.strerror
                self.note(f"{self.path} cannot be read: {error.strerror}; it is tried again")

    def _follow(self, file: BinaryIO, begun: Begun, stop: threading.Event, woken: Callable[[], None]) -> None:
        given = self.source.input
        text = Text(str(self.path), given.schema, given.any_case, any_names=True)
        skip = self.source.state.rows_read - begun.first
        try:
            for batch in READERS[self.form](_lines(self._pieces(file, stop)), text, skip):
                self.source.take(batch.rows, self.clock(), batch.refused, begun.first + batch.end)
                self._place.save(begun.first)
                woken()
        except InputError as error:
            self.note(f"{error}\n    nothing of the file is read; another one under its name will be")
            for _ in self._pieces(file, stop):
                pass
        self.taken.end(begun.name, begun.mark)

    def _pieces(self, file: BinaryIO, stop: threading.Event) -> Iterator[bytes]:
        """What the file has, as it grows, until another has its place or it was cut off."""
        grown, paused = time.monotonic(), False
        self._place.begin()
        while True:
            data = os.read(file.fileno(), _AT_ONCE)
            if data:
                if paused and not self._place.stands_in(file):
                    self._begin_anew("was written anew")
                    return
                self._place.move(data)
                grown = time.monotonic()
                yield data
            paused = not data
            if stop.is_set() or (not data and stop.wait(LOOK_EVERY)):
                raise _Stopped
            if data:
                continue
            size = os.fstat(file.fileno()).st_size
            if size < self._place.offset:
                self._begin_anew(f"was cut from {self._place.offset} to {size} bytes")
                return
            self._look()
            if self._opened and time.monotonic() - grown >= QUIET:
                return

    def _begin_anew(self, what: str) -> None:
        if self._opened:
            self.note(f"the file that was {self.path} {what} after it was renamed: what it has now is not read")
            return
        self.note(f"{self.path} {what}: it is read from its beginning")
        self._newest = None


class _Place:
    """How far a file was read, and the last bytes before that; kept for the next life with the rows that were logged by then."""

    def __init__(self, path: Path):
        self.path = path
        self.begin()

    def begin(self) -> None:
        self.offset, self._last = 0, b""

    def move(self, data: bytes) -> None:
        self.offset, self._last = self.offset + len(data), (self._last + data)[-_HEAD:]

    def stands_in(self, file: BinaryIO) -> bool:
        """Whether what was read last is still there."""
        return os.pread(file.fileno(), len(self._last), self.offset - len(self._last)) == self._last

    def save(self, first: int) -> None:
        """Of the file whose rows stand behind the first `first`. Not durable: where it is lost, nothing is compared."""
        new, said = self.path.with_suffix(".new"), {"offset": self.offset, "size": len(self._last)}
        try:
            new.write_text(json.dumps({"first": first, **said, "hash": _hash(self._last)}))
            new.replace(self.path)
        except OSError as error:
            raise storage_error(error, "how far a file was read", self.path) from error

    def was_in(self, file: BinaryIO, first: int) -> bool:
        """Whether what the last life had read last is there; also where it is not known."""
        try:
            kept = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return True
        before = os.pread(file.fileno(), kept["size"], kept["offset"] - kept["size"])
        return bool(kept["first"] != first or kept["hash"] == _hash(before))


def _lines(pieces: Iterator[bytes]) -> Iterator[list[Line]]:
    """Whole lines; at the end of a file also one that has none. Of one that is too long only the beginning is kept, and refused."""
    rest, number, cut = b"", 0, False
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        lines: list[Line] = []
        for line in whole:
            number += 1
            lines.append((number, _of_length(line, cut) + b"\n"))
            cut = False
        if len(rest) > MOST_LINE:
            rest, cut = rest[:200], True
        if lines:
            yield lines
    if rest:
        yield [(number + 1, _of_length(rest, cut))]


def _of_length(line: bytes, cut: bool) -> bytes:
    return _NO_TEXT + line[:200] if cut or len(line) > MOST_LINE else line


def _mark(file: BinaryIO, head: int | None = None) -> Mapping[str, Any]:
    """What tells a file from others: its number, and its first whole lines or so many bytes."""
    begin = os.pread(file.fileno(), _HEAD if head is None else head, 0)
    if head is None:
        begin = begin[: begin.rfind(b"\n") + 1] or begin
    return {
        "inode": os.fstat(file.fileno()).st_ino,
        "head": len(begin),
        "hash": _hash(begin),
    }


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _number(file: BinaryIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino


def _literal(name: str) -> str:
    """As a pattern that only this name fits."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
