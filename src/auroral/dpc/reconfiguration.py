"""Another version of a query takes effect at a bucket, the same on all of its replicas (X9, L58).

Two phases. Each replica promises not to make stable what lies behind a bucket somewhat ahead of it; the highest of these is where the
new version begins, which none has passed; then all are told. Promise and decision are written down before they are sent. What is
decided is told until all know it; a replica that cannot be reached delays the change, and after a while those that promised are
released and asked again later, so that it does not delay what is stable for long. Answers go on all the time, tentatively where a
promise holds up what is stable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.dpc.events import Changed, Decide, Effect, Event, KeepPlan, Propose, Received, Send, Started, WakeAt
from auroral.dpc.settings import Settings
from auroral.dpc.values import Commit, Committed, Prepare, Promise, Withdraw
from auroral.dpc.versions import Plan, Versions

PATIENCE = 3.0
"""Seconds in which all must have promised."""
PAUSE = 5.0
"""Seconds until the next attempt."""


def promised(plan: Plan, asked: Prepare, frontier: int, settings: Settings) -> Plan:
    """Far enough ahead to go on while the others promise; the same again for an attempt that was answered before."""
    if asked.version != plan.next_version or asked.attempt < plan.attempt:
        return plan
    if asked.attempt == plan.attempt and plan.promised is not None:
        return plan
    return Plan(plan.starts, frontier + math.ceil(PATIENCE / settings.bucket), asked.attempt)


def withdrawn(plan: Plan, said: Withdraw) -> Plan:
    current = said.version == plan.next_version and said.attempt >= plan.attempt
    return Plan(plan.starts, None, said.attempt) if current else plan


def committed(plan: Plan, said: Commit) -> Plan:
    """Versions come one after the other; what is known already stays."""
    return Plan((*plan.starts, said.at)) if said.version == plan.next_version else plan


def change(
    versions: Versions, sender: str, message: Prepare | Withdraw | Commit, frontier: int, settings: Settings
) -> Iterator[Effect]:
    """What a replica does; `frontier` is the first bucket that is neither stable nor being made so."""
    before = versions.plan
    match message:
        case Prepare():
            plan = promised(before, message, frontier, settings)
        case Withdraw():
            plan = withdrawn(before, message)
        case Commit():
            plan = committed(before, message)
    if plan != before:
        versions.plan = plan
        yield KeepPlan(plan)
    if isinstance(message, Prepare) and plan.attempt == message.attempt and plan.promised is not None:
        yield Send(sender, Promise(message.version, message.attempt, plan.promised))
    elif isinstance(message, Commit) and message.version < plan.next_version:
        yield Send(sender, Committed(plan.next_version - 1))


@dataclass(slots=True)
class Reconfiguration:
    """Brings a query from one version to the next: one for each query, with the catalog."""

    replicas: tuple[str, ...]
    settings: Settings
    starts: tuple[int, ...] = (0,)
    """Decided."""
    wanted: bool = False
    """Whether there is a version behind those."""
    attempt: int = 0
    began: float = float("-inf")
    preparing: bool = False
    promises: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    """Who knows all that is decided."""

    def handle(self, event: Event, now: float) -> list[Effect]:
        return [*self._take(event, now), *self._step(now), WakeAt(now + self.settings.ping_every * 5)]

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Started(decided=decided) if decided is not None:
                # An attempt that was under way is void: the number is higher than any before.
                self.starts, self.wanted, self.attempt = decided.starts, decided.wanted, decided.attempt
            case Propose():
                self.wanted = True
                yield self._decide()
            case Received(sender, Promise(version, attempt, bucket)):
                if (
                    self.preparing
                    and (version, attempt) == (len(self.starts), self.attempt)
                    and sender in self.replicas
                ):
                    self.promises[sender] = bucket
            case Received(sender, Committed(version)):
                if version == len(self.starts) - 1:
                    self.told.add(sender)
            case _:
                pass

    def _step(self, now: float) -> Iterator[Effect]:
        version = len(self.starts)
        if self.preparing and len(self.promises) == len(self.replicas):
            self.starts = (*self.starts, max(self.promises.values()))
            self.wanted, self.preparing, self.told = False, False, set()
            yield self._decide()
            yield Changed(version, self.starts[-1])
        elif self.preparing and now >= self.began + PATIENCE:
            self.preparing = False
        elif self.wanted and not self.preparing and now >= self.began + PATIENCE + PAUSE:
            self.attempt, self.preparing, self.began, self.promises = self.attempt + 1, True, now, {}
            # Before anything is asked: after a crash no attempt has the number of an earlier one.
            yield self._decide()
        yield from self._say()

    def _say(self) -> Iterator[Effect]:
        version = len(self.starts)
        for replica in self.replicas:
            if self.preparing and replica not in self.promises:
                yield Send(replica, Prepare(version, self.attempt))
            elif self.wanted and not self.preparing and self.attempt:
                yield Send(replica, Withdraw(version, self.attempt))
            elif version > 1 and replica not in self.told:
                yield from (Send(replica, Commit(number, self.starts[number])) for number in range(1, version))

    def _decide(self) -> Decide:
        return Decide(self.starts, self.wanted, self.attempt)
