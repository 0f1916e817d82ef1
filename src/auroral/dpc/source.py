"""A source proxy: what is logged is sent to all who read it, and kept until none of them needs it (D74, D75)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import Disconnected, Effect, Event, Logged, Received, Send, Truncate
from auroral.dpc.outlet import Outlet
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Offer
from auroral.dpc.values import Content, Ping, Pong, Subscribe, Unsubscribe, Want


@dataclass(slots=True)
class Source:
    stream: str
    readers: tuple[str, ...]
    settings: Settings
    log_begin: int = 0
    log: tuple[Content, ...] = ()
    """What a source that comes back has logged and not truncated, from bucket `log_begin` on (D74)."""
    outlet: Outlet = field(init=False)

    def __post_init__(self) -> None:
        self.outlet = Outlet(self.stream, self.readers, self.settings.oldest)
        self.outlet.begin(self.log_begin)
        said = list(self.outlet.give_stable(self.log))
        assert not said, "nobody reads it yet"

    def handle(self, event: Event, now: float) -> list[Effect]:
        return list(self._take(event, now))

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Logged(bucket, content, closed):
                if closed:
                    assert bucket == self.outlet.frontier
                    yield from self.outlet.give_stable([content], 0.0, now)
                else:
                    coverage = Coverage.of([self.stream], bucket, Level.PARTIAL)
                    yield from self.outlet.give_tentative(bucket, content, coverage, closed=False)
            case Received(sender, Ping(acks, numbers)):
                if self.stream in acks:
                    self.outlet.acknowledged(sender, acks[self.stream])
                yield from self._forget()
                offer = Offer(State.STABLE, True, self.outlet.frontier, self.outlet.kept_from)
                unknown = {s: number for s, number in numbers.items() if not self.outlet.holds(sender, number)}
                yield Send(sender, Pong({self.stream: offer}, unknown))
            case Received(sender, Subscribe() as message):
                yield from self.outlet.subscribe(sender, message, now)
            case Received(sender, Unsubscribe() as message):
                self.outlet.unsubscribe(sender, message)
            case Received(sender, Want() as message):
                yield from self.outlet.want(sender, message, now)
            case Disconnected(peer):
                self.outlet.disconnected(peer)
            case _:
                pass

    def _forget(self) -> Iterator[Effect]:
        if self.outlet.forget(self.outlet.lowest_need):
            yield Truncate(self.stream, self.outlet.kept_from)
