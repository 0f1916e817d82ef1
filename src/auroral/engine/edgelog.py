"""The edge log: stored buckets of the streams that boxes read, with their versions.

A segment holds the rows of one edge for buckets [lo, hi) of one version: an Arrow table in memory, or a Parquet file with
its checksum. Rows carry their stime, so a reader cuts what it needs out of a segment.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auroral.engine.arrowrows import between, empty
from auroral.engine.relations import Edge
from auroral.engine.sqltext import STIME
from auroral.model.errors import AuroralError
from auroral.model.parquet_layout import stored_layout


@dataclass(frozen=True, slots=True, order=True)
class Stable:
    """Final: every contributing input was complete."""


@dataclass(frozen=True, slots=True, order=True)
class Tentative:
    """Computed from what was there. Of one producer's epoch, the highest revision counts."""

    producer: str
    epoch: int
    revision: int


STABLE = Stable()
Version = Stable | Tentative


class DamagedSegment(AuroralError):
    """A segment's bytes are not those that were written."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Rows of stime [lo, hi) of one edge and version. Either `table` or `files` (path, crc32) is there."""

    lo: int
    hi: int
    version: Version
    rows: int
    table: pa.Table | None = None
    files: tuple[tuple[str, int], ...] = ()

    @property
    def bytes(self) -> int:
        return 0 if self.table is None else int(self.table.nbytes)

    def load(self, edge: Edge) -> pa.Table:
        if self.table is not None:
            return self.table
        self.verify(edge)
        tables = [pq.read_table(path) for path, _ in self.files]
        return pa.concat_tables(tables) if tables else empty(edge.columns)

    def verify(self, edge: Edge) -> None:
        """Raise where a file is not what was written."""
        for path, checksum in self.files:
            if not Path(path).exists():
                harm = "missing"
            elif file_checksum(path) != checksum:
                harm = "damaged (checksum differs)"
            else:
                continue
            raise DamagedSegment(
                f"{path}: the segment of {edge.name!r} for stime {self.lo} to {self.hi} is {harm}\n"
                "    next: go on with the run, auroral run --resume FOLDER: segments are rebuilt from the source logs"
            )


@contextmanager
def verified_meanwhile(segments: Sequence[tuple[Edge, Segment]]) -> Iterator[None]:
    """Look at the files of segments while they are read. That one is damaged counts for more than whatever came of reading it."""
    if not segments:
        yield
        return
    with ThreadPoolExecutor(1, "verify") as beside:
        looking = [beside.submit(segment.verify, edge) for edge, segment in segments]
        try:
            yield
        finally:
            for looked in looking:
                looked.result()


def file_checksum(path: str) -> int:
    value = 0
    with open(path, "rb") as opened:
        while chunk := opened.read(1 << 20):
            value = zlib.crc32(chunk, value)
    return value


