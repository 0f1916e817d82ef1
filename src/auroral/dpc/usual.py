"""What something usually takes."""

from __future__ import annotations

from dataclasses import dataclass, field

REMEMBERED = 100


@dataclass(slots=True)
class Usual:
    """The highest of the last hundred times, and their median. Of three or more, the one that took longest is no measure: the next
    hundred would pay for it, and the first job of a session takes far longer than all others."""

    times: list[float] = field(default_factory=list)
    value: float = field(init=False, default=0.0)
    highest: float = field(init=False, default=0.0)

    def learn(self, seconds: float) -> None:
        self.times.append(seconds)
        del self.times[:-REMEMBERED]
        # Asked for far more often than learned.
        ordered = sorted(self.times)
        self.value = ordered[len(ordered) // 2]
        self.highest = ordered[-2 if len(ordered) >= 3 else -1]
