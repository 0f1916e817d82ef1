"""Outputs whose jobs fail: tried again alone and ever less often, so that one that always fails neither takes all of the engine nor
the other outputs with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

LONGEST = 30.0
"""Seconds between two tries."""
SHORTEST = 0.1

Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True)
class Failing:
    times: int
    """One after the other."""
    again_at: float
    reason: str


@dataclass(slots=True)
class Trouble:
    outputs: dict[str, Failing] = field(default_factory=dict)

    def failed(self, outputs: Iterable[str], reason: str, now: float) -> None:
        """One failure is an accident: it is tried at once, as before."""
        for stream in outputs:
            times = self.outputs[stream].times + 1 if stream in self.outputs else 1
            wait = 0.0 if times == 1 else min(LONGEST, SHORTEST * 2.0 ** min(times, 20))
            self.outputs[stream] = Failing(times, now + wait, reason)

    def succeeded(self, outputs: Iterable[str]) -> None:
        for stream in outputs:
            self.outputs.pop(stream, None)

    def ill(self, stream: str) -> bool:
        """Whether it failed more than once in a row."""
        return stream in self.outputs and self.outputs[stream].times > 1

    def to_try(self, wanted: Mapping[str, Wanted], now: float) -> Mapping[str, Wanted]:
        """Those that may be evaluated by one job: one whose time has come, or all that are well."""
        if not self.outputs:
            return wanted
        ill = {stream: one for stream, one in self.outputs.items() if self.ill(stream) and stream in wanted}
        first = min(ill, key=lambda stream: ill[stream].again_at, default=None)
        if first is not None and ill[first].again_at <= now:
            return {first: wanted[first]}
        return {stream: one for stream, one in wanted.items() if stream not in ill}

    def next_try(self, now: float) -> float:
        if not self.outputs:
            return float("inf")
        return min([one.again_at for one in self.outputs.values() if one.again_at > now], default=float("inf"))
