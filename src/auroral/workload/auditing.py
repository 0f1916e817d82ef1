"""Whether partners compute what they are paid for: some of their buckets, chosen at random, are evaluated again and compared.

A box is a pure function of its buckets, so that the same inputs give the same result everywhere: one difference is proof. A bucket is chosen after its
result was delivered, by a random number that comes from outside, so that nobody knows beforehand which one it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from auroral.workload.contracts import WrongContract
from auroral.workload.values import Exact

Place = tuple[str, str, int]
"""A partner, a task that it runs, and a bucket of that."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A partner's final result of a bucket."""

    place: Place
    inputs: str
    """Logical hashes: of what it was computed from, and of the result."""
    result: str
    lot: Fraction
    """Drawn for this bucket when its result was there, anywhere in [0, 1) alike."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Here, of the same bucket."""

    place: Place
    inputs: str
    result: str


@dataclass(frozen=True, slots=True)
class Evaluate:
    place: Place


@dataclass(frozen=True, slots=True)
class Cheated:
    """From the same inputs comes another result. Whoever hears of it ends the contract: what is there goes home when its term is over."""

    place: Place
    said: str
    found: str


@dataclass(slots=True)
class Auditing:
    share: Fraction
    """Of all buckets, of those that are evaluated again."""
    within: float = 60.0
    """Seconds until an evaluation that did not come is given up."""
    open: dict[Place, tuple[Delivered, float]] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)
    """By partner, as those below."""
    undecided: Counter[str] = field(default_factory=Counter)
    """Given up, or computed from other inputs: that is no proof of anything."""
    cheated: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise WrongContract(
                f"a share of {self.share} of the buckets is compared\n    allowed: more than 0, up to 1"
            )

    def handle(self, event: Delivered | Evaluated, now: float) -> list[Evaluate | Cheated]:
        self._give_up(now)
        match event:
            case Delivered(place):
                return list(self._delivered(place, event, now))
            case Evaluated(place, inputs, result):
                return list(self._evaluated(place, inputs, result))

    def _delivered(self, place: Place, event: Delivered, now: float) -> Iterator[Evaluate]:
        # What is delivered twice does not take the place of what is looked at.
        if event.lot < self.share and place not in self.open:
            self.open[place] = event, now + self.within
            yield Evaluate(place)

    def _evaluated(self, place: Place, inputs: str, result: str) -> Iterator[Cheated]:
        if place not in self.open:
            return
        said, _ = self.open.pop(place)
        if said.inputs != inputs:
            self.undecided[place[0]] += 1
            return
        self.compared[place[0]] += 1
        if said.result != result:
            self.cheated[place[0]] += 1
            yield Cheated(place, said.result, result)

    def _give_up(self, now: float) -> None:
        for place in [place for place, (_, until) in self.open.items() if now >= until]:
            del self.open[place]
            self.undecided[place[0]] += 1


def unnoticed(share: Exact, wrong: Exact, buckets: int) -> Fraction:
    """How likely it is that a partner that computes this part of its buckets wrongly is not found by so many of them."""
    return (1 - Fraction(share) * wrong) ** buckets


def deterring(saved: Exact, share: Exact) -> Fraction:
    """The least penalty with which a wrong bucket, which saves its partner so much, does not pay."""
    return saved / Fraction(share)
