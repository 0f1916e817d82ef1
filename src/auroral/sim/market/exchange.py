"""Participants whose messages come at once: as in the published simulations, and for tests of what one step does."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from auroral.workload.events import Effect, Event, Received, Send, WakeAt, Woken, Write
from auroral.workload.messages import Message
from auroral.workload.participant import Participant
from auroral.workload.settings import Settings


@dataclass(slots=True)
class Exchange:
    participants: dict[str, Participant] = field(default_factory=dict)
    now: float = 0.0
    wakes: dict[str, float] = field(default_factory=dict)
    said: list[tuple[str, str, Message]] = field(default_factory=list)
    """From whom, to whom."""
    written: list[tuple[str, Write]] = field(default_factory=list)
    listening: bool = True
    """Whether what is said and written is kept here."""

    def join(self, name: str, settings: Settings) -> Participant:
        self.participants[name] = Participant(name, settings)
        return self.participants[name]

    def tell(self, name: str, event: Event) -> None:
        """With all that comes of it at once."""
        queue = deque([(name, event)])
        while queue:
            to, what = queue.popleft()
            for effect in self.participants[to].handle(what, self.now):
                self._carry_out(to, effect, queue)

    def _carry_out(self, name: str, effect: Effect, queue: deque[tuple[str, Event]]) -> None:
        match effect:
            case Send(to, message):
                if self.listening:
                    self.said.append((name, to, message))
                queue.append((to, Received(name, message)))
            case Write():
                if self.listening:
                    self.written.append((name, effect))
            case WakeAt(time):
                self.wakes[name] = time

    def run(self, until: float) -> None:
        while self.wakes and (first := min(self.wakes.values())) <= until:
            self.now = max(self.now, first)
            name = next(name for name, time in self.wakes.items() if time == first)
            del self.wakes[name]
            self.tell(name, Woken())
        self.now = until
