"""Queries move to other nodes and get other versions while they run, one thing after the other (X9, L55, L58).

A move: the new replicas recover beside the old ones, as one that lost everything does, and once they are right all readers go over to
them; then the old ones end. Nothing is lost, as those before keep what the new ones need before they start, and nobody stops reading
from the old ones before others have what it needs next. Nothing is doubled: they are replicas like others, and a reader takes each
stable bucket once. Until the old ones end, what the new ones may need is kept as well. A change: see `changing`; a new replica begins
with what is decided by then.

What is decided is written down before it is said, and said until all whom it concerns know it; whoever of them is away delays what is
under way. What waits for somebody who will not come back can be given up: a move to its end, so that one whose new replica is dead can
be begun again with another; a change as long as not all have promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from auroral.dpc.changing import Change
from auroral.dpc.events import (
    Changed,
    Disconnected,
    Effect,
    Event,
    GiveUp,
    KeepLayout,
    Moved,
    MoveTo,
    Propose,
    Received,
    Report,
    Send,
    Started,
    WakeAt,
)
from auroral.dpc.layout import Layout, Phase, Topology, Wanted, Wiring, moved
from auroral.dpc.states import State
from auroral.dpc.switching import Offer
from auroral.dpc.values import Decided, Known, Ping, Pong, Promise, Rewire, Rewired
from auroral.dpc.versions import Decision

AGAIN = 0.5
"""Seconds until what was not answered is said again."""
PATIENT = 4
"""Questions after which whoever has not answered is away."""


@dataclass(slots=True)
class Reconfiguration:
    """With the catalog: one for all queries, as a move changes who its neighbours talk to."""

    topology: Topology
    layout: Layout
    change: Change | None = None
    """The one that is under way."""
    untold: dict[str, Wiring] = field(default_factory=dict)
    """Who has still to say that it knows the layout."""
    known: dict[str, Decision] = field(default_factory=dict)
    """What each replica said that it knows of the versions of its query."""
    offers: dict[str, tuple[int, Mapping[str, Offer]]] = field(default_factory=dict)
    """What replicas of the query that moves, old and new, answered last in this phase, and to which question."""
    asked: int = 0
    """How often they were asked."""
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
                self._ask_anew()
                self.change = self._resumed()
            case MoveTo(query, leaves, comes):
                planned = self.layout.planned(query)
                if moved(planned, leaves, comes) == planned:
                    yield Report(
                        "refused", query, detail=f"{leaves} cannot go to {comes}; there are {', '.join(planned)}"
                    )
                else:
                    yield from self._want(Wanted(query, leaves, comes))
            case Propose(query, inputs):
                if query not in self.layout.members:
                    yield Report("refused", query, detail=f"there is no query {query} to be changed")
                elif wrong := [stream for stream in inputs if not self._readable(query, stream)]:
                    detail = (
                        f"{query} cannot read {wrong[0]}: nobody gives it, or it is computed from what {query} gives"
                    )
                    yield Report("refused", query, detail=detail)
                else:
                    yield from self._want(Wanted(query, inputs=inputs))
            case GiveUp(query):
                yield from self._give_up(query)
            case Disconnected(peer):
                # It may come back, and begin with a layout that it had gone beyond.
                if (wiring := self.layout.wirings(self.topology).get(peer)) is not None:
                    self.untold[peer] = wiring
            case Received(sender, Rewired(number)):
                if number == self.layout.number:
                    self.untold.pop(sender, None)
            case Received(sender, Known(decision)):
                self.known[sender] = decision
            case Received(sender, Promise() as said):
                if self.change is not None:
                    self.change.promised(sender, said)
            case Received(sender, Pong(offers)):
                self.offers[sender] = (self.asked, offers)
            case _:
                pass

    def _want(self, wanted: Wanted) -> Iterator[Effect]:
        self.layout = replace(self.layout, wanted=(*self.layout.wanted, wanted))
        yield KeepLayout(self.layout)

    def _give_up(self, query: str) -> Iterator[Effect]:
        layout = self.layout
        if layout.moving == query and layout.phase is not Phase.READ and not layout.back:
            yield from self._decide(self._moved(layout.members))
        elif layout.moving == query and not layout.back:
            # Some have gone over: a move back. The old ones run, and keep for all readers what they need.
            members = {**layout.members, query: layout.after}
            following = replace(layout, number=layout.number + 1, members=members, after=layout.members[query])
            yield from self._decide(replace(following, phase=Phase.START, back=True))
        elif self.change is not None and self.change.query == query:
            # Those that promised are told that it is void.
            yield from self._decide(replace(self._with_attempt(self.change), changing=None))
        else:
            yield Report("refused", query, detail=f"nothing of {query} is under way that could be given up")

    def _step(self, now: float) -> Iterator[Effect]:
        while not self._waits and (following := self._following()) is not None:
            ended = self.layout.moving is not None and following.moving is None
            yield from self._decide(following)
            if ended:
                yield Moved(following.number)
        if self.change is not None and not self.layout.read_by_change(self.topology) & self.untold.keys():
            yield from self._go_on(self.change, now)
        if now >= self.said_at + AGAIN:
            self.said_at = now
            yield from self._say()

    def _say(self) -> Iterator[Effect]:
        for core, wiring in self.untold.items():
            yield Send(core, Rewire(self.layout.number, wiring))
        if self._starting:
            self.asked += 1
            yield from (Send(core, Ping({}, {})) for core in self.layout.running(self._starting))
        for query in self.layout.versions:
            decision = self._decision(query)
            for core in self.layout.running(query):
                if self.known.get(core) != decision:
                    yield Send(core, Decided(decision))
        if self.change is not None:
            yield from self.change.say()

    @property
    def _waits(self) -> bool:
        """Whether what is under way is not over yet, or a step of it."""
        awaited = self.layout.concerned(self.topology) & self.untold.keys()
        return bool(awaited or not self._all_right or self.layout.changing)

    @property
    def _starting(self) -> str | None:
        """The query whose new replicas are not read yet."""
        return self.layout.moving if self.layout.phase is Phase.START else None

    @property
    def _all_right(self) -> bool:
        """Whether the new replicas can take the place of the old ones: they answer, and lack no input that one of those has."""
        if self._starting is None:
            return True
        old = self.layout.members[self._starting]
        new = [core for core in self.layout.after if core not in old]
        # Who has not answered for a while is away.
        there = {core: offers for core, (to, offers) in self.offers.items() if self.asked - to <= PATIENT}
        if any(core not in there for core in new):
            return False
        lacking = {(stream, _lacks(offer)) for core in new for stream, offer in there[core].items()}
        said = [(stream, _lacks(offer)) for core in old for stream, offer in there.get(core, {}).items()]
        worse = any(one == stream and less < lacks for stream, lacks in lacking for one, less in said)
        heard = self.asked > PATIENT or all(core in there for core in old)
        return not worse and (heard or not any(lacks for _, lacks in lacking))

    def _following(self) -> Layout | None:
        match self.layout.moving, self.layout.phase:
            case None, _:
                return self._next()
            case str(query), Phase.READ:
                return self._moved({**self.layout.members, query: self.layout.after})
            case _, phase:
                return replace(self.layout, number=self.layout.number + 1, phase=Phase(phase + 1))

    def _moved(self, members: Mapping[str, tuple[str, ...]]) -> Layout:
        """With these, and nobody moves."""
        return replace(
            self.layout,
            members=members,
            number=self.layout.number + 1,
            moving=None,
            after=(),
            phase=Phase.PREPARE,
            back=False,
        )

    def _next(self) -> Layout | None:
        layout = self.layout
        for position, wanted in enumerate(layout.wanted, 1):
            query, rest = wanted.query, layout.wanted[position:]
            if not wanted.comes:
                versions = {**layout.versions, query: layout.decision(query)}
                reading = layout.with_inputs(self.topology, query, wanted.inputs)
                return replace(reading, changing=query, versions=versions, wanted=rest)
            # What it was to follow may have been given up.
            if (after := moved(layout.members[query], wanted.leaves, wanted.comes)) != layout.members[query]:
                return replace(layout, number=layout.number + 1, moving=query, after=after, wanted=rest)
        return None

    def _decide(self, layout: Layout) -> Iterator[Effect]:
        """And say it at once."""
        before, self.layout = self.layout, layout
        yield KeepLayout(layout)
        if layout.number != before.number:
            wired, after = before.wirings(self.topology), layout.wirings(self.topology)
            self.untold = {
                core: wiring for core, wiring in after.items() if core in self.untold or wired.get(core) != wiring
            }
            self._ask_anew()
        if layout.changing != before.changing:
            self.change = self._resumed()
        self.said_at = float("-inf")

    def _ask_anew(self) -> None:
        self.offers, self.asked = {}, 0

    # Another version

    def _readable(self, query: str, stream: str) -> bool:
        """Whether somebody gives the stream, and it is not made from what the query gives."""
        if stream in self.topology.sources:
            return True
        if not any(stream in outputs for outputs in self.topology.outputs.values()):
            return False
        made_by = self.topology.query_of(stream)
        read = {*self.layout.inputs(self.topology, made_by), *self._awaited_inputs(made_by)}
        return made_by != query and all(self._readable(query, one) for one in read)

    def _awaited_inputs(self, query: str) -> set[str]:
        """Of versions that wait for their turn."""
        return {stream for wanted in self.layout.wanted if wanted.query == query for stream in wanted.inputs}

    def _resumed(self) -> Change | None:
        query = self.layout.changing
        if query is None:
            return None
        decision = self.layout.decision(query)
        return Change(query, len(decision.starts), self.layout.members[query], decision.attempt)

    def _decision(self, query: str) -> Decision:
        """As it is told: the attempt that is under way is not void."""
        decision, change = self.layout.decision(query), self.change
        under_way = change is not None and change.query == query and change.asking
        return replace(decision, attempt=decision.attempt - 1) if under_way else decision

    def _go_on(self, change: Change, now: float) -> Iterator[Effect]:
        if (at := change.decided) is not None:
            starts = (*self.layout.decision(change.query).starts, at)
            versions = {**self.layout.versions, change.query: Decision(starts, change.attempt)}
            yield from self._decide(replace(self.layout, changing=None, versions=versions))
            yield Changed(change.query, change.version, at)
        elif change.goes_on(now):
            yield from self._decide(self._with_attempt(change))

    def _with_attempt(self, change: Change) -> Layout:
        """Before anything is asked: after a crash no attempt has the number of an earlier one, and all that were begun are void."""
        starts = self.layout.decision(change.query).starts
        return replace(self.layout, versions={**self.layout.versions, change.query: Decision(starts, change.attempt)})


def _lacks(offer: Offer) -> int:
    """Nothing, some of its inputs, or all of them."""
    return {State.UP_FAILURE: 1, State.FAILURE: 2}.get(offer.state, 0)
