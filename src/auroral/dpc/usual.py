"""What something usually takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

REMEMBERED = 100
ENOUGH = 3
"""Times from which on something is said to be usual."""


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


class Offsets:
    """Of the inputs of an output: how long after the first of them a bucket usually comes on each."""

    def __init__(self, names: Iterable[str]) -> None:
        self.usual = {name: Usual() for name in names}
        self.latest = (next(iter(self.usual)), 0.0)
        """Which one comes last, and how late."""
        self.after = dict.fromkeys(self.usual, 0.0)
        """How long after it is there it is on all inputs."""

    def learn(self, came: Mapping[str, float]) -> None:
        """When a bucket was first heard of; of use where it was on all of them."""
        if came.keys() != self.usual.keys():
            return
        first = min(came.values())
        for name, at in came.items():
            self.usual[name].learn(at - first)
        # Asked for far more often than learned.
        name = max(self.usual, key=lambda name: self.usual[name].value)
        if len(self.usual[name].times) >= ENOUGH:
            self.latest = (name, self.usual[name].value)
            self.after = {name: self.latest[1] - usual.value for name, usual in self.usual.items()}
