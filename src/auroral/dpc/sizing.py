"""How much a job that corrects takes at once, by how long earlier ones took (DESIGN 7).

Spark does not take a core away from a task: what is to be guessed meanwhile waits for it. So what a job takes longer than that of a single bucket is
kept to a quarter of the time that is set aside for a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_ROWS = 280_000
"""That a job reads at once, however quick it is: they are in memory."""
LEAST_ROWS = 10_000
"""Of so few a job takes hardly longer than of none: with less at a time, who is behind would hardly come closer."""
SHARE = 0.25
_WEIGHT = 0.5
"""Of the last job: a JVM gets quicker, and other work on the machine comes and goes."""


@dataclass(slots=True)
class Sizing:
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
