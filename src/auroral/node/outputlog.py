"""The run's own copy of an output: written through the Parquet sink, read by subscribers and by `verify`."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.commits import Commit, commit_path, read
from auroral.edge.parquetsink import ParquetSink, Part, lacking, stored_parts
from auroral.edge.sinks import output_schema
from auroral.edge.stamping import STIME
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema


class DamagedOutput(AuroralError):
    """An output log that was whole once and is no more."""

    def __init__(self, path: Path, what: str):
        super().__init__(
            f"{path}: {what}\n    allowed: the files that the run wrote, unchanged\n"
            "    next: restore it from a copy, or run again in a new run folder"
        )


class LetGo(AuroralError):
    """Rows are asked for that a connection point kept once, and keeps no more."""

    def __init__(self, folder: Path, base: int | None):
        self.base = base
        super().__init__(
            f"{folder}: rows below stime {base} were let go, as its connection points keep no more\n"
            "    allowed: rows from there on\n    next: keep more of the stream, or read faster; then begin again with what is there"
        )


class Listing:
    """Which files there are. Numbers only: there is a part for each job with rows, for as long as the run goes on."""

    def __init__(self, parts: Iterable[Part] = ()):
        self._columns = tuple(array("q") for _ in Part._fields)
        for part in parts:
            self.append(part)

    def append(self, part: Part) -> None:
        # The end last: whoever reads meanwhile goes by the ends.
        for column, value in zip(self._columns, part, strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(self._columns[-1])

    def __getitem__(self, number: int) -> Part:
        return Part(*(column[number] for column in self._columns))

    def behind(self, low: int | None) -> Iterator[Part]:
        """Those that end behind it, of all that there are now."""
        first = 0 if low is None else bisect_right(self._columns[-1], low)
        yield from (self[number] for number in range(first, len(self)))


class OutputLog:
    """Parts by stime. From `open` it can be appended to, and its parts merged while others read it; from `look` it is what was committed just
    now."""

    def __init__(self, folder: Path, schema: Schema, sink: ParquetSink | None, commit: Commit):
        self.folder = folder
        self.schema = schema
        self.rows = commit.rows
        self._sink = sink
        self._frontier = commit.frontier
        self._commit = commit
        """As it was opened."""
        self._length = commit.length
        self.base = commit.base
        """Rows below it were let go; None where all are there."""
        self.let_go = commit.let_go
        """How many."""
        self._listing = _listing(folder, commit)
        self._changing = Lock()
        """Held by who changes which files there are."""
        self._writing = Lock()
        """Held by who changes what counts."""

    @staticmethod
    def open(folder: Path, schema: Schema, owner: str) -> OutputLog:
        sink = ParquetSink(folder, schema, owner)
        return OutputLog(folder, schema, sink, _commit(folder))

    @staticmethod
    def look(folder: Path, schema: Schema) -> OutputLog:
        return OutputLog(folder, schema, None, _commit(folder))

    @property
    def frontier(self) -> int | None:
        """Everything below it is written, and final."""
        return self._frontier

    def append(self, low: int, high: int, rows: pa.Table) -> int:
        """Durable when this returns; gives how many rows were new."""
        assert self._sink is not None, "opened for reading"
        with self._writing:
            before = self._frontier
            written = self._sink.append(low, high, rows)
            if written:
                begin = low if before is None else max(before, low)
                with self._changing:
                    self._listing.append(Part(self._length, self._length, begin, high))
                    self._length += 1
            self.rows += written
            self._frontier = self._sink.frontier
        return written

    def no_rows(self) -> pa.Table:
        """What an engine gives for a range of which nothing came."""
        fields = list(output_schema(self.schema))
        return pa.schema([pa.field(STIME, pa.int64()), *fields[1:]]).empty_table()

    def read(self, low: int | None = None, high: int | None = None) -> pa.Table:
        """Rows with low <= stime < high, in canonical order; the stime comes first."""
        return pa.concat_tables([output_schema(self.schema).empty_table(), *self.pieces(low, high)])

    def pieces(self, low: int | None = None, high: int | None = None) -> Iterator[pa.Table]:
        """The same, part by part."""
        if self._sink is None and self._frontier is not None:
            # Parts may have been merged with some that were not committed when this was looked at.
            high = self._frontier if high is None else min(high, self._frontier)
        gone: str | None = None
        while True:
            for part in self._from(low):
                if high is not None and part.low >= high:
                    return
                if (rows := self._load_or_none(self.folder / part.name)) is None:
                    if part.name == gone:
                        raise DamagedOutput(self.folder / part.name, "this part is missing")
                    # It was merged with others meanwhile; or it was let go, which must not go unnoticed.
                    gone, low = part.name, part.low if low is None else low
                    break
                if low is not None and part.low < low:
                    rows = rows.filter(pc.greater_equal(rows.column(0), low))
                if high is not None and part.high > high:
                    rows = rows.filter(pc.less(rows.column(0), high))
                yield rows
                low = part.high
            else:
                return
            if self._sink is None:
                self._listing = _listing(self.folder, self._commit)

    def _from(self, low: int | None) -> Iterator[Part]:
        # In this order: a listing that lacks what was let go comes after the word that it was.
        listing = self._listing
        if low is not None and self.base is not None and low < self.base:
            raise LetGo(self.folder, self.base)
        return listing.behind(low)

    @property
    def parts(self) -> int:
        """Files."""
        return len(self._listing)

    def ranges(self, low: int | None, high: int | None = None) -> Iterator[tuple[int, pa.Table]]:
        """From `low` up to `high`, or to the frontier, in pieces: the end of each, and its rows."""
        # Asked once: what is appended meanwhile is left for the next time.
        until = self._frontier if high is None else high
        assert until is not None
        for part in self._from(low):
            end = min(part.high, until)
            if part.low >= until:
                break
            yield end, self.read(part.low if low is None else max(low, part.low), end)
            low = end
        if low is None or low < until:
            yield until, output_schema(self.schema).empty_table()

    # Letting go

    def at_once(self) -> tuple[int | None, list[Part]]:
        """The frontier, and the parts up to it."""
        with self._writing:
            return self._frontier, self.listed()

    def forget(self, parts: Sequence[Part], rows: int) -> None:
        """The first parts that there are, with so many rows. Who reads them meanwhile finds them missing."""
        assert self._sink is not None, "opened for reading"
        gone, before = set(parts), self.base
        with self._writing, self._changing:
            # Said first: whoever finds a file missing looks here.
            self.base = parts[-1].high
            try:
                self._sink.let_go(parts, rows)
            except AuroralError:
                self.base = before
                raise
            self.let_go = self._sink.commit.let_go
            self._listing = Listing(part for part in self._listing.behind(None) if part not in gone)

    # Merging

    def listed(self) -> list[Part]:
        return list(self._listing.behind(None))

    def load(self, part: Part) -> pa.Table:
        return self._load(self.folder / part.name)

    def count(self, part: Part) -> int:
        """Of its rows."""
        path = self.folder / part.name
        try:
            return int(pq.ParquetFile(path).metadata.num_rows)
        except (OSError, pa.ArrowException) as error:
            raise DamagedOutput(path, f"this part cannot be read: {error}") from error

    def merged(self, parts: Iterable[Part], into: Part) -> None:
        """That file has what these have, and is durable: who reads goes by it from now on."""
        replaced = set(parts)
        with self._changing:
            kept = [part for part in self._listing.behind(None) if part not in replaced]
            self._listing = Listing(sorted([*kept, into]))

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()

    def _load_or_none(self, path: Path) -> pa.Table | None:
        try:
            return self._load(path)
        except DamagedOutput as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def _load(self, path: Path) -> pa.Table:
        schema = output_schema(self.schema)
        try:
            # From the bytes: the dataset reader would take a folder's name for a partition column.
            file = pq.ParquetFile(pa.BufferReader(path.read_bytes()), page_checksum_verification=True)
            rows = file.read().cast(schema)
            if rows.num_rows != file.metadata.num_rows:
                # Checksums are of pages, and do not say how many rows are to be read.
                raise ValueError(f"it has {rows.num_rows} rows, and says {file.metadata.num_rows}")
            return rows
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DamagedOutput(path, f"this part cannot be read: {error}") from error


def _commit(folder: Path) -> Commit:
    path = commit_path(folder)
    try:
        return read(path)
    except (OSError, ValueError, TypeError) as error:
        raise DamagedOutput(path, f"this says how much of the output counts, and cannot be read: {error}") from error


def _listing(folder: Path, commit: Commit) -> Listing:
    """Of the parts that count. A folder that is looked at while parts are merged may show neither those nor what they became: then it is looked at again."""
    before: list[Part] | None = None
    while True:
        found, covered = stored_parts(folder)
        missing = lacking(found, commit)
        if not missing:
            return Listing(part for part in found if part.first < commit.length and part.last >= commit.gone)
        now = _commit(folder)
        if now.gone > commit.gone:
            raise LetGo(folder, now.base)
        if before == [*found, *covered]:
            raise DamagedOutput(folder, f"part {missing[0]} of {commit.length} is missing")
        before = [*found, *covered]
