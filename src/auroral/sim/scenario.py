"""What a simulation runs: sources, replicated fragments and a client, and the faults that happen to them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.fragments import named_after
from auroral.dpc.layout import Layout, Topology
from auroral.dpc.settings import Settings
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import Decision, Reading
from auroral.sim.faults import CATALOG_HOST, RECONFIGURES, Fault
from auroral.sim.standin import content, fingerprint

CLIENT, CLIENT_HOST = "client", "c"
CATALOG = f"mover@{CATALOG_HOST}"
QUICK = 0.002
"""Seconds that a job takes longer for each further bucket, where that is next to nothing."""


class Fragment(Protocol):
    """What the replicas of a set compute: the stand-in's queries, or a diagram."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def streams(self) -> tuple[str, ...]: ...
    @property
    def outputs(self) -> tuple[OutputSpec, ...]: ...
    def evaluate(self, asked: Evaluate) -> Evaluated: ...


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    sources: tuple[str, ...]
    queries: tuple[Fragment, ...]
    replicas: Mapping[str, int]
    settings: Settings
    seconds: float
    """How long the sources give rows."""
    faults: tuple[Fault, ...] = ()
    job: float = 0.03
    """What a job takes, besides the time for each bucket and for each row that it reads."""
    job_bucket: float = QUICK
    job_row: float = 0.0
    failing_jobs: float = 0.0
    chunks: bool = False
    """Whether sources give part of a bucket before it is closed."""
    skews: Mapping[str, float] = field(default_factory=dict)
    """How much later than the others' a source's clock closes its buckets, in seconds."""
    clocks: Mapping[str, float] = field(default_factory=dict)
    """By how many seconds the clock of a host is ahead."""
    rows: Mapping[str, tuple[Content, ...]] | None = None
    """What the sources give, by bucket; drawn from the seed if left out."""
    durable: frozenset[str] = frozenset()
    """Queries whose replicas find what they kept when they come back; all others come back with nothing."""
    asked_for: tuple[str, ...] | None = None
    """What the client reads; the streams that no query reads, if left out."""
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The hosts of a query's replicas, which other queries may have replicas on; if left out, hosts of its own named after it."""
    later: Mapping[str, tuple[Fragment, ...]] = field(default_factory=dict)
    """Of queries, what they are changed to, one after the other; from then on, and of others, each version computes the same. They give
    the same streams, and read what comes before them in `queries`."""

    @property
    def buckets(self) -> int:
        return int(self.seconds / self.settings.bucket)

    @property
    def shortest_job(self) -> float:
        """Seconds, of one for a single bucket."""
        return self.job + self.job_bucket

    @property
    def streams(self) -> tuple[str, ...]:
        return (*self.sources, *(stream for query in self.queries for stream in query.streams))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Streams that the client reads."""
        if self.asked_for is not None:
            return self.asked_for
        read = {name for query in self.queries for name in query.inputs}
        return tuple(stream for query in self.queries for stream in query.streams if stream not in read)

    @property
    def hosts(self) -> tuple[str, ...]:
        nodes = dict.fromkeys(host(name) for q in self.queries for name in self.replica_names(q))
        return (*self.sources, *nodes, CLIENT_HOST, *([CATALOG_HOST] if self.reconfigured else []))

    @property
    def moves(self) -> list[Fault]:
        return [fault for fault in self.faults if fault.verb == "move"]

    @property
    def reconfigured(self) -> bool:
        return any(fault.verb in RECONFIGURES for fault in self.faults)

    def versions(self, query: Fragment) -> tuple[Fragment, ...]:
        return (query, *self.later.get(query.name, ()))

    def version(self, query: Fragment, number: int) -> Fragment:
        versions = self.versions(query)
        return versions[min(number, len(versions) - 1)]

    def ever_read(self, query: Fragment) -> tuple[str, ...]:
        """By any version."""
        return tuple(dict.fromkeys(name for version in self.versions(query) for name in version.inputs))

    def readings(self, query: Fragment, known: int) -> dict[int, dict[str, Reading]]:
        """Of so many versions, those that are to be told of."""
        return {
            number: {one.stream: Reading(one.reads, one.required) for one in version.outputs}
            for number, version in enumerate(self.later.get(query.name, ()), 1)
            if number <= known
        }

    @property
    def specs(self) -> dict[str, OutputSpec]:
        """By output: what it is computed from, by any of its versions, and what it cannot do without in one of them."""
        found: dict[str, OutputSpec] = {}
        for query in self.queries:
            for version in self.versions(query):
                for one in version.outputs:
                    before = found.get(one.stream, one)
                    names = dict.fromkeys((*before.reads, *one.reads))
                    reads = {name: max(before.reads.get(name, 0), one.reads.get(name, 0)) for name in names}
                    required = tuple(dict.fromkeys((*before.required, *one.required)))
                    found[one.stream] = replace(before, reads=reads, required=required)
        return found

    def query_of(self, stream: str) -> Fragment:
        return next(query for query in self.queries if stream in query.streams)

    def members(self, query: Fragment) -> tuple[str, ...]:
        """The replicas that it begins with."""
        hosts = self.nodes.get(query.name) or named_after(query.name, self.replicas[query.name])
        return tuple(f"{query.name}@{where}" for where in hosts)

    def replica_names(self, query: Fragment) -> tuple[str, ...]:
        """All that it ever has."""
        found = dict.fromkeys(self.members(query))
        for move in self.moves:
            leaves, comes = (f"{query.name}@{where}" for where in move.places)
            if leaves in found:
                found[comes] = None
        return tuple(found)

    @property
    def topology(self) -> Topology:
        return Topology(
            {query.name: query.inputs for query in self.queries},
            {query.name: query.streams for query in self.queries},
            {source: self.names(source)[0] for source in self.sources},
            {CLIENT: self.outputs},
        )

    @property
    def layout(self) -> Layout:
        """That it begins with."""
        return Layout({query.name: self.members(query) for query in self.queries})

    def names(self, stream: str) -> tuple[str, ...]:
        """The cores that give a stream."""
        if stream in self.sources:
            return (f"{stream}@{stream}",)
        return self.replica_names(self.query_of(stream))

    def readers(self, stream: str) -> tuple[str, ...]:
        found = [name for q in self.queries if stream in self.ever_read(q) for name in self.replica_names(q)]
        return (*found, *([CLIENT] if stream in self.outputs else []))

    def computed_from(self, stream: str) -> tuple[str, ...]:
        """The sources of a stream."""
        if stream in self.sources:
            return (stream,)
        return self._sources_of(self.specs[stream].reads)

    def always_computed_from(self, stream: str) -> set[str]:
        """The sources of all of its versions."""
        if stream in self.sources:
            return {stream}
        given = [one for version in self.versions(self.query_of(stream)) for one in version.outputs]
        each = [
            {s for name in one.reads for s in self.always_computed_from(name)} for one in given if one.stream == stream
        ]
        return set.intersection(*each)

    def _sources_of(self, read: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({source for name in read for source in self.computed_from(name)}))

    @property
    def links(self) -> list[tuple[str, str]]:
        """Hosts that talk with one another: about streams, or as replicas of one query."""
        found = [(host(a), host(b)) for s in self.streams for a in self.names(s) for b in self.readers(s)]
        for query in self.queries:
            names = self.replica_names(query)
            found += [(host(a), host(b)) for a in names for b in names if a < b]
        return [(one, other) for one, other in dict.fromkeys(found) if one != other]

    def row_content(self, source: str, bucket: int) -> Content:
        if self.rows is not None:
            return self.rows[source][bucket]
        draw = random.Random(fingerprint(self.seed, self.sources.index(source), bucket))
        return content(tuple(draw.getrandbits(40) for _ in range(draw.randrange(4))))

    def expected(self, versions: Mapping[str, Decision] | None = None) -> dict[str, list[Content]]:
        """Every stream, without failures and without the protocol, by these versions of the queries."""
        streams = {s: [self.row_content(s, bucket) for bucket in range(self.buckets)] for s in self.sources}
        for query in self.queries:
            view = {name: dict(enumerate(streams[name])) for name in self.ever_read(query)}
            starts = (versions or {}).get(query.name, Decision()).starts
            cuts = [min(start, self.buckets) for start in (*starts, self.buckets)]
            states: dict[str, Snapshot] = {}
            for version, (begin, end) in enumerate(pairwise(cuts)):
                asked = Evaluate(0, query.streams, begin, end, view, False, version, states)
                made = self.version(query, version).evaluate(asked)
                states = {stream: Snapshot(end, state) for stream, state in made.states.items()}
                for stream, contents in made.contents.items():
                    streams.setdefault(stream, []).extend(contents)
        return streams


def host(core: str) -> str:
    return CLIENT_HOST if core == CLIENT else core.split("@")[1]
