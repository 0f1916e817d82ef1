"""A query moves to other nodes while it runs (X9, L55): its new replicas recover beside the old ones, as one that lost everything does,
and once they are right all readers go over to them; then the old ones end.

Nothing is lost, as those before keep what the new ones need before they start, and nobody stops reading from the old ones before others
have what it needs next. Nothing is doubled: they are replicas like others, and a reader takes each stable bucket once. What is decided is
written down before it is said, and said until all whom it concerns know it; whoever of them is away delays the move. Until the old ones
end, what the new ones may need is kept as well. A move that waits for somebody who will not come back can be given up, as long as
the old replicas are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from auroral.dpc.events import (
    Effect,
    Event,
    GiveUpMove,
    KeepLayout,
    Moved,
    MoveTo,
    Received,
    Report,
    Send,
    Started,
    WakeAt,
)
from auroral.dpc.layout import Layout, Phase, Topology, Wiring, moved
from auroral.dpc.values import Ping, Pong, Rewire, Rewired

AGAIN = 0.5
"""Seconds until what was not answered is said again."""


@dataclass(slots=True)
class Mover:
    """With the catalog: one for all queries, as a move changes who its neighbours talk to."""

    topology: Topology
    layout: Layout
    untold: dict[str, Wiring] = field(default_factory=dict)
    """Who has still to say that it knows the layout."""
    not_right: set[str] = field(default_factory=set)
    """New replicas that have not answered yet."""
    said_at: float = float("-inf")

    def handle(self, event: Event, now: float) -> list[Effect]:
        return [*self._take(event), *self._step(now), WakeAt(now + AGAIN)]

    def _take(self, event: Event) -> Iterator[Effect]:
        match event:
            case Started(layout=layout):
                if layout is not None:
                    self.layout = layout
                # Who knows of it may be told again.
                self.untold = self.layout.wirings(self.topology)
                self._await_new()
            case MoveTo(query, leaves, comes):
                planned = self.layout.planned(query)
                if moved(planned, leaves, comes) == planned:
                    yield Report(
                        "refused", query, detail=f"{leaves} cannot go to {comes}; there are {', '.join(planned)}"
                    )
                else:
                    self.layout = replace(self.layout, wanted=(*self.layout.wanted, (query, leaves, comes)))
                    yield KeepLayout(self.layout)
            case GiveUpMove():
                if self.layout.moving is not None and self.layout.phase is not Phase.READ:
                    yield from self._decide(
                        Layout(self.layout.members, self.layout.number + 1, wanted=self.layout.wanted)
                    )
                    self.said_at = float("-inf")
            case Received(sender, Rewired(number)):
                if number == self.layout.number:
                    self.untold.pop(sender, None)
            case Received(sender, Pong()):
                self.not_right.discard(sender)
            case _:
                pass

    def _step(self, now: float) -> Iterator[Effect]:
        while not self._awaited and not self.not_right and (following := self._following()) is not None:
            ended = self.layout.moving is not None and following.moving is None
            yield from self._decide(following)
            if ended:
                yield Moved(following.number)
            self.said_at = float("-inf")
        if now >= self.said_at + AGAIN:
            self.said_at = now
            for core, wiring in self.untold.items():
                yield Send(core, Rewire(self.layout.number, wiring))
            for core in sorted(self.not_right):
                yield Send(core, Ping({}, {}))

    @property
    def _awaited(self) -> set[str]:
        return self.layout.concerned(self.topology) & self.untold.keys()

    def _following(self) -> Layout | None:
        layout, number = self.layout, self.layout.number + 1
        match layout.moving, layout.phase:
            case None, _:
                return self._next_move()
            case str(query), Phase.READ:
                return Layout({**layout.members, query: layout.after}, number, wanted=layout.wanted)
            case _, _:
                return replace(layout, number=number, phase=Phase(layout.phase + 1))

    def _next_move(self) -> Layout | None:
        layout = self.layout
        for position, (query, leaves, comes) in enumerate(layout.wanted):
            # What it was to follow may have been given up.
            if (after := moved(layout.members[query], leaves, comes)) != layout.members[query]:
                rest = layout.wanted[position + 1 :]
                return Layout(layout.members, layout.number + 1, query, after, Phase.PREPARE, rest)
        return None

    def _decide(self, layout: Layout) -> Iterator[Effect]:
        before = self.layout.wirings(self.topology)
        self.layout = layout
        yield KeepLayout(layout)
        after = layout.wirings(self.topology)
        self.untold = {
            core: wiring for core, wiring in after.items() if core in self.untold or before.get(core) != wiring
        }
        self._await_new()

    def _await_new(self) -> None:
        new = set(self.layout.after) - set(self.layout.members.get(self.layout.moving or "", ()))
        self.not_right = new if self.layout.phase is Phase.START and self.layout.moving is not None else set()
