"""Replicas compare what they made stable: it must be the same, bit for bit.

With its heartbeats a replica tells those that come before it by name the hashes of its new stable buckets. So of each pair one
compares, whichever of both is ahead. If it finds a difference, it tells the other one what it has there. Which of both is wrong nobody
knows: the output is in FAILURE at both, until they are started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.dpc.events import Report
from auroral.dpc.values import Hashes

REMEMBERED = 1000
"""Buckets that can be compared, behind and ahead of what is stable here."""
MOST_AT_ONCE = 64


@dataclass(slots=True)
class Comparison:
    """Of one output with the same output of other replicas."""

    stream: str
    name: str
    own: dict[int, int] = field(default_factory=dict)
    claims: dict[str, dict[int, int]] = field(default_factory=dict)
    """What others made of buckets that are not stable here yet."""
    told: dict[str, int] = field(default_factory=dict)
    """The first bucket that each was not told of."""
    differing: dict[str, Hashes] = field(default_factory=dict)
    """By those that made something else: what is here of the last bucket that it was found in."""

    def made(self, bucket: int, hash: int) -> Iterator[Report]:
        self.own[bucket] = hash
        self.own.pop(bucket - REMEMBERED, None)
        for peer, claims in self.claims.items():
            if bucket in claims:
                yield from self._compare(peer, bucket, claims.pop(bucket))

    def tell(self, peer: str) -> Hashes:
        if peer in self.differing:
            return self.differing[peer]
        begin = max(self.told.get(peer, 0), min(self.own, default=0))
        end = begin
        while end in self.own and end < begin + MOST_AT_ONCE:
            end += 1
        self.told[peer] = end
        return Hashes(begin, tuple(self.own[bucket] for bucket in range(begin, end)))

    def heard(self, peer: str, said: Hashes) -> Iterator[Report]:
        claims = self.claims.setdefault(peer, {})
        for bucket, hash in enumerate(said.hashes, said.begin):
            if bucket in self.own:
                yield from self._compare(peer, bucket, hash)
            elif bucket > max(self.own, default=-1) and len(claims) < REMEMBERED:
                claims[bucket] = hash

    def disconnected(self, peer: str) -> None:
        """What it was told last may not have come."""
        self.told.pop(peer, None)

    def _compare(self, peer: str, bucket: int, hash: int) -> Iterator[Report]:
        # A gap differs from nothing: it is known to be unknown.
        if hash != self.own[bucket] and min(hash, self.own[bucket]) >= 0:
            known = peer in self.differing
            self.differing[peer] = Hashes(bucket, (self.own[bucket],))
            if not known:
                yield Report("diverged", self.stream, detail=f"{self.name} and {peer} differ in bucket {bucket}")
