"""Which replicas there are, and who talks to whom: all of it follows from the members of each query, and from a move under way. And
which versions of the queries there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from auroral.dpc.versions import Decision


@dataclass(frozen=True, slots=True)
class Wiring:
    """Who a core talks to."""

    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The replicas that each input can be read from."""
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """All replicas of all who may read each output."""
    peers: tuple[str, ...] = ()
    """Other replicas of the same query."""


@dataclass(frozen=True, slots=True)
class Topology:
    """What stays as it is: what queries read and give, where sources are given, what clients read."""

    inputs: Mapping[str, tuple[str, ...]]
    """By query."""
    outputs: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, str]
    """By stream, the core that gives it."""
    clients: Mapping[str, tuple[str, ...]]

    def query_of(self, stream: str) -> str:
        return next(query for query, outputs in self.outputs.items() if stream in outputs)


class Phase(IntEnum):
    """Of a move. Each begins when all whom the one before concerns have said that they know of it; of the rest it is enough that they are
    told."""

    PREPARE = 1
    """Who gives the inputs keeps what the new replicas will need."""
    START = 2
    """They run beside the old ones, and are mute until they are right. Readers may read from all of them."""
    READ = 3
    """The old ones are not read any more, by nobody who has not found all that it needs elsewhere."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of a query: another version, or, where it is said who, a replica in the place of one that leaves."""

    query: str
    leaves: str = ""
    comes: str = ""
    inputs: tuple[str, ...] = ()
    """What the version reads that the query did not read before."""


@dataclass(frozen=True, slots=True)
class Layout:
    members: Mapping[str, tuple[str, ...]]
    """The replicas of each query; of the one that moves, those before."""
    number: int = 0
    """Where others talk to one another, it is higher."""
    moving: str | None = None
    after: tuple[str, ...] = ()
    phase: Phase = Phase.PREPARE
    back: bool = False
    """Whether it moves back, as the move was given up when some might have gone over already."""
    changing: str | None = None
    """The query that gets another version."""
    versions: Mapping[str, Decision] = field(default_factory=dict)
    """Of queries that were changed, or are."""
    wanted: tuple[Wanted, ...] = ()
    """What waits for its turn."""
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By query, what later versions read besides what the first one does."""

    def inputs(self, topology: Topology, query: str) -> tuple[str, ...]:
        return (*topology.inputs[query], *self.added.get(query, ()))

    def with_inputs(self, topology: Topology, query: str, inputs: tuple[str, ...]) -> Layout:
        """Others talk to one another, where some of these are new."""
        known = self.inputs(topology, query)
        if not (new := tuple(stream for stream in inputs if stream not in known)):
            return self
        added = {**self.added, query: (*self.added.get(query, ()), *new)}
        return replace(self, number=self.number + 1, added=added)

    def planned(self, query: str) -> tuple[str, ...]:
        """Its members when all moves are done."""
        found = self.after if query == self.moving else self.members.get(query, ())
        for wanted in self.wanted:
            found = moved(found, wanted.leaves, wanted.comes) if wanted.query == query else found
        return found

    def decision(self, query: str) -> Decision:
        return self.versions.get(query, Decision())

    def running(self, query: str) -> tuple[str, ...]:
        return self._both(query) if query == self.moving and self.phase >= Phase.START else self.members[query]

    def kept_for(self, query: str) -> tuple[str, ...]:
        """Whose needs are kept by those that it reads from."""
        return self._both(query) if query == self.moving else self.members[query]

    def read_from(self, query: str) -> tuple[str, ...]:
        return self.after if query == self.moving and self.phase is Phase.READ else self.running(query)

    def _both(self, query: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.members[query], *self.after)))

    def concerned(self, topology: Topology) -> set[str]:
        """Without whose knowledge something would be lost. Not those that are to move away next: a machine that died may have replicas of
        several queries, which wait for one another."""
        if self.moving is None or self.phase is Phase.START:
            return set()
        if self.phase is Phase.PREPARE:
            read = self.inputs(topology, self.moving)
            near = {core for stream in read for core in self._producers(topology, stream)}
        else:
            near = {core for stream in topology.outputs[self.moving] for core in self._readers(topology, stream)}
        return near - {wanted.leaves for wanted in self.wanted}

    def read_by_change(self, topology: Topology) -> set[str]:
        """Those who must know that the version that is prepared reads more: who gives it keeps it from then on, and who reads it asks."""
        if self.changing is None or not (added := self.added.get(self.changing)):
            return set()
        given = {core for stream in added for core in self._producers(topology, stream)}
        return given.union(self.running(self.changing))

    # Who talks to whom

    @property
    def at_start(self) -> Layout:
        """As a core that comes back begins with it. While readers go over, it reads from all, and goes over itself when it has found that
        it can."""
        return replace(self, phase=Phase.START) if self.phase is Phase.READ else self

    def wirings(self, topology: Topology) -> dict[str, Wiring]:
        """By core."""
        found = {
            core: Wiring(readers={stream: self._readers(topology, stream)}) for stream, core in topology.sources.items()
        }
        for query in topology.inputs:
            read = {stream: self._producers(topology, stream) for stream in self.inputs(topology, query)}
            readers = {stream: self._readers(topology, stream) for stream in topology.outputs[query]}
            for core in self.running(query):
                found[core] = Wiring(read, readers, tuple(peer for peer in self.running(query) if peer != core))
        for client, streams in topology.clients.items():
            found[client] = Wiring({stream: self._producers(topology, stream) for stream in streams})
        return found

    def _producers(self, topology: Topology, stream: str) -> tuple[str, ...]:
        if stream in topology.sources:
            return (topology.sources[stream],)
        return self.read_from(topology.query_of(stream))

    def _readers(self, topology: Topology, stream: str) -> tuple[str, ...]:
        queries = [query for query in topology.inputs if stream in self.inputs(topology, query)]
        replicas = [core for query in queries for core in self.kept_for(query)]
        return (*replicas, *(client for client, streams in topology.clients.items() if stream in streams))


def moved(members: tuple[str, ...], leaves: str, comes: str) -> tuple[str, ...]:
    """As before where that cannot be."""
    if leaves not in members or comes in members:
        return members
    return tuple(comes if member == leaves else member for member in members)
