"""When a replica corrects: at once if it can answer in time all the while, else when it is its turn (D57, D58)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from auroral.dpc.events import Effect
from auroral.dpc.jobs import Jobs
from auroral.dpc.monitor import Monitor
from auroral.dpc.settings import Settings
from auroral.dpc.stagger import Stagger
from auroral.dpc.sunion import SUnion
from auroral.dpc.values import Ask, Grant, Refuse, Release


@dataclass(slots=True)
class Turns:
    stagger: Stagger
    jobs: Jobs
    monitor: Monitor
    settings: Settings

    @property
    def fresh(self) -> bool:
        """Whether it can answer in time while it corrects: the bound has room for what it and those behind it take."""
        return all(union.aside < union.settings.bound for union in self.jobs.unions.values())

    def take(self, now: float) -> Iterator[Effect]:
        processing = [union for union in self.jobs.unions.values() if union.processing]
        waiting = any(union.can_be_stable for union in processing)
        if waiting and not self.fresh:
            yield from self.stagger.want(now, self._peers_reached())
        elif self.stagger.wanted and not waiting:
            yield from self.stagger.done()

    def may_begin(self, union: SUnion, now: float) -> bool:
        """Whether its next buckets may be made stable: what is to be corrected waits for its turn."""
        if not union.processing or self.fresh:
            return True
        return self.stagger.may_correct(now, self._peers_reached())

    def heard(self, sender: str, message: Ask | Grant | Refuse | Release, now: float) -> Iterator[Effect]:
        match message:
            case Ask():
                yield from self.stagger.ask(sender, message, self._corrects, now)
            case Grant():
                yield from self.stagger.grant(sender, message, now)
            case Refuse():
                self.stagger.refuse(sender, message)
            case Release():
                self.stagger.release(sender)

    @property
    def _corrects(self) -> bool:
        """Whether it corrects something at the cost of what is new."""
        made = self.jobs.being_made_stable
        return not self.fresh and any(self.jobs.unions[stream].processing for stream in made)

    def _peers_reached(self) -> list[str]:
        return [peer for peer in self.stagger.peers if self.monitor.reached(peer)]
