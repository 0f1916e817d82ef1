"""A line that keeps what passes through it for some seconds, in its order, or for as long as it is shut."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

Step = Callable[[], None]


@dataclass(slots=True)
class DelayLine:
    loop: asyncio.AbstractEventLoop
    delay: float = 0.0
    shut: bool = False
    waiting: deque[tuple[float, Step]] = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None

    def put(self, step: Step) -> None:
        """At once where nothing delays it and nothing is before it."""
        if not self.delay and not self.shut and not self.waiting:
            step()
            return
        self.waiting.append((self.loop.time() + self.delay, step))
        self._wait()

    def open(self, opened: bool) -> None:
        self.shut = not opened
        self._wait()

    def clear(self) -> None:
        self.waiting.clear()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _wait(self) -> None:
        if self.timer is None and self.waiting and not self.shut:
            self.timer = self.loop.call_at(self.waiting[0][0], self._pass)

    def _pass(self) -> None:
        self.timer = None
        while self.waiting and not self.shut and self.waiting[0][0] <= self.loop.time():
            self.waiting.popleft()[1]()
        self._wait()
