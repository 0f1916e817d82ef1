"""A query moves to other nodes while it runs (X9, L55): its new replicas recover beside the old ones, as one that lost everything does,
and once they are right all readers go over to them; then the old ones end.

Nothing is lost, as those before keep what the new ones need before they start, and nobody stops reading from the old ones but for
those that are right. Nothing is doubled: they are replicas like others, and a reader takes each stable bucket once. What is decided is
written down before it is said, and said until all whom it concerns know it; whoever of them is away delays the move, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from auroral.dpc.events import Effect, Event, KeepLayout, Moved, MoveTo, Received, Send, Started, WakeAt
from auroral.dpc.layout import Layout, Phase, Topology, Wiring
from auroral.dpc.values import Ping, Pong, Rewire, Rewired

AGAIN = 0.5
"""Seconds until what was not answered is said again."""


@dataclass(slots=True)
class Mover:
    """With the catalog: one for all queries, as a move changes who its neighbours talk to."""

    topology: Topology
    layout: Layout
    wanted: list[MoveTo] = field(default_factory=list)
    """Moves that wait for their turn."""
    untold: dict[str, Wiring] = field(default_factory=dict)
    """Who has still to say that it knows the layout."""
    not_right: set[str] = field(default_factory=set)
    """New replicas that have not answered yet."""
    said_at: float = float("-inf")

    def handle(self, event: Event, now: float) -> list[Effect]:
        self._take(event)
        return [*self._step(now), WakeAt(now + AGAIN)]

    def _take(self, event: Event) -> None:
        match event:
            case Started(layout=layout):
                if layout is not None:
                    self.layout = layout
                # Who knows of it may be told again.
                self.untold = self.layout.wirings(self.topology)
                self._await_new()
            case MoveTo():
                self.wanted.append(event)
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
                return Layout({**layout.members, query: layout.after}, number)
            case _, _:
                return replace(layout, number=number, phase=Phase(layout.phase + 1))

    def _next_move(self) -> Layout | None:
        while self.wanted:
            wanted = self.wanted.pop(0)
            members = self.layout.members.get(wanted.query, ())
            # It may have gone since it was asked for.
            if wanted.leaves in members and wanted.comes not in members:
                after = tuple(wanted.comes if member == wanted.leaves else member for member in members)
                number = self.layout.number + 1
                return Layout(self.layout.members, number, wanted.query, after, Phase.PREPARE)
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
