"""A source of a deployment: rows are stamped and logged durably, and closed buckets are given to its core (D74, D75)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from auroral.dpc.events import Effect, Kept, Logged, Pause, Started, Truncate
from auroral.dpc.values import Content
from auroral.edge.durable import replace_file
from auroral.engine.sqltext import SEQ, STIME
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.contents import by_bucket, content_of
from auroral.node.fleet.host import Host
from auroral.node.source import Source


class SourceProxy:
    """`first` is the number of the protocol's first bucket since 1970. What is needed no more stays in the log, which `verify` reads."""

    def __init__(self, host: Host, core: str, source: Source, bucket: int, first: int):
        self.host, self.core, self.source, self.bucket, self.first = host, core, source, bucket, first
        self._notes = Notes(source.log.folder)
        self._turn = asyncio.Lock()
        self._ended_at: int | None = None
        """The clock at stime zero, for an input that has ended."""
        self.silent = False
        """Whether nothing is given, as if what brings rows had failed: they are logged, and given later."""
        self.failed: str | None = None
        """Why no rows come any more, though the input has not ended: nobody is told that there are none."""
        source.begin(first * bucket)
        self.closed = self._boundary
        """Buckets that were given to the core."""

    @property
    def stream(self) -> str:
        return self.source.input.stream

    def started(self) -> Started:
        """With all closed buckets of earlier lives that somebody may need."""
        begin = min(self._notes.needed_from, self.closed)
        times = self._notes.closed_at(begin, self.closed, self.host.clock)
        return Started({self.stream: Kept(begin, self._contents(begin, self.closed), times)})

    # As the core's store

    def carry_out(self, effects: Sequence[Effect]) -> None:
        below = [effect.below for effect in effects if isinstance(effect, Truncate)]
        if below:
            self._notes.need(max(below))
            # They are in the log, and need not be in memory.
            self.source.settle((self.first + max(below)) * self.bucket)

    def shown(self, core: str, effect: Effect) -> None:
        if isinstance(effect, Pause) and core == self.core:
            # D72: who brings rows waits.
            (self.source.room.clear if effect.paused else self.source.room.set)()

    async def advance(self, now_us: int) -> None:
        """Let the boundary follow the clock, where the input says so; then give what is closed."""
        async with self._turn:
            if self.source.room.is_set() and not self.silent and self.failed is None:
                await asyncio.to_thread(self._follow, now_us)
            end = self._boundary
            if end > self.closed and not self.silent:
                begin, self.closed = self.closed, end
                contents = await asyncio.to_thread(self._contents, begin, end)
                self._notes.close(begin, end, self.host.clock.now())
                for bucket, content in enumerate(contents, begin):
                    self.host.tell(self.core, Logged(bucket, content, True))

    def _follow(self, now_us: int) -> None:
        """The clock, where the input says so, and also at its end: whoever waits for it is told that nothing comes, at the pace at which
        something would have."""
        if not self.source.state.ended:
            self.source.advance(now_us)
            return
        boundary = self.source.state.boundary or self.first * self.bucket
        if self._ended_at is None:
            self._ended_at = now_us - boundary
        self.source.go_on((now_us - self._ended_at) // self.bucket * self.bucket)

    @property
    def _boundary(self) -> int:
        boundary = self.source.state.boundary
        return 0 if boundary is None else boundary // self.bucket - self.first

    def _contents(self, begin: int, end: int) -> tuple[Content, ...]:
        lo, hi = ((self.first + bucket) * self.bucket for bucket in (begin, end))
        rows = self.source.read(lo, hi).sort_by([(STIME, "ascending"), (SEQ, "ascending")]).drop_columns([SEQ])
        return tuple(map(content_of, by_bucket(rows, self.first + begin, self.first + end, self.bucket)))


def closed_buckets(folder: Path) -> int:
    """How many the source whose log is there has closed, as it noted them: 0 for one that has not begun."""
    times = folder / Notes.TIMES
    return times.stat().st_size // 8 if times.exists() else 0


class Notes:
    """What a source remembers besides its log, which it can do without: from where on somebody may need it, and when buckets were
    closed."""

    TIMES = "closed_at"

    def __init__(self, folder: Path):
        self._needed, self._times = folder / "needed_from", folder / self.TIMES
        self._fd = os.open(self._times, os.O_RDWR | os.O_CREAT, 0o644)

    @property
    def needed_from(self) -> int:
        return int(self._needed.read_text()) if self._needed.exists() else 0

    def need(self, begin: int) -> None:
        replace_file(self._needed, str(begin).encode())

    def close(self, begin: int, end: int, now: float) -> None:
        with suppress(OSError):
            os.pwrite(self._fd, np.full(end - begin, now).tobytes(), 8 * begin)

    def closed_at(self, begin: int, end: int, clock: Clock) -> tuple[float, ...]:
        """Now, for those that were not written down: they were closed when the last life ended."""
        data = os.pread(self._fd, 8 * (end - begin), 8 * begin)
        read = np.frombuffer(data[: len(data) // 8 * 8])
        now = clock.now()
        known = [float(time) if 0 < time <= now else now for time in read]
        return (*known, *[now] * (end - begin - len(known)))
