"""What the thesis measures (D82), from what happens to a client and what it delivers.

A bucket is *new* when it is newer than all that were delivered before; corrections are not. It enters with its last row, at the end of
its stime.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from auroral.dpc.events import Deliver, Effect, Event, Miss, Received


@dataclass(frozen=True, slots=True)
class Measured:
    proc_new: float = 0.0
    """The longest time from a bucket's end to its delivery, of all that were new."""
    proc: float = 0.0
    """The usual one: the median of those that were new and stable."""
    tentative_buckets: int = 0
    n_tentative: int = 0
    """Tentative rows that were delivered."""
    n_tentative_now: int = 0
    """Those of them that are neither corrected nor in a gap."""
    reconciliations: tuple[float, ...] = ()
    """How long each took, from the first correction until nothing was left to be corrected."""
    failover_gap: float = 0.0
    """The longest time without anything new until another replica gave it, less what a bucket takes."""
    missed: int = 0
    """Buckets in declared gaps."""

    @property
    def delay_new(self) -> float:
        """How much later than usual anything new came at most: to be below X."""
        return max(0.0, self.proc_new - self.proc)


def together(streams: Sequence[Measured]) -> Measured:
    """Of a diagram: counts of all outputs, the worst of their times."""
    return Measured(
        max((one.proc_new for one in streams), default=0.0),
        max((one.proc for one in streams), default=0.0),
        sum(one.tentative_buckets for one in streams),
        sum(one.n_tentative for one in streams),
        sum(one.n_tentative_now for one in streams),
        tuple(seconds for one in streams for seconds in one.reconciliations),
        max((one.failover_gap for one in streams), default=0.0),
        sum(one.missed for one in streams),
    )


@dataclass(slots=True)
class StreamMetrics:
    """One stream at a client."""

    bucket: float
    """Seconds in a bucket."""
    newest: int = -1
    latencies: list[float] = field(default_factory=list)
    """Of what was new."""
    stable_latencies: list[float] = field(default_factory=list)
    uncorrected: dict[int, int] = field(default_factory=dict)
    """Rows of the tentative buckets that are still to be corrected."""
    tentative_buckets: int = 0
    tentative_rows: int = 0
    correcting_since: float | None = None
    reconciliations: list[float] = field(default_factory=list)
    producer: str = ""
    new_at: float = 0.0
    failover_gap: float = 0.0
    missed: int = 0

    def deliver(self, effect: Deliver, sender: str, now: float) -> None:
        if effect.bucket > self.newest:
            self._new(effect, sender, now)
        if effect.stable:
            self._corrected(range(effect.bucket, effect.bucket + 1), now)
        else:
            self.tentative_buckets += 1
            self.tentative_rows += effect.content.count
            self.uncorrected[effect.bucket] = effect.content.count

    def miss(self, effect: Miss, now: float) -> None:
        self.missed += effect.end - effect.begin
        self._corrected(range(effect.begin, effect.end), now)

    def _new(self, effect: Deliver, sender: str, now: float) -> None:
        self.newest = effect.bucket
        latency = now - (effect.bucket + 1) * self.bucket
        self.latencies.append(latency)
        if effect.stable:
            self.stable_latencies.append(latency)
        if self.producer not in ("", sender):
            self.failover_gap = max(self.failover_gap, now - self.new_at - self.bucket)
        self.producer, self.new_at = sender, now

    def _corrected(self, buckets: Iterable[int], now: float) -> None:
        if not [bucket for bucket in buckets if self.uncorrected.pop(bucket, None) is not None]:
            return
        if self.correcting_since is None:
            self.correcting_since = now
        if not self.uncorrected:
            self.reconciliations.append(now - self.correcting_since)
            self.correcting_since = None

    @property
    def measured(self) -> Measured:
        return Measured(
            max(self.latencies, default=0.0),
            median(self.stable_latencies) if self.stable_latencies else 0.0,
            self.tentative_buckets,
            self.tentative_rows,
            sum(self.uncorrected.values()),
            tuple(self.reconciliations),
            self.failover_gap,
            self.missed,
        )


@dataclass(slots=True)
class Metrics:
    """An observer of one client: shown every event with the effects that it led to."""

    bucket: float
    streams: dict[str, StreamMetrics] = field(default_factory=dict)

    def saw(self, now: float, event: Event, effects: Iterable[Effect]) -> None:
        sender = event.sender if isinstance(event, Received) else ""
        for effect in effects:
            if isinstance(effect, Deliver | Miss):
                stream = self.streams.setdefault(effect.stream, StreamMetrics(self.bucket))
                if isinstance(effect, Deliver):
                    stream.deliver(effect, sender, now)
                else:
                    stream.miss(effect, now)

    @property
    def diagram(self) -> Measured:
        return together([stream.measured for stream in self.streams.values()])
