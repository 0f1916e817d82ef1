"""How often something took how long, in so many steps: what is kept does not grow with the run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

STEPS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds, from a quick job to a long correction."""


@dataclass(slots=True)
class Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(STEPS) + 1))
    """Of each step, those that took longer than the step before it, and no longer than this one; the last are above all steps."""
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(STEPS, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        return sum(self.counts)

    def up_to(self) -> Iterator[tuple[float, int]]:
        """Of each step, how many took no longer."""
        so_far = 0
        for step, count in zip((*STEPS, float("inf")), self.counts, strict=True):
            so_far += count
            yield step, so_far
