"""Heartbeats to every replica of every upstream stream (D26)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Offer

UNREACHED = Offer(State.FAILURE)


@dataclass(slots=True)
class Monitor:
    peers: tuple[str, ...]
    settings: Settings
    pending: dict[str, int] = field(default_factory=dict)
    offers: dict[str, Mapping[str, Offer]] = field(default_factory=dict)
    """What those that are reached said last."""
    heard: set[str] = field(default_factory=set)
    """Those that ever said something."""
    frontiers: dict[str, int] = field(default_factory=dict)
    next_at: float = float("-inf")

    def rewire(self, peers: tuple[str, ...]) -> None:
        if not set(peers) <= set(self.peers):
            # Who is new is asked at once.
            self.next_at = float("-inf")
        self.peers = peers
        for gone in [peer for peer in self.pending if peer not in peers]:
            del self.pending[gone]
            self.offers.pop(gone, None)
            self.heard.discard(gone)

    def ask_also(self, peers: tuple[str, ...]) -> None:
        """Those that are not asked yet, at once."""
        self.rewire(tuple(dict.fromkeys((*self.peers, *peers))))

    def due(self, now: float) -> tuple[str, ...]:
        """Whom to ask now. One that failed is asked on, or it could never be found again (the thesis' loop gives up)."""
        if now < self.next_at:
            return ()
        self.next_at = now + self.settings.ping_every
        for peer in self.peers:
            self._wait(peer, self.pending.get(peer, 0) + 1)
        return self.peers

    def answered(self, peer: str, offers: Mapping[str, Offer]) -> bool:
        """Whether that is news: buckets that come and go are none, as they decide nothing before the next heartbeat."""
        before = self.offers.get(peer, {})
        news = before.keys() != offers.keys()
        self.pending[peer] = 0
        self.offers[peer] = offers
        self.heard.add(peer)
        for stream, offer in offers.items():
            news = news or _differ(before[stream], offer)
            if offer.frontier > self.furthest(stream):
                self.frontiers[stream] = offer.frontier
        return news

    def furthest(self, stream: str) -> int:
        """How far anyone ever said that the stream is stable."""
        return self.frontiers.get(stream, 0)

    def lost(self, peer: str) -> None:
        """The connection broke: not to be waited for."""
        self._wait(peer, self.settings.pings_unanswered + 1)

    def _wait(self, peer: str, pings: int) -> None:
        self.pending[peer] = pings
        if pings > self.settings.pings_unanswered:
            self.offers.pop(peer, None)

    def reached(self, peer: str) -> bool:
        return self.pending.get(peer, 0) <= self.settings.pings_unanswered

    def offer(self, peer: str, stream: str) -> Offer:
        offers = self.offers.get(peer)
        return UNREACHED if offers is None else offers.get(stream, UNREACHED)

    def of(self, stream: str, producers: Iterable[str]) -> dict[str, Offer]:
        return {producer: self.offer(producer, stream) for producer in producers}


def _differ(one: Offer, other: Offer) -> bool:
    return one.state is not other.state or one.fresh is not other.fresh