@dataclass(slots=True)
class EdgeLog:
    """Segments by edge. In memory up to `memory_limit` bytes; beyond it the largest go to Parquet files in `folder`."""

    folder: Path
    memory_limit: int = 256 << 20
    _stable: dict[str, list[Segment]] = field(default_factory=dict)
    _tentative: dict[str, list[Segment]] = field(default_factory=dict)
    _edges: dict[str, Edge] = field(default_factory=dict)
    _held_bytes: int = 0
    _next_file: int = 0

    def append(self, edge: Edge, segment: Segment) -> None:
        """Add a segment. What is stable replaces what is tentative in its range; stable ranges never overlap."""
        self._edges[edge.name] = edge
        self._held_bytes += segment.bytes
        if isinstance(segment.version, Tentative):
            self._tentative.setdefault(edge.name, []).append(segment)
            self._spill()
            return
        held = self._stable.setdefault(edge.name, [])
        at = bisect_left(held, segment.lo, key=lambda s: s.lo)
        for other in held[max(0, at - 1) : at + 1]:
            if other.lo < segment.hi and segment.lo < other.hi:
                raise ValueError(
                    f"{edge.name}: stable [{segment.lo}, {segment.hi}) overlaps stable [{other.lo}, {other.hi})"
                )
        held.insert(at, segment)
        tentative = self._tentative.get(edge.name, [])
        # A tentative range may be as long as several stable ones.
        stable = [(s.lo, s.hi) for s in held] if tentative else []
        self._drop(tentative, [s for s in tentative if not _uncovered(s.lo, s.hi, stable)])
        self._spill()

    def best(self, edge: Edge, lo: int, hi: int) -> Iterator[Segment]:
        """The segments to read [lo, hi) from: stable ones, and for what they leave open the newest tentative ones."""
        held = self._stable.get(edge.name, [])
        at = max(0, bisect_right(held, lo, key=lambda s: s.lo) - 1)
        taken = []
        while at < len(held) and held[at].lo < hi:
            if held[at].hi > lo:
                taken.append((held[at].lo, held[at].hi))
                yield held[at]
            at += 1
        tentative = [s for s in self._tentative.get(edge.name, []) if s.lo < hi and lo < s.hi]
        for segment in sorted(tentative, key=_newest, reverse=True):
            left = _uncovered(segment.lo, segment.hi, taken)
            taken.append((segment.lo, segment.hi))
            if left == [(segment.lo, segment.hi)]:
                yield segment
                continue
            for a, b in left:
                rows = between(segment.load(edge), a, b)
                yield Segment(a, b, segment.version, rows.num_rows, rows)

    def read(self, edge: Edge, lo: int, hi: int) -> pa.Table:
        parts = [between(s.load(edge), lo, hi) for s in self.best(edge, lo, hi)]
        return pa.concat_tables(parts) if parts else empty(edge.columns)

    def collect(self, edge: Edge, below: int) -> None:
        """Forget segments that end at or below `below`."""
        for held in (self._stable.get(edge.name, []), self._tentative.get(edge.name, [])):
            self._drop(held, [s for s in held if s.hi <= below])

    def compact(self, edge: Edge, most: int = 64) -> None:
        """Merge the oldest stable segments when there are more than `most`; a gap between two ends the merge."""
        held = self._stable.get(edge.name, [])
        if len(held) <= most:
            return
        old = held[: most // 2]
        contiguous = 1
        while contiguous < len(old) and old[contiguous - 1].hi == old[contiguous].lo:
            contiguous += 1
        if contiguous < 2:
            return
        old = old[:contiguous]
        table = pa.concat_tables([s.load(edge) for s in old]).combine_chunks()
        merged = Segment(old[0].lo, old[-1].hi, STABLE, table.num_rows, table)
        self._drop(held, old)
        self._held_bytes += merged.bytes
        held.insert(0, merged)

    def segments(self, edge: Edge) -> list[Segment]:
        return [*self._stable.get(edge.name, []), *self._tentative.get(edge.name, [])]

    def clear(self) -> None:
        for held in (*self._stable.values(), *self._tentative.values()):
            self._drop(held, list(held))

    def _drop(self, held: list[Segment], gone: list[Segment]) -> None:
        for segment in gone:
            self._held_bytes -= segment.bytes
            for path, _ in segment.files:
                Path(path).unlink(missing_ok=True)
        if gone:
            identities = {id(segment) for segment in gone}
            held[:] = [s for s in held if id(s) not in identities]

    def new_path(self, edge: Edge) -> Path:
        """A place for a Parquet folder of this edge."""
        self._next_file += 1
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in edge.name)
        return self.folder / f"{safe}-{self._next_file}.parquet"

    def _spill(self) -> None:
        """Over the limit, the largest segments go to disk until half of it is free."""
        if self._held_bytes <= self.memory_limit:
            return
        everything = [
            (s.bytes, name, held, s)
            for segments in (self._stable, self._tentative)
            for name, held in segments.items()
            for s in held
            if s.table is not None
        ]
        for size, name, held, segment in sorted(everything, key=lambda e: e[0], reverse=True):
            if self._held_bytes <= self.memory_limit // 2:
                return
            held[held.index(segment)] = self._spilled(self._edges[name], segment)
            self._held_bytes -= size

    def _spilled(self, edge: Edge, segment: Segment) -> Segment:
        assert segment.table is not None
        path = self.new_path(edge)
        self.folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(segment.table, path, **stored_layout(segment.table.schema))
        return replace(segment, table=None, files=((str(path), file_checksum(str(path))),))


MOST_SEGMENT_ROWS = 100_000
"""A reader of a few rows loads the segment that they are in: it must not be all that a catch-up left."""


def cut_up(segment: Segment, bucket: int) -> Iterator[Segment]:
    """The same rows in segments of whole buckets, of few rows each. The segment must be in memory."""
    assert segment.table is not None
    if segment.rows <= MOST_SEGMENT_ROWS:
        yield segment
        return
    ordered = segment.table.sort_by(STIME)
    stimes = ordered.column(STIME).to_numpy()
    lo, first = segment.lo, 0
    while lo < segment.hi:
        # The bucket in which the last row lies that there is room for goes to the next piece, unless it is all of this one.
        last = min(first + MOST_SEGMENT_ROWS, len(stimes))
        hi = segment.hi if last == len(stimes) else max(lo + bucket, int(stimes[last]) // bucket * bucket)
        end = int(np.searchsorted(stimes, hi))
        # A copy: a slice would keep all of the rows in memory for as long as it is there.
        yield replace(segment, lo=lo, hi=hi, rows=end - first, table=ordered.take(np.arange(first, end)))
        lo, first = hi, end


def _uncovered(lo: int, hi: int, taken: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of [lo, hi) that lie in none of the `taken` ranges."""
    left = []
    for a, b in sorted(taken):
        if a < hi and lo < b:
            if lo < a:
                left.append((lo, a))
            lo = max(lo, b)
    return [*left, (lo, hi)] if lo < hi else left


def _newest(segment: Segment) -> tuple[int, int, str]:
    assert isinstance(segment.version, Tentative)
    return (segment.version.epoch, segment.version.revision, segment.version.producer)


def parquet_segment(lo: int, hi: int, version: Version, files: Iterable[Path]) -> Segment:
    """A segment of files that Spark wrote."""
    listed = sorted(str(f) for f in files)
    rows = sum(pq.read_metadata(path).num_rows for path in listed)
    return Segment(lo, hi, version, rows, files=tuple((path, file_checksum(path)) for path in listed))
