"""What of its sources a tentative bucket was computed from, and what an application asks of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise


class Level(IntEnum):
    """Worse levels are higher."""

    COMPLETE = 0
    PARTIAL = 1
    MISSING = 2


Span = tuple[int, int, Level]
"""Buckets [begin, end) of a source, and how much of them was there."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """For each source, spans in order, none overlapping, neighbours of one level joined."""

    spans: Mapping[str, tuple[Span, ...]]

    @staticmethod
    def of(sources: Iterable[str], bucket: int, level: Level) -> Coverage:
        return Coverage(dict.fromkeys(sources, ((bucket, bucket + 1, level),)))

    @property
    def complete(self) -> bool:
        return all(level is Level.COMPLETE for spans in self.spans.values() for *_, level in spans)

    def level(self, source: str) -> Level:
        """The worst of the source; one that nothing is known of is missing."""
        return max((level for *_, level in self.spans.get(source, ())), default=Level.MISSING)


NOTHING = Coverage({})


def together(coverages: Iterable[Coverage]) -> Coverage:
    """Of what was computed from all of them: spans are united, and where two say something of one bucket, the worse holds."""
    found: dict[str, list[Span]] = {}
    for coverage in coverages:
        for source, spans in coverage.spans.items():
            found.setdefault(source, []).extend(spans)
    return Coverage({source: _united(spans) for source, spans in sorted(found.items())})


def _united(spans: list[Span]) -> tuple[Span, ...]:
    ends = sorted({end for begin, stop, _ in spans for end in (begin, stop)})
    united: list[Span] = []
    for begin, end in pairwise(ends):
        levels = [level for lo, hi, level in spans if lo <= begin and end <= hi]
        if not levels:
            continue
        if united and united[-1][1] == begin and united[-1][2] is max(levels):
            united[-1] = (united[-1][0], end, united[-1][2])
        else:
            united.append((begin, end, max(levels)))
    return tuple(united)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """An integrity constraint: a tentative bucket is given out only if so many of these sources are at most at this level."""

    number: int
    sources: frozenset[str]
    worst: Level = Level.PARTIAL

    def allows(self, coverage: Coverage) -> bool:
        return sum(coverage.level(source) <= self.worst for source in self.sources) >= self.number
