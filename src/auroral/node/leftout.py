"""The rows that the boxes of a replica left out of what it made stable, bucket by bucket, on disk.

What a box leaves out of a bucket follows from stable rows alone: it is the same whichever replica counts it, in which job, and however often. So a
bucket that is counted again, as after a crash, takes the place of what was counted before, and nothing is lost or doubled. One file for each
replica; it stays when the replica goes elsewhere.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from auroral.edge.durable import StorageError

FOLDER = "ledger"
_MADE = """
CREATE TABLE IF NOT EXISTS left_out (box TEXT, reason TEXT, bucket INTEGER, n INTEGER, PRIMARY KEY (box, reason, bucket)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counted (box TEXT, begin INTEGER, "end" INTEGER, PRIMARY KEY (box, begin)) WITHOUT ROWID;
"""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
Counts = Mapping[tuple[str, str, int], int]
"""By box, reason and bucket, numbered since 1970."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What one replica counted. `spans` are the buckets of each box, [begin, end), in their order."""

    replica: str
    counts: Counts
    spans: Mapping[str, tuple[tuple[int, int], ...]]


class _Damaged(sqlite3.DatabaseError):
    """It can be opened, and what is in it is not whole."""


class LeftOutLog:
    """Of one replica, which may write it from several threads."""

    def __init__(self, file: Path):
        self.file, self._lock = file, threading.Lock()
        file.parent.mkdir(exist_ok=True)
        self.damage: str | None = None
        """Why what was counted before could not be read: it was put aside."""
        try:
            self._opened = self._open()
        except sqlite3.Error as error:
            if not isinstance(error, _Damaged) and getattr(error, "sqlite_errorcode", None) not in _DAMAGE:
                # A disk that is full or away, or somebody who holds it: what was counted is still there.
                raise StorageError(
                    f"{file}, in which rows are counted that boxes left out, cannot be opened: {error}\n"
                    "    allowed: a file on a disk that can be written, and that no other process holds\n"
                    "    next: see to the disk; it is tried again"
                ) from error
            aside = file.with_suffix(".damaged")
            file.replace(aside)
            self.damage = f"{file}: {error}; it is in {aside.name} now, and what was counted by then is not compared"
            self._opened = self._open()
        known = self._opened.execute("SELECT box, reason, SUM(n) FROM left_out GROUP BY box, reason")
        self.totals: Counter[tuple[str, str]] = Counter({(box, reason): n for box, reason, n in known})

    def _open(self) -> sqlite3.Connection:
        opened = sqlite3.connect(self.file, check_same_thread=False, isolation_level=None)
        try:
            (found,) = opened.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise _Damaged(found)
            opened.execute("PRAGMA synchronous = FULL")
            opened.executescript(_MADE)
        except sqlite3.Error:
            opened.close()
            raise
        return opened

    def count(self, boxes: Iterable[str], begin: int, end: int, counts: Counts) -> None:
        """Of buckets [begin, end) these boxes left out so many rows, and no others. Durable when this returns."""
        with self._lock:
            try:
                self._count(sorted(boxes), begin, end, counts)
            except sqlite3.Error as error:
                raise StorageError(f"rows that boxes left out cannot be counted in {self.file}: {error}") from error

    def _count(self, boxes: list[str], begin: int, end: int, counts: Counts) -> None:
        new = [(*key, n) for key, n in counts.items() if key[0] in boxes and begin <= key[2] < end]
        changed: Counter[tuple[str, str]] = Counter()
        with self._opened:
            self._opened.execute("BEGIN IMMEDIATE")
            for box in boxes:
                where, values = "WHERE box = ? AND bucket >= ? AND bucket < ?", (box, begin, end)
                for reason, n in self._opened.execute(f"SELECT reason, n FROM left_out {where}", values):
                    changed[box, reason] -= n
                self._opened.execute(f"DELETE FROM left_out {where}", values)
                self._span(box, begin, end)
            self._opened.executemany("INSERT INTO left_out VALUES (?, ?, ?, ?)", new)
        for box, reason, _, n in new:
            changed[box, reason] += n
        self.totals.update(changed)

    def _span(self, box: str, begin: int, end: int) -> None:
        """Together with those that it touches."""
        where, values = 'WHERE box = ? AND begin <= ? AND "end" >= ?', (box, end, begin)
        touched = self._opened.execute(f'SELECT begin, "end" FROM counted {where}', values).fetchall()
        self._opened.execute(f"DELETE FROM counted {where}", values)
        first, last = min([begin, *(b for b, _ in touched)]), max([end, *(e for _, e in touched)])
        self._opened.execute("INSERT INTO counted VALUES (?, ?, ?)", (box, first, last))

    def close(self) -> None:
        self._opened.close()


def log_of(folder: Path, replica: str) -> Path:
    return folder / FOLDER / f"{replica}.db"


def counted_in(folder: Path) -> list[Counted]:
    """By the replicas of this deployment that had boxes which may leave rows out."""
    return [_read(file) for file in sorted((folder / FOLDER).glob("*.db"))]


def _read(file: Path) -> Counted:
    # Not for reading alone: what a process that was killed had half written is taken back by whoever opens it next.
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as opened:
        try:
            counts = {(box, reason, at): n for box, reason, at, n in opened.execute("SELECT * FROM left_out")}
            spans: dict[str, tuple[tuple[int, int], ...]] = {}
            for box, begin, end in opened.execute('SELECT box, begin, "end" FROM counted ORDER BY box, begin'):
                spans[box] = (*spans.get(box, ()), (begin, end))
        except sqlite3.Error as error:
            raise StorageError(
                f"{file} cannot be read: {error}\n    allowed: the file in which a replica counted what its boxes left out\n"
                "    next: start the deployment, which puts a damaged one aside; or restore it from a copy"
            ) from error
    return Counted(file.stem, counts, spans)
