"""What something usually takes."""

from __future__ import annotations

from dataclasses import dataclass, field

REMEMBERED = 100


@dataclass(slots=True)
class Usual:
    """The highest of the last hundred times, and their median."""

    times: list[float] = field(default_factory=list)

    def learn(self, seconds: float) -> None:
        self.times.append(seconds)
        del self.times[:-REMEMBERED]

    @property
    def value(self) -> float:
        return sorted(self.times)[len(self.times) // 2] if self.times else 0.0

    @property
    def highest(self) -> float:
        return max(self.times, default=0.0)
