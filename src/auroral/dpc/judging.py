"""What the offers of replicas are worth to a reader at its position, before the table chooses between them (D27, D35, D71)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from auroral.dpc.monitor import UNREACHED
from auroral.dpc.settings import UNLIMITED, Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Offer


@dataclass(frozen=True, slots=True)
class Judge:
    """`position` is the next stable bucket that is needed; None where that is not known."""

    settings: Settings
    position: int | None
    may_lose: bool

    def judged(self, offers: Mapping[str, Offer], stalled: Collection[str], lossy: Collection[str]) -> dict[str, Offer]:
        """One that does not have the next bucket any more, or does not send it, is of no use."""
        useless = {*stalled, *self._lacking(offers).difference(lossy)}
        return {
            producer: replace(offer, state=State.FAILURE) if producer in useless else self._worth(offer)
            for producer, offer in offers.items()
        }

    def _worth(self, offer: Offer) -> Offer:
        ahead = offer.frontier - (self.position or 0)
        if offer.state is State.FAILURE and ahead > 0:
            # Nothing new comes from it; it has stable buckets to give all the same.
            return replace(offer, state=State.STABILIZATION, fresh=False)
        far = self.position is not None and ahead * self.settings.bucket > self.settings.long_replay
        if offer.state is State.STABLE and far:
            # P3: what is new would wait behind all that is to be replayed. It is stable again once that has come (D35).
            return replace(offer, state=State.STABILIZATION, fresh=True)
        return offer

    def least_lossy(self, offers: Mapping[str, Offer]) -> set[str]:
        """Replicas to go on with where the next bucket is lost: where none that may have it is left to wait for."""
        lacking = self._lacking(offers)
        if not lacking or not self.may_lose or self.position is None:
            return set()
        reached = {producer: offer for producer, offer in offers.items() if offer != UNREACHED}
        if len(lacking) < len(reached) or not (self.settings.lost_beyond < UNLIMITED or len(reached) == len(offers)):
            return set()
        least = min(offer.kept_from for offer in reached.values())
        return {producer for producer, offer in reached.items() if offer.kept_from == least}

    def _lacking(self, offers: Mapping[str, Offer]) -> set[str]:
        """Replicas that do not have the next bucket any more; where it is not known which that is, that have less than another."""
        position = self.position
        if position is None:
            position = min((offer.kept_from for offer in offers.values() if offer != UNREACHED), default=0)
        return {producer for producer, offer in offers.items() if offer.kept_from > position}
