"""What the thesis measures (D82), from what happens to a client and what it delivers. What each measure means is said here alone.

A bucket is *new* when it is newer than all that were delivered before; corrections are not. It enters with its last row, at the end of
its stime. One that was passed over came when a newer one did, and until then it was waited for.

A *reconciliation* lasts from when all inputs are there again until nothing is left to be corrected. A client does not know when it
begins; who does, as an experiment, says so. What a client sees of it by itself is *correcting*: from the first correction on.

What is kept does not grow with the run: counts, the highest values, the last of what was new, and, like the client itself, what is
still to be corrected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import NamedTuple

from auroral.dpc.events import Deliver, Effect, Event, Miss, Received
from auroral.dpc.histogram import Histogram

WINDOW = 1_000
"""Of each stream, new buckets and times of correcting that are remembered."""


class New(NamedTuple):
    """Something new: when it came, how long after the end of the oldest bucket that was waited for, and whether it is stable."""

    at: float
    latency: float
    stable: bool


@dataclass(frozen=True, slots=True)
class Measured:
    proc_new: float = 0.0
    """The longest time from a bucket's end to its delivery, of all that were new."""
    proc: float = 0.0
    """The usual one: the median of the last that were new and stable."""
    tentative_buckets: int = 0
    n_tentative: int = 0
    """Tentative rows that were delivered."""
    n_tentative_now: int = 0
    """Those of them that are neither corrected nor in a gap."""
    correcting: tuple[float, ...] = ()
    """How long each of the last took, from the first correction until nothing was left to be corrected."""
    corrected_at: float = 0.0
    """When nothing was left to be corrected, the last time that something had been; 0 if never."""
    failover_gap: float = 0.0
    """The longest time without anything new until another replica gave it, less what a bucket takes."""
    missed: int = 0
    """Buckets in declared gaps."""

    @property
    def delay_new(self) -> float:
        """How much later than usual anything new came at most: to be below X."""
        return max(0.0, self.proc_new - self.proc)

    def reconciliation(self, healed: float) -> float:
        """Since all inputs were there again; 0 where nothing had to be corrected after that."""
        return max(0.0, self.corrected_at - healed)


def together(streams: Sequence[Measured]) -> Measured:
    """Of a diagram: counts of all outputs, the worst of their times."""
    return Measured(
        max((one.proc_new for one in streams), default=0.0),
        max((one.proc for one in streams), default=0.0),
        sum(one.tentative_buckets for one in streams),
        sum(one.n_tentative for one in streams),
        sum(one.n_tentative_now for one in streams),
        tuple(seconds for one in streams for seconds in one.correcting),
        max((one.corrected_at for one in streams), default=0.0),
        max((one.failover_gap for one in streams), default=0.0),
        sum(one.missed for one in streams),
    )


@dataclass(slots=True)
class StreamMetrics:
    """One stream at a client."""

    bucket: float
    """Seconds in a bucket."""
    bound: float = inf
    """X, in seconds."""
    newest: int | None = None
    new: deque[New] = field(default_factory=lambda: deque(maxlen=WINDOW))
    proc_new: float = 0.0
    uncorrected: dict[int, int] = field(default_factory=dict)
    """Rows of the tentative buckets that are still to be corrected."""
    tentative_buckets: int = 0
    tentative_rows: int = 0
    correcting_since: float | None = None
    correcting: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    corrected_at: float = 0.0
    producer: str = ""
    new_at: float = 0.0
    failover_gap: float = 0.0
    missed: int = 0
    latencies: Histogram = field(default_factory=Histogram)
    """Of all that were new."""
    over_bound: int = 0
    """New buckets that came later than usual by X or more."""
    corrections: Histogram = field(default_factory=Histogram)
    """How long each time of correcting was."""

    def deliver(self, effect: Deliver, sender: str, now: float) -> None:
        if self.newest is None or effect.bucket > self.newest:
            self._new(effect, sender, now)
        if effect.stable:
            self._corrected(range(effect.bucket, effect.bucket + 1), now)
        else:
            self.tentative_buckets += 1
            self.tentative_rows += effect.content.count
            self.uncorrected[effect.bucket] = effect.content.count

    def miss(self, effect: Miss, now: float) -> None:
        self.missed += effect.end - effect.begin
        self.newest = max(effect.end - 1, -1 if self.newest is None else self.newest)
        self._corrected(range(effect.begin, effect.end), now)

    def _new(self, effect: Deliver, sender: str, now: float) -> None:
        oldest = effect.bucket if self.newest is None else self.newest + 1
        latency = now - (oldest + 1) * self.bucket
        self.newest = effect.bucket
        self.latencies.add(latency)
        # Seldom: what is usual takes longer to say than all else here.
        if latency >= self.bound and latency - self.usual >= self.bound:
            self.over_bound += 1
        self.new.append(New(now, latency, effect.stable))
        self.proc_new = max(self.proc_new, latency)
        if self.producer not in ("", sender):
            self.failover_gap = max(self.failover_gap, now - self.new_at - self.bucket)
        self.producer, self.new_at = sender, now

    def _corrected(self, buckets: Iterable[int], now: float) -> None:
        if not [bucket for bucket in buckets if self.uncorrected.pop(bucket, None) is not None]:
            return
        if self.correcting_since is None:
            self.correcting_since = now
        if not self.uncorrected:
            self.correcting.append(now - self.correcting_since)
            self.corrections.add(now - self.correcting_since)
            self.correcting_since, self.corrected_at = None, now

    @property
    def usual(self) -> float:
        found = [one.latency for one in self.new if one.stable]
        return median(found) if found else 0.0

    @property
    def measured(self) -> Measured:
        return Measured(
            self.proc_new,
            self.usual,
            self.tentative_buckets,
            self.tentative_rows,
            sum(self.uncorrected.values()),
            tuple(self.correcting),
            self.corrected_at,
            self.failover_gap,
            self.missed,
        )


@dataclass(slots=True)
class Metrics:
    """An observer of one client: shown every event with the effects that it led to."""

    bucket: float
    bounds: Mapping[str, float] = field(default_factory=dict)
    """X of each stream that has one."""
    streams: dict[str, StreamMetrics] = field(default_factory=dict)

    def saw(self, now: float, event: Event, effects: Iterable[Effect]) -> None:
        sender = event.sender if isinstance(event, Received) else ""
        for effect in effects:
            if isinstance(effect, Deliver | Miss):
                stream = self.streams.get(effect.stream)
                if stream is None:
                    bound = self.bounds.get(effect.stream, inf)
                    stream = self.streams[effect.stream] = StreamMetrics(self.bucket, bound)
                if isinstance(effect, Deliver):
                    stream.deliver(effect, sender, now)
                else:
                    stream.miss(effect, now)

    @property
    def diagram(self) -> Measured:
        return together([stream.measured for stream in self.streams.values()])
