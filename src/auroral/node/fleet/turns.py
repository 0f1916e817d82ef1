"""Who asked whom to be let correct, and what it was answered, as events: replicas of a query do not all correct at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auroral.dpc.events import Disconnected, Effect, Event, Received, Send
from auroral.dpc.values import Ask, Grant, Refuse, Release
from auroral.node.fleet.eventlog import EventLog

_WORDS: Mapping[type, str] = {Ask: "asks", Grant: "grants", Refuse: "refuses", Release: "gives back"}


class Turns:
    def __init__(self, events: EventLog):
        self.events = events
        self._last: dict[tuple[str, str], str] = {}
        """By who said it and to whom."""

    def saw(self, core: str, effect: Effect) -> None:
        said = _WORDS.get(type(effect.message)) if isinstance(effect, Send) else None
        # Who waits for its turn asks again and again.
        if isinstance(effect, Send) and said is not None and self._last.get((core, effect.to)) != said:
            self._last[core, effect.to] = said
            self.events.note(said, core=core, peer=effect.to)

    def heard(self, core: str, event: Event, _: Sequence[Effect]) -> None:
        """A turn that was given back, or whose owner is gone, is over: what is said of the next one is said of another."""
        match event:
            case Received(peer, Release()) | Disconnected(peer):
                self._last.pop((core, peer), None)
            case _:
                pass
