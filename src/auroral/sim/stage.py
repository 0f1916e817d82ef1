"""A scenario with its cores in a world: sources log, faults happen, what was down comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from auroral.dpc.client import Client
from auroral.dpc.coverage import Level
from auroral.dpc.events import (
    Effect,
    Evaluate,
    Evaluated,
    GiveUp,
    Keep,
    KeepLayout,
    Learned,
    Logged,
    MoveTo,
    Pause,
    Propose,
)
from auroral.dpc.keeping import must_have_room
from auroral.dpc.layout import Layout, Wiring, moved
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.source import Source
from auroral.dpc.values import Content
from auroral.dpc.versions import Plan
from auroral.sim.faults import CATALOG_HOST, OF_QUERIES, OF_SOURCES, RECONFIGURES, Fault, WrongSchedule
from auroral.sim.lineage import Lineage
from auroral.sim.scenario import CATALOG, CLIENT, CLIENT_HOST, Fragment, Scenario, host
from auroral.sim.standin import content
from auroral.sim.world import World


@dataclass(slots=True)
class Stage:
    scenario: Scenario
    world: World = field(init=False)
    silent: set[str] = field(default_factory=set)
    unsaid: dict[str, list[int]] = field(default_factory=dict)
    """Buckets that a source could not log while it was away, or had no room for."""
    paused: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    """Sources that give rows and do not close buckets."""
    queries: dict[str, Fragment] = field(default_factory=dict)
    """By core."""
    layout: Layout = field(init=False)
    """As the catalog wrote it down last."""
    moves: list[MoveTo] = field(default_factory=list)
    """That the catalog was asked for."""
    changes: list[str] = field(default_factory=list)
    """Of queries: that the catalog was asked for."""
    proposed: dict[str, int] = field(default_factory=dict)
    """By query, the highest version that anybody asked for."""
    down: set[str] = field(default_factory=set)
    """Hosts."""
    emptied: set[str] = field(default_factory=set)
    """Replicas whose disks were once lost."""
    lineage: Lineage = field(init=False)
    seen: Callable[[Fault], None] | None = None
    """Called after each fault."""
    came: Callable[[str], None] | None = None
    """Called when a replica begins with nothing, or comes back."""

    def __post_init__(self) -> None:
        scenario = self.scenario
        # Windows of several queries add up.
        must_have_room(scenario.specs, scenario.settings)
        self.queries = {name: query for query in scenario.queries for name in scenario.replica_names(query)}
        self.layout = scenario.layout
        self.lineage = Lineage({stream: scenario.computed_from(stream) for stream in scenario.streams})
        self.world = World(
            scenario.seed, self.evaluate, self._job_seconds, scenario.failing_jobs, dict(scenario.clocks)
        )
        self.world.others += [self._pause, self._place]
        for source in scenario.sources:
            self.unsaid[source] = []
            self._start_source(source)
        for query in scenario.queries:
            for name in self.layout.running(query.name):
                self.world.start(name, self._replica(name), host(name))
        self.world.start(CLIENT, self._client(), CLIENT_HOST)
        if scenario.reconfigured:
            self._start_catalog()
        for position, source in enumerate(scenario.sources):
            late = scenario.skews.get(source, 0.01 * position)
            for bucket in range(scenario.buckets):
                time = (bucket + 1) * scenario.settings.bucket + late
                self.world.at(time, partial(self._log, source, bucket))
                if scenario.chunks:
                    self.world.at(time - scenario.settings.bucket / 3, partial(self._log_part, source, bucket))
        for fault in scenario.faults:
            if fault.verb in OF_SOURCES and fault.places[0] not in scenario.sources:
                raise WrongSchedule(f"{fault}: {fault.places[0]} is no source; there are {', '.join(scenario.sources)}")
            if fault.verb == "move":
                self._check_move(fault)
            if fault.verb == "destroy" and (wrong := set(fault.places) - set(map(host, self.queries))):
                raise WrongSchedule(
                    f"{fault}: there is no replica on {min(wrong)}; next: crash it: the log of a source, and what clients and the "
                    "catalog wrote down, is what everything is recovered from"
                )
            if fault.verb in OF_QUERIES and fault.places[0] not in (
                names := [query.name for query in scenario.queries]
            ):
                raise WrongSchedule(f"{fault}: there is no query {fault.places[0]}; there are {', '.join(names)}")
            if fault.verb in RECONFIGURES and CATALOG_HOST in {*scenario.sources, *map(host, self.queries)}:
                raise WrongSchedule(
                    f"{fault}: {CATALOG_HOST} is the host of who moves replicas and changes queries; next: rename the input or node"
                )
            if fault.at > scenario.seconds:
                raise WrongSchedule(f"{fault}: the run ends at {scenario.seconds:g} s")
            self.world.at(fault.at, partial(self.happen, fault))

    def evaluate(self, name: str, job: Evaluate) -> Evaluated:
        query, core = self.queries[name], self.world.cores[name]
        assert isinstance(core, Replica)
        version = self.scenario.version(query, job.version)
        result = version.evaluate(job)
        final = {stream: union.fold.stable for stream, union in core.unions.items() if union.fold is not None}
        self.lineage.evaluated(name, {one.stream: one for one in version.outputs}, core.ports, job, result, final)
        return result

    def _job_seconds(self, job: Evaluate) -> float:
        scenario = self.scenario
        rows = sum(c.count for view in job.view.values() for c in view.values()) if scenario.job_row else 0
        return scenario.job + scenario.job_bucket * (job.end - job.begin) + scenario.job_row * rows

    def _start_source(self, stream: str) -> None:
        name = self.scenario.names(stream)[0]
        self.world.start(name, Source(stream, self._wiring(name).readers[stream], self.scenario.settings), stream)

    def _start_catalog(self) -> None:
        self.world.start(CATALOG, Reconfiguration(self.scenario.topology, self.scenario.layout), CATALOG_HOST)

    def _wiring(self, core: str) -> Wiring:
        return self.layout.at_start.wirings(self.scenario.topology)[core]

    def _replica(self, name: str, recovering: bool = False) -> Replica:
        scenario, query, wiring = self.scenario, self.queries[name], self._wiring(name)
        outputs = {output.stream: replace(output, readers=wiring.readers[output.stream]) for output in query.outputs}
        sources = {stream: scenario.computed_from(stream) for stream in scenario.ever_read(query)}
        durable = query.name in scenario.durable
        readings = scenario.readings(query, self.proposed.get(query.name, 0))
        spec = ReplicaSpec(name, wiring.inputs, sources, outputs, wiring.peers, durable, readings)
        return Replica(spec, scenario.settings, recovering)

    def _client(self) -> Client:
        return Client(CLIENT, self._wiring(CLIENT).inputs, self.scenario.settings)

    @property
    def rests(self) -> bool:
        """Whether everything is stable everywhere, and nothing is to move or to change."""
        cores, wanted = self.world.cores.values(), self.scenario.buckets
        made = [outlet.frontier for core in cores if isinstance(core, Replica) for outlet in core.outlets.values()]
        read = [port.frontier for core in cores if isinstance(core, Client) for port in core.ports.values()]
        reconfigures = self.layout.moving or self.layout.changing or self.layout.wanted
        return not reconfigures and min([*made, *read]) >= wanted

    # Moves

    def _place(self, now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, KeepLayout):
            self.layout = effect.layout
            self.world.at(now, self._start_and_stop)

    def _start_and_stop(self) -> None:
        running = {name for query in self.scenario.queries for name in self.layout.running(query.name)}
        for name in self.queries:
            if name in running and name not in self.world.cores and host(name) not in self.down:
                self._come_back(name)
            elif name not in running:
                if name in self.world.cores:
                    self.world.end(name)
                # If it is ever started again, it is new.
                self.world.disks.throw_away(name)

    def _come_back(self, name: str) -> None:
        if self.queries[name].name not in self.scenario.durable:
            self.world.disks.lose(name)
        # Who is new is told by the catalog.
        decided = Plan(self.layout.decision(self.queries[name].name).starts)
        self.world.start(name, self._replica(name, recovering=True), host(name), decided)
        if self.came is not None:
            self.came(name)

    def _check_move(self, fault: Fault) -> None:
        leaves, comes = fault.places
        nodes = {host(name) for name in self.queries}
        if leaves not in nodes:
            raise WrongSchedule(
                f"{fault}: there is no replica on {leaves}; there are some on {', '.join(sorted(nodes))}"
            )
        if comes in {*self.scenario.sources, CLIENT_HOST, CATALOG_HOST, leaves}:
            raise WrongSchedule(f"{fault}: no replica can go to {comes}; next: name another node, or a new one")

    def _move(self, leaves: str, comes: str) -> None:
        for query in self.scenario.queries:
            if f"{query.name}@{leaves}" in self.scenario.replica_names(query) and CATALOG in self.world.cores:
                wanted = MoveTo(query.name, f"{query.name}@{leaves}", f"{query.name}@{comes}")
                planned = self.layout.planned(query.name)
                if moved(planned, wanted.leaves, wanted.comes) != planned:
                    self.moves.append(wanted)
                self.world.tell(CATALOG, wanted)

    def _change(self, query: str) -> None:
        if CATALOG not in self.world.cores:
            return
        self.changes.append(query)
        layout, first = self.layout, next(one for one in self.scenario.queries if one.name == query)
        waiting = sum(one.query == query and not one.comes for one in layout.wanted)
        number = len(layout.decision(query).starts) + (layout.changing == query) + waiting
        self.proposed[query] = max(number, self.proposed.get(query, 0))
        if (reading := self.scenario.readings(first, number).get(number)) is not None:
            for name in layout.running(query):
                self.world.tell(name, Learned(number, reading))
        new = tuple(name for name in self.scenario.version(first, number).inputs if name not in first.inputs)
        self.world.tell(CATALOG, Propose(query, new))

    def _abandon(self, query: str) -> None:
        if CATALOG in self.world.cores:
            under_way = self.layout
            if under_way.moving == query and not under_way.back:
                self.moves.remove(next(move for move in self.moves if move.query == query and _is(move, under_way)))
            elif under_way.changing == query:
                self.changes.remove(query)
            self.world.tell(CATALOG, GiveUp(query))

    # Sources

    def _log(self, source: str, bucket: int) -> None:
        if source in self.open and not self._away(source):
            self._say_part(source, bucket, self.scenario.row_content(source, bucket))
        self.unsaid[source].append(bucket)
        self._say_what_was_missed(source)

    def _log_part(self, source: str, bucket: int) -> None:
        whole = self.scenario.row_content(source, bucket)
        if not self._away(source) and not self.unsaid[source] and whole.count > 1:
            self._say_part(source, bucket, content(whole.rows[:-1]))

    def _say_part(self, source: str, bucket: int, rows: Content) -> None:
        # Not the content that the whole bucket may be, which is another one to the lineage.
        part = replace(rows)
        self.lineage.add(source, bucket, part, {(source, bucket): Level.PARTIAL})
        self.world.tell(self.scenario.names(source)[0], Logged(bucket, part, False))

    def _away(self, source: str) -> bool:
        return source in self.silent | self.paused or self.scenario.names(source)[0] not in self.world.cores

    def _say(self, source: str, bucket: int) -> None:
        whole = self.scenario.row_content(source, bucket)
        self.lineage.add(source, bucket, whole, {})
        name = self.scenario.names(source)[0]
        # On disk first.
        self.world.disks.carry_out(name, Keep(source, bucket, (whole,), (self.world.local(name),)))
        self.world.tell(name, Logged(bucket, whole, True))

    def _say_what_was_missed(self, source: str) -> None:
        while self.unsaid[source] and source not in self.open and not self._away(source):
            self._say(source, self.unsaid[source].pop(0))

    def _pause(self, now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Pause):
            self.paused = self.paused | {effect.stream} if effect.paused else self.paused - {effect.stream}
            self.world.at(now, partial(self._say_what_was_missed, effect.stream))

    # Faults

    def happen(self, fault: Fault) -> None:
        places = fault.places
        match fault.verb:
            case "crash" | "destroy" | "unplug":
                for place in places:
                    self.down.add(place)
                    self.world.crash(place, told=fault.verb != "unplug")
                    if fault.verb == "destroy":
                        self._empty(place)
            case "forward" | "back":
                step = float(places[1]) * (1 if fault.verb == "forward" else -1)
                self.world.clocks[places[0]] = self.world.clocks.get(places[0], 0.0) + step
            case "move":
                self._move(*places)
            case "change":
                self._change(*places)
            case "abandon":
                self._abandon(*places)
            case "restart":
                for place in places:
                    self._restart(place)
            case "silence":
                self.silent.add(places[0])
            case "open":
                self.open.add(places[0])
            case "resume" | "close":
                (self.silent if fault.verb == "resume" else self.open).discard(places[0])
                self._say_what_was_missed(places[0])
            case _:
                self.world.network.disturb(fault)
        if self.seen is not None:
            self.seen(fault)

    def _empty(self, where: str) -> None:
        for name in self.queries:
            if host(name) == where:
                self.emptied.add(name)
                self.world.disks.lose(name)

    def _restart(self, where: str) -> None:
        cores = self.world.cores
        self.down.discard(where)
        if where in self.scenario.sources:
            if self.scenario.names(where)[0] not in cores:
                self._start_source(where)
                self._say_what_was_missed(where)
        elif where == CLIENT_HOST:
            if CLIENT not in cores:
                self.world.start(CLIENT, self._client(), CLIENT_HOST)
        elif where == CATALOG_HOST:
            if CATALOG not in cores:
                self._start_catalog()
        else:
            self._start_and_stop()


def _is(move: MoveTo, under_way: Layout) -> bool:
    return moved(under_way.members[move.query], move.leaves, move.comes) == under_way.after
