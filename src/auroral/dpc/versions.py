"""Versions of a query, each from a bucket on (X9, L58): which one a bucket is computed by, and which bucket must not be passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from auroral.dpc.settings import UNLIMITED


@dataclass(frozen=True, slots=True)
class Decision:
    """Of the versions of a query: version i holds from `starts[i]` on. What was promised in attempts at the next one up to `attempt` is
    void."""

    starts: tuple[int, ...] = (0,)
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a replica knows of that. While a change is prepared, no bucket from `promised` on is made stable."""

    starts: tuple[int, ...] = (0,)
    promised: int | None = None
    attempt: int = 0
    """The last that it promised something in, or that is void."""

    @property
    def next_version(self) -> int:
        return len(self.starts)

    @property
    def limit(self) -> int:
        return UNLIMITED if self.promised is None else self.promised

    def version(self, bucket: int) -> int:
        return max(version for version, start in enumerate(self.starts) if start <= bucket)

    def end(self, bucket: int) -> int:
        """The first bucket behind this one that another version computes."""
        return next((start for start in self.starts if start > bucket), UNLIMITED)


NO_CHANGE = Plan()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a version of an output is computed from, and what it cannot do without: as in `OutputSpec`."""

    reads: Mapping[str, int]
    required: tuple[frozenset[str], ...]


Readings = Mapping[int, Mapping[str, Reading]]
"""By version and output. A version that is not named reads what the one before it does."""


@dataclass(slots=True)
class Versions:
    """Of one replica; shared by all that compute something."""

    plan: Plan = NO_CHANGE
    readings: dict[int, Mapping[str, Reading]] = field(default_factory=dict)

    def reading(self, stream: str, version: int) -> Reading | None:
        """None where it is that of the first version."""
        for one in range(version, 0, -1):
            if (found := self.readings.get(one, {}).get(stream)) is not None:
                return found
        return None

    @property
    def ranges(self) -> list[tuple[int, int, int]]:
        """Every version, and the buckets that it computes. While one is promised, both it and the last one may: what was promised may
        become void, and the others may have promised more."""
        starts = self.plan.starts
        decided = [(v, start, end) for v, (start, end) in enumerate(pairwise([*starts, UNLIMITED]))]
        promised = self.plan.promised
        return decided if promised is None else [*decided, (len(starts), promised, UNLIMITED)]
