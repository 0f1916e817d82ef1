"""How much a job takes at once, by how long earlier ones took (DESIGN 7).

Spark does not take a core away from a task: what is to be guessed waits for a job that corrects, and for the guess before it. So what a
job takes longer than that of a single bucket is kept to a quarter of the time that is set aside for a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from auroral.dpc.usual import Usual

MOST_ROWS = 280_000
"""That a job reads at once, however quick it is: they are in memory."""
LEAST_ROWS = 10_000
"""Of so few a job takes hardly longer than of none: with less at a time, who is behind would hardly come closer."""
SHARE = 0.25
_WEIGHT = 0.5
"""Of the last job: a JVM gets quicker, and other work on the machine comes and goes."""


@dataclass(slots=True)
class Sizing:
    """Of jobs that correct."""

    per_row: float = 0.0
    """Seconds."""

    def learn(self, rows: int, seconds: float, usual: float) -> None:
        """A job of so many rows took so long, and one of a single bucket usually takes `usual`. Of few rows that says little, but that it goes
        quicker than was thought: who was slow once would otherwise have none but such jobs, and never know."""
        took = max(0.0, seconds - usual) / max(1, rows)
        if rows >= LEAST_ROWS or took < self.per_row:
            self.per_row = took if not self.per_row else (1 - _WEIGHT) * self.per_row + _WEIGHT * took

    def rows(self, aside: float) -> int:
        """That the next one may read, where so much is set aside for a guess."""
        if self.per_row * MOST_ROWS <= SHARE * aside:
            return MOST_ROWS
        return max(LEAST_ROWS, int(SHARE * aside / self.per_row))


MOST_GUESSED = 32
"""Buckets in one job that guesses: what comes behind them waits for it."""


@dataclass(slots=True)
class Guesses:
    """Of jobs that guess: when the time of the first bucket of a failure is over, all that came since waits as well."""

    further: Usual = field(default_factory=Usual)
    """What a job takes longer for each bucket behind its first."""

    def learn(self, buckets: int, seconds: float, usual: float) -> None:
        """A job of so many buckets took so long, and one of a single bucket usually takes `usual`."""
        if buckets > 1:
            self.further.learn(max(0.0, seconds - usual) / (buckets - 1))

    def beyond_first(self, buckets: int) -> float:
        return (buckets - 1) * self.further.value

    def most(self, spare: float, usual: float, bucket: float) -> int:
        """Buckets: no more than leave the first of them in time, which has so much to spare; and enough not to fall behind those that come.
        Until it is known what they take, each may take what a job does."""
        further = self.further.value if self.further.times else usual
        in_time = 1 + int(spare / further) if further * MOST_GUESSED > spare else MOST_GUESSED
        each = bucket - self.further.value
        keeping_up = 1 + ceil(usual / each) if each > 0 else MOST_GUESSED
        return min(MOST_GUESSED, max(in_time, keeping_up))
