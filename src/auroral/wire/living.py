"""Which cores live on this node, and what they are told: one thing after the other, never from within `send`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Message
from auroral.wire.errors import WireError
from auroral.wire.limits import MOST_CORES
from auroral.wire.transport import Deliver

Taken = Callable[[], None]
"""Called when what was delivered is taken."""


@dataclass(frozen=True, slots=True)
class _Told:
    core: str
    life: int
    event: Received | Disconnected
    taken: Taken | None


class Living:
    def __init__(self, deliver: Deliver):
        self.deliver = deliver
        self.loop: asyncio.AbstractEventLoop
        self.lives: dict[str, int] = {}
        self._last = 0
        self._parting: dict[tuple[str, str], asyncio.TimerHandle | None] = {}
        """Breaks that a core has not heard of, with the time at which it will, where that is not yet."""
        self._telling: deque[_Told] = deque()
        self._draining = False
        self._taking: set[asyncio.Future[None]] = set()

    def begin(self, core: str) -> int:
        if len(self.lives) >= MOST_CORES:
            raise WireError(f"{len(self.lives)} cores live here already", core, f"at most {MOST_CORES}")
        self._last += 1
        self.lives[core] = self._last
        return self._last

    def end(self, core: str) -> bool:
        """Whether it lived. What it was to be told is forgotten."""
        for pair in [pair for pair in self._parting if pair[0] == core]:
            if (later := self._parting.pop(pair)) is not None:
                later.cancel()
        return self.lives.pop(core, None) is not None

    def stop(self) -> None:
        for core in list(self.lives):
            self.end(core)
        self._telling.clear()
        for taking in self._taking:
            taking.cancel()

    # Breaks

    def parting(self, core: str, peer: str) -> bool:
        """Whether there was a break that the core has not heard of: what it sends until then is lost."""
        return (core, peer) in self._parting

    def part(self, core: str, peer: str) -> None:
        """There was a break. One that the core is about to hear of is the same to it."""
        if core in self.lives and (core, peer) not in self._parting:
            self._parting[core, peer] = None
            self._telling.append(_Told(core, self.lives[core], Disconnected(peer), None))
            self._drain_soon()

    def part_later(self, core: str, peer: str, seconds: float) -> None:
        if (core, peer) not in self._parting:
            self._parting[core, peer] = self.loop.call_later(seconds, self._part_now, core, peer)

    def _part_now(self, core: str, peer: str) -> None:
        if (later := self._parting.get((core, peer))) is not None:
            later.cancel()
            del self._parting[core, peer]
            self.part(core, peer)

    # What comes

    def receive(self, core: str, sender: str, message: Message, taken: Taken | None = None) -> None:
        """Behind the break that it is to hear of, if there was one."""
        self._part_now(core, sender)
        self._telling.append(_Told(core, self.lives[core], Received(sender, message), taken))
        self._drain_soon()

    def _drain_soon(self) -> None:
        if self._telling and not self._draining:
            self.loop.call_soon(self.drain)

    def drain(self) -> None:
        """What a core sends while it is told something comes behind it."""
        if self._draining:
            return
        self._draining = True
        while self._telling:
            told = self._telling.popleft()
            if self.lives.get(told.core) != told.life:
                _call(told.taken)
                continue
            if isinstance(told.event, Disconnected):
                self._parting.pop((told.core, told.event.peer), None)
            try:
                given = self.deliver(told.core, told.event)
            except Exception as error:  # noqa: BLE001  an error of one core must not lose what others are to hear
                context = {"message": f"{told.core} failed at what it was told", "exception": error}
                self.loop.call_exception_handler(context)
                given = None
            self._take(given, told.taken)
        self._draining = False

    def _take(self, given: Awaitable[None] | None, taken: Taken | None) -> None:
        if given is None:
            _call(taken)
            return
        taking = asyncio.ensure_future(given)
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)
        taking.add_done_callback(lambda _: _call(taken))


def _call(taken: Taken | None) -> None:
    if taken is not None:
        taken()
