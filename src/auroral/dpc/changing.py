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

from auroral.dpc.events import Effect, KeepPlan, Send
from auroral.dpc.settings import Settings
from auroral.dpc.values import Decided, Known, Prepare, Promise
from auroral.dpc.versions import Plan, Versions

PATIENCE = 3.0
"""Seconds in which all must have promised."""
PAUSE = 5.0
"""Seconds until the next attempt."""


# A replica


def promised(plan: Plan, asked: Prepare, frontier: int, settings: Settings, first: int = 0) -> Plan:
    """Far enough ahead to go on while the others promise, behind where the last version begins, and not before the first bucket for which
    there is all that it reads; the same again for an attempt that was answered before."""
    if asked.version != plan.next_version or asked.attempt <= plan.attempt:
        return plan
    ahead = frontier + math.ceil(PATIENCE / settings.bucket)
    return Plan(plan.starts, max(ahead, plan.starts[-1] + 1, first), asked.attempt)


def told(plan: Plan, said: Decided) -> Plan:
    """What is known already stays, and what was promised in a later attempt."""
    starts, attempt = said.decision.starts, said.decision.attempt
    if len(starts) < len(plan.starts) or attempt < plan.attempt:
        return plan
    return Plan(starts, None, attempt)


def change(
    versions: Versions, sender: str, message: Prepare | Decided, frontier: int, settings: Settings, first: int = 0
) -> Iterator[Effect]:
    """What a replica does; `frontier` is the first bucket that is neither stable nor being made so, `first` the first for which it has what
    the version reads."""
    before = versions.plan
    if isinstance(message, Prepare):
        plan = promised(before, message, frontier, settings, first)
    else:
        plan = told(before, message)
    if plan != before:
        versions.plan = plan
        yield KeepPlan(plan)
    if isinstance(message, Decided):
        yield Send(sender, Known(message.decision))
    elif plan.attempt == message.attempt and plan.promised is not None:
        yield Send(sender, Promise(message.version, message.attempt, plan.promised))


# The catalog


@dataclass(slots=True)
class Change:
    """Of one query, until it is decided."""

    query: str
    version: int
    replicas: tuple[str, ...]
    attempt: int
    """The last that was begun."""
    asking: bool = False
    began: float = float("-inf")
    promises: dict[str, int] = field(default_factory=dict)

    def promised(self, sender: str, said: Promise) -> None:
        if self.asking and (said.version, said.attempt) == (self.version, self.attempt) and sender in self.replicas:
            self.promises[sender] = said.bucket

    @property
    def decided(self) -> int | None:
        """The bucket that the version begins with, once all have promised."""
        return max(self.promises.values()) if self.asking and len(self.promises) == len(self.replicas) else None

    def goes_on(self, now: float) -> bool:
        """Whether an attempt ended in vain, or the next one begins."""
        if now < self.began + (PATIENCE if self.asking else PATIENCE + PAUSE):
            return False
        self.asking = not self.asking
        if self.asking:
            self.attempt, self.began, self.promises = self.attempt + 1, now, {}
        return True

    def say(self) -> Iterator[Effect]:
        for replica in self.replicas:
            if self.asking and replica not in self.promises:
                yield Send(replica, Prepare(self.version, self.attempt))
