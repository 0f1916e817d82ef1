"""What a simulation runs: sources, replicated queries and a client, and the faults that happen to them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from auroral.dpc.client import Client
from auroral.dpc.events import Evaluate, Logged
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.values import Content
from auroral.sim.faults import Fault
from auroral.sim.standin import Kind, Query, content, fingerprint
from auroral.sim.world import World

CLIENT, CLIENT_HOST = "client", "c"
QUIET = 30.0
"""Virtual seconds after the last fault in which everything must have healed."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that a job takes: to begin, for each bucket, for each row that it reads."""

    begin: float = 0.03
    bucket: float = 0.002
    row: float = 0.0

    def of(self, job: Evaluate) -> float:
        rows = sum(content.count for contents in job.view.values() for content in contents.values()) if self.row else 0
        return self.begin + self.bucket * (job.end - job.begin) + self.row * rows


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    sources: tuple[str, ...]
    queries: tuple[Query, ...]
    replicas: Mapping[str, int]
    settings: Settings
    seconds: float
    """How long the sources give rows."""
    faults: tuple[Fault, ...] = ()
    rows: int | None = None
    """Of each source in each bucket; None for a few, drawn."""
    costs: Costs = Costs()

    @property
    def buckets(self) -> int:
        return int(self.seconds / self.settings.bucket)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Streams that no query reads."""
        read = {name for query in self.queries for name in query.inputs}
        return tuple(query.stream for query in self.queries if query.stream not in read)

    @property
    def hosts(self) -> tuple[str, ...]:
        return (*self.sources, *(host(name) for q in self.queries for name in self.names(q.stream)), CLIENT_HOST)

    def names(self, stream: str) -> tuple[str, ...]:
        """The cores that give a stream."""
        if stream in self.sources:
            return (f"{stream}@{stream}",)
        query = stream.removesuffix(".out")
        return tuple(f"{query}@{query}{chr(ord('a') + i)}" for i in range(self.replicas[query]))

    def readers(self, stream: str) -> tuple[str, ...]:
        found = [name for query in self.queries if stream in query.inputs for name in self.names(query.stream)]
        return (*found, *([CLIENT] if stream in self.outputs else []))

    def computed_from(self, stream: str) -> tuple[str, ...]:
        """The sources of a stream."""
        if stream in self.sources:
            return (stream,)
        query = next(query for query in self.queries if query.stream == stream)
        return tuple(sorted({source for name in query.inputs for source in self.computed_from(name)}))

    @property
    def links(self) -> list[tuple[str, str]]:
        """Hosts that talk with one another."""
        streams = [*self.sources, *(query.stream for query in self.queries)]
        return [(host(a), host(b)) for s in streams for a in self.names(s) for b in self.readers(s)]

    def row_content(self, source: str, bucket: int) -> Content:
        draw = random.Random(fingerprint(self.seed, self.sources.index(source), bucket))
        count = draw.randrange(4) if self.rows is None else self.rows
        return content(tuple(draw.getrandbits(40) for _ in range(count)))

    def expected(self) -> dict[str, list[Content]]:
        """Every stream, without failures and without the protocol."""
        streams = {s: [self.row_content(s, bucket) for bucket in range(self.buckets)] for s in self.sources}
        for query in self.queries:
            view = {name: dict(enumerate(streams[name])) for name in query.inputs}
            asked = Evaluate(0, (query.stream,), 0, self.buckets, view, False)
            streams[query.stream] = list(query.evaluate(asked)[query.stream])
        return streams


def host(core: str) -> str:
    return CLIENT_HOST if core == CLIENT else core.split("@")[1]


@dataclass(slots=True)
class Stage:
    """A scenario with its cores in a world."""

    scenario: Scenario
    world: World = field(init=False)
    silent: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    """Sources that give rows and do not close buckets."""
    unsaid: dict[str, list[int]] = field(default_factory=dict)
    """Buckets that a source could not log, or could not close."""

    def __post_init__(self) -> None:
        scenario = self.scenario
        by_core = {name: query.evaluate for query in scenario.queries for name in scenario.names(query.stream)}
        self.world = World(scenario.seed, by_core, scenario.costs.of)
        for source in scenario.sources:
            self.unsaid[source] = []
            self.world.start(*self._source(source))
        for query in scenario.queries:
            for name in scenario.names(query.stream):
                self.world.start(name, self._replica(query, name), host(name))
        streams = {stream: scenario.names(stream) for stream in scenario.outputs}
        self.world.start(CLIENT, Client(CLIENT, streams, scenario.settings), CLIENT_HOST)
        for position, source in enumerate(scenario.sources):
            for bucket in range(scenario.buckets):
                time = (bucket + 1) * scenario.settings.bucket + 0.01 * position
                self.world.at(time, lambda source=source, bucket=bucket: self._log(source, bucket))  # type: ignore[misc]
        for fault in scenario.faults:
            self.world.at(fault.at, lambda fault=fault: self.happen(fault))  # type: ignore[misc]

    def _source(self, stream: str) -> tuple[str, Source, str]:
        return (
            self.scenario.names(stream)[0],
            Source(stream, self.scenario.readers(stream)),
            stream,
        )

    def _replica(self, query: Query, name: str, recovering: bool = False) -> Replica:
        scenario = self.scenario
        inputs = {stream: scenario.names(stream) for stream in query.inputs}
        outputs = {query.stream: query.output(scenario.readers(query.stream))}
        sources = {stream: scenario.computed_from(stream) for stream in query.inputs}
        peers = tuple(other for other in scenario.names(query.stream) if other != name)
        spec = ReplicaSpec(name, inputs, sources, outputs, peers)
        return Replica(spec, scenario.settings, recovering)

    def _log(self, source: str, bucket: int) -> None:
        closed = source not in self.silent and source not in self.open
        if not closed:
            self.unsaid[source].append(bucket)
        if source not in self.silent:
            self._say(source, bucket, closed)

    def _say(self, source: str, bucket: int, closed: bool) -> None:
        told = Logged(bucket, self.scenario.row_content(source, bucket), closed)
        self.world.tell(self.scenario.names(source)[0], told)

    def happen(self, fault: Fault) -> None:
        match fault.verb:
            case "cut":
                self.world.cut(*fault.places)
            case "heal":
                self.world.heal(*fault.places)
            case "crash":
                self.world.crash(*fault.places)
            case "restart":
                self._restart(fault.places[0])
            case "silence":
                self.silent.add(fault.places[0])
            case "open":
                self.open.add(fault.places[0])
            case "resume" | "close":
                self._resume(fault.places[0])

    def _resume(self, source: str) -> None:
        self.silent.discard(source)
        self.open.discard(source)
        for bucket in self.unsaid[source]:
            self._say(source, bucket, closed=True)
        self.unsaid[source].clear()

    def _restart(self, where: str) -> None:
        for query in self.scenario.queries:
            for name in self.scenario.names(query.stream):
                if host(name) == where and name not in self.world.cores:
                    self.world.start(name, self._replica(query, name, recovering=True), where)


def random_scenario(seed: int) -> Scenario:
    draw = random.Random(seed)
    sources = tuple(f"s{i}" for i in range(3))
    free = [*sources]
    queries: list[Query] = []
    for i in range(4):
        kind = draw.choice(list(Kind))
        count = 1 if kind in (Kind.FILTER, Kind.WINDOW) else 2
        inputs = [free.pop(draw.randrange(len(free))) for _ in range(min(count, len(free)))]
        everything = [*sources, *(q.stream for q in queries)]
        while len(inputs) < count:
            other = draw.choice(everything)
            if other not in inputs:
                inputs.append(other)
        queries.append(
            Query(f"q{i}", kind, tuple(inputs), draw.randint(2, 5) if kind in (Kind.WINDOW, Kind.JOIN) else 1)
        )
        free.append(queries[-1].stream)
    settings = Settings(bucket=draw.choice((0.25, 0.5)), bound=draw.choice((2.5, 3.0, 5.0)))
    seconds = float(draw.randint(60, 120))
    replicas = {query.name: draw.randint(2, 3) for query in queries}
    calm = Scenario(seed, sources, tuple(queries), replicas, settings, seconds)
    return replace(calm, faults=random_faults(draw, calm))


def random_faults(draw: random.Random, scenario: Scenario) -> tuple[Fault, ...]:
    found: list[Fault] = []
    last = scenario.seconds - QUIET
    nodes = [h for h in scenario.hosts if h not in scenario.sources and h != CLIENT_HOST]
    busy: dict[tuple[str, ...], float] = {}
    for _ in range(draw.randint(3, 10)):
        begin = round(draw.uniform(2, last - 1), 1)
        end = round(min(last, begin + draw.choice((0.2, 1, 3, 8, 20)) * draw.uniform(0.5, 1.5)), 1)
        kind = draw.choice(("link", "link", "host", "crash", "silence"))
        if kind == "link":
            places: tuple[str, ...] = draw.choice(scenario.links)
        elif kind == "silence":
            places = (draw.choice(scenario.sources),)
        else:
            places = (draw.choice(nodes),)
        verbs = {
            "link": ("cut", "heal"),
            "host": ("cut", "heal"),
            "crash": ("crash", "restart"),
            "silence": ("silence", "resume"),
        }
        key = (verbs[kind][0], *sorted(places))
        if busy.get(key, -1) >= begin or end <= begin:
            continue
        busy[key] = end
        found += [Fault(begin, verbs[kind][0], places), Fault(end, verbs[kind][1], places)]
    return tuple(sorted(found))
