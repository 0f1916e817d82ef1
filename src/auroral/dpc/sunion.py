"""Which buckets of an output can be computed, and when (SUnion: D16-D20, D37-D45, D49).

A bucket is ready to be made stable when all inputs have it stable. It is ready to be made tentative when it must not be waited for
any longer, or when all that is to be expected has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import AtLeast, Coverage, together
from auroral.dpc.monitor import Monitor
from auroral.dpc.outlet import Outlet
from auroral.dpc.port import Port
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.states import State
from auroral.dpc.usual import Usual
from auroral.dpc.values import Content

MOST_BUCKETS = 32
"""In one job that corrects."""


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """An output: the inputs that it is computed from with their horizons in buckets, and what it cannot do without.

    Of each group in `required` at least one input must have a version of a bucket; without, the bucket is blocked.
    """

    stream: str
    reads: Mapping[str, int]
    required: tuple[frozenset[str], ...]
    readers: tuple[str, ...]
    constraints: tuple[AtLeast, ...] = ()
    """What a tentative bucket must be computed from to be given out."""


@dataclass(slots=True)
class SUnion:
    """One output, the inputs that it reads, and the time that it may take."""

    spec: OutputSpec
    settings: Settings
    ports: Mapping[str, Port]
    outlet: Outlet
    monitor: Monitor
    usual_job: Usual
    """Of the replica: what a job for one bucket takes."""
    usual_wait: Usual = field(default_factory=Usual)
    """From when a bucket is first heard of to when all inputs have it."""
    processing: bool = False
    """Whether something tentative was given out in this failure: nothing is held back any more."""

    # Stable

    @property
    def stable_range(self) -> tuple[int, int]:
        """The next buckets that can be made stable by one job; empty where there are none."""
        begin = self.outlet.frontier
        return begin, min(begin + MOST_BUCKETS, *(port.frontier for port in self.ports.values()))

    @property
    def can_be_stable(self) -> bool:
        begin, end = self.stable_range
        return begin < end

    def learn(self, bucket: int, now: float) -> None:
        """How long it waited, where nothing held it up."""
        origin = self.origin(bucket)
        if origin is not None and not self.processing:
            self.usual_wait.learn(now - origin)

    # Tentative

    def tentative_range(self, now: float) -> tuple[int, int] | None:
        """The next buckets that must not be waited for any longer, if there are any: one job for all that follow one another."""
        policy, begin = self._policy(now), None
        if policy is Policy.SUSPEND:
            return None
        new = self._new_buckets()
        for bucket in new:
            if not self._due(bucket, policy, now):
                if begin is not None:
                    return begin, bucket
            elif begin is None:
                begin = bucket
        return None if begin is None else (begin, new.stop)

    def _due(self, bucket: int, policy: Policy, now: float) -> bool:
        deadline = self._deadline(bucket)
        if deadline is None or self._blocked(bucket) or not self._allowed(bucket):
            return False
        if now >= deadline:
            # Also what is about to be made stable: a job that corrects many buckets may take longer than there is time.
            return True
        if policy is not Policy.PROCESS or bucket < self.stable_range[1]:
            return False
        # What all inputs have stable is not guessed before it must be, unless a guess went before it.
        queued = all(bucket < port.frontier for port in self.ports.values())
        return (self.processing or not queued) and self._all_that_will_come(bucket, now)

    def next_deadline(self, now: float) -> float:
        times = [self._deadline(bucket) for bucket in self._new_buckets()]
        return min((time for time in times if time is not None and time > now), default=float("inf"))

    def held(self, origin: float, now: float) -> float:
        """How much later than usual it is."""
        return max(0.0, now - origin - self.usual_wait.value - self.usual_job.value)

    def origin(self, bucket: int) -> float | None:
        """When the bucket was first heard of on any input."""
        return min((p.origin[bucket] for p in self.ports.values() if bucket in p.origin), default=None)

    def _arrived(self, bucket: int) -> float:
        return min(port.arrived[bucket] for port in self.ports.values() if bucket in port.arrived)

    def coverage(self, bucket: int) -> Coverage:
        return together(
            self.ports[name].coverage(b)
            for name, horizon in self.spec.reads.items()
            for b in range(max(0, bucket - horizon + 1), bucket + 1)
        )

    def too_late(self, bucket: int) -> bool:
        """Whether a newer one was given out, so that it will not be used."""
        return bucket <= self.outlet.newest

    def _policy(self, now: float) -> Policy:
        failing = any(self._failed(port, now) for port in self.ports.values())
        return self.settings.while_failing if failing else self.settings.while_correcting

    def _new_buckets(self) -> range:
        highest = max((max(port.origin, default=-1) for port in self.ports.values()), default=-1)
        return range(max(self.outlet.frontier, self.outlet.newest + 1), highest + 1)

    def _blocked(self, bucket: int) -> bool:
        """Missing is not empty: a join has nothing to say without one of its sides (D44)."""
        return not all(any(self.ports[name].best(bucket) is not None for name in group) for group in self.spec.required)

    def _allowed(self, bucket: int) -> bool:
        if not self.spec.constraints:
            return True
        coverage = self.coverage(bucket)
        return all(constraint.allows(coverage) for constraint in self.spec.constraints)

    def _all_that_will_come(self, bucket: int, now: float) -> bool:
        """Whether every input has closed the bucket in some version, or has failed; the first bucket of a failure waits for those
        that have failed too, as they may come back."""
        return all(
            port.closed(bucket) or (self.processing and self._cut_off(port, now)) for port in self.ports.values()
        )

    def _deadline(self, bucket: int) -> float | None:
        """D37: the time runs from when the bucket was first heard of on any input, and counts what it was held before.

        The bound holds at any depth: what this node and those behind it need for their own work is set aside.
        """
        origin = self.origin(bucket)
        if origin is None:
            return None
        reserve = self.usual_job.highest + self.settings.hop + self.outlet.reserve
        latest = origin + self.settings.bound - reserve
        if self.settings.share is not None:
            latest = min(latest, self._arrived(bucket) + self.settings.share)
        return latest + self.usual_wait.value

    # States

    def state(self, now: float) -> State:
        """D29: of this output alone, by the inputs that it is computed from; the worst of what holds."""
        failed = {name for name, port in self.ports.items() if self._failed(port, now)}
        if failed:
            dead = {name for name in failed if self._cut_off(self.ports[name], now)}
            return State.FAILURE if any(group <= dead for group in self.spec.required) else State.UP_FAILURE
        begin, end = self.stable_range
        # As far behind as a failure that would just be noticed, jobs of the usual length apart.
        behind = (end - begin) * self.settings.bucket - 2 * self.usual_job.highest
        if self.outlet.newest >= self.outlet.frontier or behind > self.settings.detection:
            return State.STABILIZATION
        return State.STABLE

    def _failed(self, port: Port, now: float) -> bool:
        return port.failed(self.monitor.of(port.stream, port.producers), now)

    def _cut_off(self, port: Port, now: float) -> bool:
        return port.cut_off(self.monitor.of(port.stream, port.producers), now)

    # Needs

    def reads_from(self, name: str, bucket: int) -> int:
        """The lowest bucket of an input that is read for this bucket and later ones."""
        return max(0, bucket - self.spec.reads[name] + 1)

    # What a job reads

    def view(self, begin: int, end: int) -> dict[str, dict[int, Content]]:
        """The best version of every bucket that is read for [begin, end)."""
        found = {}
        for name, horizon in self.spec.reads.items():
            buckets = range(max(0, begin - horizon + 1), end)
            found[name] = {b: content for b in buckets if (content := self.ports[name].best(b)) is not None}
        return found
