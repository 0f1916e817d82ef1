"""A source proxy: what is logged is sent to all who read it, and kept until none of them needs it (D74, D75).

The log is durable before its buckets get here; a source that comes back goes on with what the log holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import Disconnected, Effect, Event, Logged, Pause, Received, Report, Send, Started
from auroral.dpc.outlet import Outlet, acknowledged
from auroral.dpc.refusing import refusals, strangers
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Offer
from auroral.dpc.values import Content, Message, Ping, Pong, Rewire, Rewired, Subscribe, Unsubscribe, Want


@dataclass(slots=True)
class Source:
    stream: str
    readers: tuple[str, ...]
    settings: Settings
    outlet: Outlet = field(init=False)
    paused: bool = field(init=False, default=False)
    """D72: whether nothing more can be kept."""
    wired: int = field(init=False, default=0)
    """The number of the layout that it was last told of."""
    born: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.outlet = Outlet(self.stream, self.readers, self.settings)

    def handle(self, event: Event, now: float) -> list[Effect]:
        if isinstance(event, Received) and isinstance(event.message, Ping):
            effects = self._asked(event.sender, event.message)
        else:
            effects = list(self._take(event, now))
        if self.paused is not (full := self.outlet.frontier >= self.outlet.room):
            self.paused = full
            effects.append(Pause(self.stream, full))
        return effects

    def _asked(self, sender: str, ping: Ping) -> list[Effect]:
        outlet = self.outlet
        effects: list[Effect] = [*strangers(sender, ping, (self.stream,))]
        unknown = acknowledged({self.stream: outlet}, sender, ping)
        effects += outlet.forget()
        offer = Offer(State.STABLE, True, outlet.frontier, outlet.kept_from)
        effects.append(Send(sender, Pong({self.stream: offer}, unknown)))
        return effects

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Started(kept):
                self.born = now
                if self.stream in kept:
                    self.outlet.restore(kept[self.stream])
            case Logged(bucket, content, closed):
                yield from self._logged(bucket, content, closed, now)
            case Received(sender, message):
                refused = list(refusals(sender, message, (self.stream,), {}))
                yield from refused or self._receive(sender, message, now)
            case Disconnected(peer):
                self.outlet.disconnected(peer)
            case _:
                pass

    def _logged(self, bucket: int, content: Content, closed: bool, now: float) -> Iterator[Effect]:
        if bucket < self.outlet.frontier:
            # It was in the log that the source came back with.
            yield Report("logged again", self.stream)
        elif closed:
            assert bucket == self.outlet.frontier, "a log has no holes"
            yield from self.outlet.give_stable([content], now)
            if not self.outlet.readers_expected:
                # No heartbeat will say that it is not needed.
                yield from self.outlet.forget()
        else:
            coverage = Coverage.of([self.stream], bucket, Level.PARTIAL)
            yield from self.outlet.give_tentative(bucket, content, coverage, now, closed=False)

    def _receive(self, sender: str, message: Message, now: float) -> Iterator[Effect]:
        match message:
            case Rewire(number, wiring) if number >= self.wired:
                self.wired = number
                self.outlet.rewire(wiring.readers.get(self.stream, ()))
                yield Send(sender, Rewired(number))
            case Subscribe() | Unsubscribe() | Want():
                yield from self.outlet.heard(sender, message, now)
            case _:
                pass
