"""Replicas that cannot stay fresh while they correct take turns (D57): one of those that reach one another keeps answering.

Who wants to correct asks another replica, which promises not to correct itself for as long as the lease runs. The thesis' protocol
leaves open what happens to lost messages, dead partners, grants that are of no use and three that ask in a circle; here a promise
ends with its lease or a release, a promise outweighs a grant, and who reaches nobody goes ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from auroral.dpc.events import Send
from auroral.dpc.values import Ask, Grant, Refuse, Release

RETRY = 0.5
"""Seconds until another replica is asked."""


@dataclass(slots=True)
class Stagger:
    name: str
    peers: tuple[str, ...]
    lease: float = 5.0
    wanted: bool = False
    promised: dict[str, float] = field(default_factory=dict)
    """Until when nothing is corrected here, by the replica that was promised so."""
    granted: tuple[str, float] | None = None
    """By whom, and until when."""
    asked: tuple[str, int, float] | None = None
    """Whom, with which number, and when."""
    turn: int = 0
    number: int = 0

    def rewire(self, peers: tuple[str, ...]) -> None:
        """Nobody waits for one that is gone."""
        self.peers = peers
        self.promised = {peer: until for peer, until in self.promised.items() if peer in peers}
        if self.granted is not None and self.granted[0] not in peers:
            self.granted = None
        if self.asked is not None and self.asked[0] not in peers:
            self.asked = None

    def want(self, now: float, reached: Iterable[str]) -> Iterator[Send]:
        """Ask for a turn, or for a longer one; as often as one likes."""
        self.wanted = True
        there = [peer for peer in self.peers if peer in set(reached)]
        if not there or self._promises(now):
            return
        if self.granted is not None and self.granted[0] not in there:
            # It can neither renew it nor refuse to, and keeps answering for nobody here.
            self.granted = None
        if self.granted is not None and now < self.granted[1] - self.lease / 2:
            return
        if self.asked is not None and now < self.asked[2] + RETRY:
            return
        partner = there[self.turn % len(there)] if self.granted is None else self.granted[0]
        self.turn += 1
        self.number += 1
        self.asked = (partner, self.number, now)
        yield Send(partner, Ask(self.number, self.lease))

    def may_correct(self, now: float, reached: Iterable[str]) -> bool:
        """Whether it is this replica's turn: it was granted one, or there is nobody to keep answering in its place."""
        if self._promises(now):
            return False
        there = set(reached) & set(self.peers)
        if not there:
            return True
        return self.granted is not None and self.granted[0] in there and now < self.granted[1]

    def done(self) -> Iterator[Send]:
        self.wanted = False
        yield from self._give_back()

    def _give_back(self) -> Iterator[Send]:
        if self.granted is not None:
            yield Send(self.granted[0], Release())
        self.granted = self.asked = None

    def _promises(self, now: float) -> bool:
        self.promised = {peer: until for peer, until in self.promised.items() if now < until}
        return bool(self.promised)

    # What others say

    def ask(self, sender: str, message: Ask, correcting: bool, now: float) -> Iterator[Send]:
        """D57: refused by one that corrects, and by one that wants to and comes first by name."""
        renewed = sender in self.promised and self._promises(now)
        if not renewed and (correcting or (self.wanted and self.name < sender)):
            yield Send(sender, Refuse(message.number))
            return
        self.promised[sender] = now + message.lease
        # A promise outweighs a grant: who granted it need not wait any longer.
        yield from self._give_back()
        yield Send(sender, Grant(message.number))

    def grant(self, sender: str, message: Grant, now: float) -> Iterator[Send]:
        if self.asked is None or self.asked[:2] != (sender, message.number) or not self.wanted or self._promises(now):
            yield Send(sender, Release())
            return
        # Counted from when it was asked for: the promise was made later, and so ends later.
        self.granted, self.asked = (sender, self.asked[2] + self.lease), None

    def refuse(self, sender: str, message: Refuse) -> None:
        if self.asked is not None and self.asked[:2] == (sender, message.number) and self.granted is not None:
            self.granted = None

    def release(self, sender: str) -> None:
        self.promised.pop(sender, None)
