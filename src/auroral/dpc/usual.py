"""What something usually takes."""

from __future__ import annotations

from dataclasses import dataclass, field

REMEMBERED = 100


@dataclass(slots=True)
class Usual:
    """The highest of the last hundred times, and their median."""

    times: list[float] = field(default_factory=list)
    value: float = field(init=False, default=0.0)
    highest: float = field(init=False, default=0.0)

    def learn(self, seconds: float) -> None:
        self.times.append(seconds)
        del self.times[:-REMEMBERED]
        # Asked for far more often than learned.
        self.value = sorted(self.times)[len(self.times) // 2]
        self.highest = max(self.times)
