"""A peer, connected or not: what is known of it, and what waits for it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Protocol

from auroral.dpc.values import Message
from auroral.wire.codec import Encoded
from auroral.wire.counters import Counters
from auroral.wire.link import Link
from auroral.wire.transport import Patience


class Dial(Protocol):
    """An attempt to connect."""

    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message for a connection that is in the making."""

    sender: str
    life: int
    to: str
    message: Message
    encoded: tuple[Encoded, ...]
    """What it is sent as."""


@dataclass(slots=True)
class Peer:
    name: str
    counters: Counters = field(default_factory=Counters)
    link: Link | None = None
    dial: Dial | None = None
    attempt: int = 0
    """How often it was called."""
    failures: int = 0
    """Of the last calls, one behind the other."""
    retry: asyncio.TimerHandle | None = None
    waiting: list[Waiting] = field(default_factory=list)
    waiting_bytes: int = 0
    cut_going: bool = False
    cut_coming: bool = False
    delay: float = 0.0
    certified: bool = False
    """Whether it has shown a certificate of its name: nobody else can claim it."""

    @property
    def cut(self) -> bool:
        return self.cut_going or self.cut_coming

    def wait(self, one: Waiting) -> None:
        self.waiting.append(one)
        self.waiting_bytes += sum(part.size for part in one.encoded)

    def take_waiting(self) -> list[Waiting]:
        found, self.waiting, self.waiting_bytes = self.waiting, [], 0
        return found

    def lose_waiting(self, reason: str, *, sender: str | None = None, to: str | None = None) -> list[Waiting]:
        """What waits, or what of it goes from or to these. It is counted."""
        lost = []
        for one in self.take_waiting():
            if sender in (None, one.sender) and to in (None, one.to):
                lost.append(one)
            else:
                self.wait(one)
        if lost:
            self.counters.lost[reason] += len(lost)
        return lost

    def pause(self, patience: Patience) -> float:
        """Before it is called again."""
        wait = min(patience.longest_retry, patience.first_retry * 2.0 ** min(self.failures, 16))
        self.failures += 1
        return wait * random.uniform(0.5, 1.0)

    def hang_up(self) -> None:
        """No call is made, and none is waited for."""
        if self.retry is not None:
            self.retry.cancel()
        if self.dial is not None:
            self.dial.cancel()
        self.retry = self.dial = None
