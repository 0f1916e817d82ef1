"""The outputs of a deployment as the client has them, for any number of readers, each at its own pace.

What is stable is read from the logs, as often as anybody wants; of what is tentative, the newest version of each bucket is in memory. So
nothing waits in a queue: a reader that is slow delays itself alone, finds all that is stable when it comes to it, and misses tentative
versions that are replaced by then.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from auroral.dpc.events import Deliver, Effect, Miss
from auroral.edge.sinks import output_schema
from auroral.edge.stamping import STIME
from auroral.engine.arrowrows import canonical, sequence_hash
from auroral.node.history import Histories
from auroral.node.outputlog import OutputLog
from auroral.wire.outputs import Delivery, Kind

MOST_TENTATIVE = 256 << 20
"""Bytes of an output: a failure may last for long."""


class Outputs:
    """`first` is the number of the first bucket. Told of deliveries when they are durable, by one thread; read by others."""

    def __init__(self, logs: Mapping[str, OutputLog], bucket: int, first: int, histories: Histories | None = None):
        self.histories = histories
        self.logs, self.bucket, self.begin = logs, bucket, first * bucket
        self.changed = threading.Condition()
        self.over = False
        """Nothing is told any more."""
        self.frontiers = {s: self.begin if log.frontier is None else log.frontier for s, log in logs.items()}
        """What is stable below them may be told. A log may be ahead: then the rest is told of in a moment."""
        self.tentative: dict[str, dict[int, pa.Table]] = {stream: {} for stream in logs}
        """By the begin of the bucket."""
        self.let_go = dict.fromkeys(logs, 0)
        """Tentative buckets of which nothing was kept, since there were too many: the oldest."""
        self._held = dict.fromkeys(logs, 0)
        self.gaps: dict[str, list[tuple[int, int]]] = {stream: [] for stream in logs}
        """Those since this process was started."""
        self.readers: set[Reader] = set()

    def saw(self, core: str, effect: Effect) -> None:
        """That this was carried out."""
        if isinstance(effect, Deliver):
            lo = self.begin + effect.bucket * self.bucket
            with self.changed:
                if effect.stable:
                    self._stable(effect.stream, lo + self.bucket)
                else:
                    rows = effect.content.rows
                    self._tentative(effect.stream, lo, self.logs[effect.stream].no_rows() if rows is None else rows)
                self.changed.notify_all()
        elif isinstance(effect, Miss):
            lo, hi = (self.begin + bucket * self.bucket for bucket in (effect.begin, effect.end))
            with self.changed:
                self.gaps[effect.stream].append((lo, hi))
                self._stable(effect.stream, hi)
                self.changed.notify_all()

    def _stable(self, stream: str, frontier: int) -> None:
        self.frontiers[stream] = frontier
        for lo in [lo for lo in self.tentative[stream] if lo < frontier]:
            self._drop(stream, lo)

    def _tentative(self, stream: str, lo: int, rows: pa.Table) -> None:
        self._drop(stream, lo)
        self.tentative[stream][lo] = rows
        self._held[stream] += rows.nbytes
        for reader in self.readers:
            reader.waits(stream, lo)
        while self._held[stream] > MOST_TENTATIVE and len(self.tentative[stream]) > 1:
            self._drop(stream, min(self.tentative[stream]))
            self.let_go[stream] += 1

    def _drop(self, stream: str, lo: int) -> None:
        if (rows := self.tentative[stream].pop(lo, None)) is not None:
            self._held[stream] -= rows.nbytes
        for reader in self.readers:
            reader.replaced(stream, lo)

    def views(self) -> dict[str, dict[str, Any]]:
        """Connection points: of which stream, and from which stime on its rows are kept."""
        found = {}
        for name, one in (self.histories.all if self.histories is not None else {}).items():
            # Where nothing is shown, as in a copy without links, it is what the log has.
            begin = one.log.base if one.manifest is None else one.manifest.begin
            found[name] = {"stream": one.kept.stream, "begin": self.begin if begin is None else begin}
        return found

    def status(self) -> list[dict[str, Any]]:
        """Of each reader."""
        with self.changed:
            readers = sorted(self.readers, key=lambda reader: reader.name)
        return [
            {"name": one.name, "stream": one.stream, "behind": one.behind, "dropped": one.dropped} for one in readers
        ]

    def end(self) -> None:
        with self.changed:
            self.over = True
            self.changed.notify_all()


class Reader:
    """Reads one output, from one thread. `shown` are the tentative buckets that it was told before, with their digests."""

    def __init__(
        self, outputs: Outputs, name: str, stream: str, since: int | None, tentative: bool, shown: Mapping[int, str]
    ):
        self.outputs, self.name, self.stream, self.takes_tentative = outputs, name, stream, tentative
        self.log = outputs.logs[stream]
        kept = max(outputs.begin, self.log.base or outputs.begin)
        begin = kept if since is None else max(since, outputs.begin)
        self.position = begin // outputs.bucket * outputs.bucket
        """All that is stable below it was taken, or is ready."""
        self.shown = dict(shown)
        self.dropped = 0
        """Tentative deliveries that were replaced before they were taken."""
        self._ready: deque[Delivery] = deque()
        with outputs.changed:
            self._pending = {lo for lo in outputs.tentative[stream] if tentative and lo >= self.position}
            outputs.readers.add(self)

    def close(self) -> None:
        with self.outputs.changed:
            self.outputs.readers.discard(self)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def replaced(self, stream: str, lo: int) -> None:
        """Under the lock."""
        if stream == self.stream and lo in self._pending:
            self._pending.discard(lo)
            self.dropped += 1

    def waits(self, stream: str, lo: int) -> None:
        if stream == self.stream and self.takes_tentative and lo >= self.position:
            self._pending.add(lo)

    @property
    def behind(self) -> int:
        """Buckets that are stable, and not taken."""
        return max(0, self.outputs.frontiers[self.stream] - self.position) // self.outputs.bucket

    def take(self, patience: float) -> Delivery | None:
        """What comes next: the stable before the tentative. None where nothing comes within so many seconds, or at the end."""
        while not self._ready:
            if not self._fetch(patience):
                return None
        return self._ready.popleft()

    def _fetch(self, patience: float) -> bool:
        """Whether there was something."""
        with self.outputs.changed:
            self.outputs.changed.wait_for(lambda: self.outputs.over or self._is_something, patience)
            frontier = self.outputs.frontiers[self.stream]
            if frontier <= self.position:
                if not self._pending:
                    return False
                lo = min(self._pending)
                self._pending.discard(lo)
                rows = self.outputs.tentative[self.stream][lo]
        if frontier > self.position:
            hi, rows = next(iter(self.log.ranges(self.position, frontier)))
            self._ready.extend(self._cut(self.position, hi, rows))
            self.position = hi
        else:
            rows = self._as_written(rows)
            digest = sequence_hash(rows)
            if self.shown.get(lo) != digest:
                self.shown[lo] = digest
                self._ready.append(Delivery(Kind.TENTATIVE, lo, lo + self.outputs.bucket, rows, digest))
        return True

    @property
    def _is_something(self) -> bool:
        return bool(self._pending) or self.outputs.frontiers[self.stream] > self.position

    def _as_written(self, rows: pa.Table) -> pa.Table:
        """As the log will have them once they are stable, if nothing changes."""
        schema = output_schema(self.log.schema)
        return canonical(rows.select([STIME, *self.log.schema.names])).rename_columns(schema.names).cast(schema)

    def _cut(self, lo: int, hi: int, rows: pa.Table) -> Iterator[Delivery]:
        """Gaps, and buckets that were told tentatively, are deliveries of their own."""
        gaps = [(max(a, lo), min(b, hi)) for a, b in self.outputs.gaps[self.stream] if a < hi and lo < b]
        found = {at: self.shown.pop(at) for at in sorted(self.shown) if at < hi}
        told = {at: digest for at, digest in found.items() if not any(a <= at < b for a, b in gaps)}
        buckets = [(at, at + self.outputs.bucket) for at in told if at >= lo]
        none, at = rows.slice(0, 0), lo
        for begin, end in [*sorted([*gaps, *buckets]), (hi, hi)]:
            if at < begin:
                yield Delivery(Kind.STABLE, at, begin, _between(rows, at, begin))
            if begin in told:
                bucket = _between(rows, begin, end)
                same = sequence_hash(bucket) == told[begin]
                yield Delivery(Kind.CONFIRMED if same else Kind.CORRECTED, begin, end, bucket)
            elif begin < end:
                yield Delivery(Kind.GAP, begin, end, none)
            at = end


def _between(rows: pa.Table, lo: int, hi: int) -> pa.Table:
    """Rows are in the order of their stimes, which come first."""
    begin, end = np.searchsorted(rows.column(0).to_numpy(), [lo, hi])
    return rows.slice(int(begin), int(end - begin))
