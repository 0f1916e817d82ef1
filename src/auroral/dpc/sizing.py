"""How much a job takes at once, by how long earlier ones took.

Spark does not take a core away from a task: what is to be guessed waits for a job that corrects, and for the guess before it. So what a job that corrects takes for
its rows, and a guess for all buckets but its first, is kept to a quarter of the time that is set aside for a guess. But a job also takes time whatever it reads: where that
is more, smaller ones would only be more of them, all would take longer, and what is new would wait for that. So a job that corrects may take as long for its rows as any takes without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil
from statistics import median

from auroral.dpc.usual import Usual

MOST_ROWS = 280_000
"""That a job reads at once, however quick it is: they are in memory."""
LEAST_ROWS = 20_000
"""Of so few a job takes hardly longer than of none."""
TELLING = 10_000
"""Rows: a job of fewer is another one for Spark, and shows nothing of what many would take."""
SHARE = 0.25
REMEMBERED = 5
"""Jobs: a JVM gets quicker, and other work on the machine comes and goes."""
APART = 1.25
"""Jobs that differ by less than so many times the rows do not show what a row takes."""


@dataclass(frozen=True, slots=True)
class Took:
    rows: int
    seconds: float
    usual: float
    """Seconds of a job of a single bucket, then."""


@dataclass(slots=True)
class Sizing:
    """Of jobs that correct."""

    jobs: deque[Took] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """The last ones."""

    def learn(self, rows: int, seconds: float, usual: float) -> None:
        """A job of so many rows took so long, and one of a single bucket usually takes `usual`."""
        if rows >= TELLING:
            self.jobs.append(Took(rows, seconds, usual))

    def rows(self, aside: float) -> int:
        """That the next one may read, where so much is set aside for a guess."""
        if not self.jobs:
            return MOST_ROWS
        if slopes := list(self._slopes()):
            each = median(slopes)
        elif len(self.jobs) > 1:
            # Several of one size: only another one tells whether it is the rows that they take so long for.
            return _within(2 * max(job.rows for job in self.jobs))
        else:
            (job,) = self.jobs
            each = (job.seconds - job.usual) / job.rows
        if each <= 0.0:
            return MOST_ROWS
        without = median(job.seconds - each * job.rows for job in self.jobs)
        return _within(max(SHARE * aside, without) / each)

    def _slopes(self) -> Iterator[float]:
        """What a row took, by any two of them."""
        for one, other in combinations(self.jobs, 2):
            few, many = sorted((one, other), key=lambda job: job.rows)
            if many.rows >= APART * few.rows:
                yield (many.seconds - few.seconds) / (many.rows - few.rows)


def _within(rows: float) -> int:
    return int(min(max(rows, LEAST_ROWS), MOST_ROWS))


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
