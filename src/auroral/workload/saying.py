"""What is said until it is answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from auroral.workload.books import Key
from auroral.workload.events import Send
from auroral.workload.messages import Message

Open = tuple[str, Key, Message]
"""What it is about, whom it is said to with which number, and the words."""


@dataclass(slots=True)
class Saying:
    again: float
    said_at: dict[tuple[str, Key], float] = field(default_factory=dict)

    def now(self, about: str, key: Key, message: Message, now: float) -> Send:
        self.said_at[about, key] = now
        return Send(key[0], message)

    def due(self, open_: Iterable[Open], now: float) -> Iterator[Send]:
        for about, key, message in list(open_):
            if now >= self.said_at.get((about, key), now - self.again) + self.again:
                yield self.now(about, key, message, now)

    def answered(self, key: Key, *about: str) -> None:
        for one in about:
            self.said_at.pop((one, key), None)
