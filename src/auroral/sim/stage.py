"""A scenario with its cores in a world: sources log, faults happen, what was down comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from auroral.dpc.client import Client
from auroral.dpc.coverage import Level
from auroral.dpc.events import Deliver, Effect, Evaluate, Logged, Truncate
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.source import Source
from auroral.dpc.values import Content
from auroral.sim.faults import Fault
from auroral.sim.lineage import Lineage
from auroral.sim.scenario import CLIENT, CLIENT_HOST, Fragment, Scenario, host
from auroral.sim.standin import content
from auroral.sim.world import World


@dataclass(slots=True)
class Disk:
    """What a source has logged and not truncated."""

    begin: int = 0
    kept: list[Content] = field(default_factory=list)

    def truncate(self, below: int) -> None:
        del self.kept[: below - self.begin]
        self.begin = max(self.begin, below)


@dataclass(slots=True)
class Stage:
    scenario: Scenario
    world: World = field(init=False)
    silent: set[str] = field(default_factory=set)
    unsaid: dict[str, list[int]] = field(default_factory=dict)
    """Buckets that a source could not log while it was away."""
    disks: dict[str, Disk] = field(default_factory=dict)
    queries: dict[str, Fragment] = field(default_factory=dict)
    """By core."""
    delivered: dict[str, int] = field(default_factory=dict)
    """Where a client that comes back goes on: what it was given is its own."""
    lineage: Lineage = field(init=False)
    seen: Callable[[Fault], None] | None = None
    """Called after each fault."""

    def __post_init__(self) -> None:
        scenario = self.scenario
        self.queries = {name: query for query in scenario.queries for name in scenario.replica_names(query)}
        self.lineage = Lineage({stream: scenario.computed_from(stream) for stream in scenario.streams})
        self.world = World(scenario.seed, self.evaluate, self._job_seconds, scenario.failing_jobs)
        self.world.watchers.append(self._keep)
        for source in scenario.sources:
            self.unsaid[source], self.disks[source] = [], Disk()
            self._start_source(source)
        for name in self.queries:
            self.world.start(name, self._replica(name), host(name))
        self.world.start(CLIENT, self._client({}), CLIENT_HOST)
        for position, source in enumerate(scenario.sources):
            late = scenario.skews.get(source, 0.01 * position)
            for bucket in range(scenario.buckets):
                time = (bucket + 1) * scenario.settings.bucket + late
                self.world.at(time, partial(self._log, source, bucket))
                if scenario.chunks:
                    self.world.at(time - scenario.settings.bucket / 3, partial(self._log_part, source, bucket))
        for fault in scenario.faults:
            self.world.at(fault.at, partial(self.happen, fault))

    def evaluate(self, name: str, job: Evaluate) -> Mapping[str, tuple[Content, ...]]:
        contents, core = self.queries[name].evaluate(job), self.world.cores[name]
        assert isinstance(core, Replica)
        self.lineage.evaluated(core.spec.outputs, core.ports, job, contents)
        return contents

    def _job_seconds(self, job: Evaluate) -> float:
        return self.scenario.job + 0.002 * (job.end - job.begin)

    def _start_source(self, stream: str) -> None:
        disk = self.disks[stream]
        core = Source(stream, self.scenario.readers(stream), self.scenario.settings, disk.begin, tuple(disk.kept))
        self.world.start(self.scenario.names(stream)[0], core, stream)

    def _replica(self, name: str, recovering: bool = False) -> Replica:
        scenario, query = self.scenario, self.queries[name]
        inputs = {stream: scenario.names(stream) for stream in query.inputs}
        outputs = {output.stream: replace(output, readers=scenario.readers(output.stream)) for output in query.outputs}
        sources = {stream: scenario.computed_from(stream) for stream in query.inputs}
        peers = tuple(other for other in scenario.replica_names(query) if other != name)
        return Replica(ReplicaSpec(name, inputs, sources, outputs, peers), scenario.settings, recovering)

    def _client(self, begin: Mapping[str, int]) -> Client:
        streams = {stream: self.scenario.names(stream) for stream in self.scenario.outputs}
        return Client(CLIENT, streams, self.scenario.settings, begin)

    # Sources

    def _log(self, source: str, bucket: int) -> None:
        if self._away(source) or self.unsaid[source]:
            self.unsaid[source].append(bucket)
        else:
            self._say(source, bucket)

    def _log_part(self, source: str, bucket: int) -> None:
        whole = self.scenario.row_content(source, bucket)
        if not self._away(source) and not self.unsaid[source] and whole.count > 1:
            part = content(whole.rows[:-1])
            self.lineage.add(source, bucket, part, {(source, bucket): Level.PARTIAL})
            self.world.tell(self.scenario.names(source)[0], Logged(bucket, part, False))

    def _away(self, source: str) -> bool:
        return source in self.silent or self.scenario.names(source)[0] not in self.world.cores

    def _say(self, source: str, bucket: int) -> None:
        whole = self.scenario.row_content(source, bucket)
        self.lineage.add(source, bucket, whole, {})
        self.disks[source].kept.append(whole)
        self.world.tell(self.scenario.names(source)[0], Logged(bucket, whole, True))

    def _say_what_was_missed(self, source: str) -> None:
        if not self._away(source):
            missed, self.unsaid[source] = self.unsaid[source], []
            for bucket in missed:
                self._say(source, bucket)

    def _keep(self, now: float, core: str, effect: Effect) -> None:
        """What outlives a core: a source's log, and how far a client came."""
        if isinstance(effect, Truncate) and effect.stream in self.disks:
            self.disks[effect.stream].truncate(effect.below)
        elif isinstance(effect, Deliver) and effect.stable:
            self.delivered[effect.stream] = effect.bucket + 1

    # Faults

    def happen(self, fault: Fault) -> None:
        network, places = self.world.network, fault.places
        match fault.verb:
            case "cut":
                network.cut(places, fault.one_way)
            case "heal":
                network.heal(places, fault.one_way)
            case "isolate":
                network.isolate(places)
            case "rejoin":
                network.rejoin(places)
            case "slow":
                network.slow.add(frozenset(places))
            case "quicken":
                network.slow.discard(frozenset(places))
            case "reset":
                network.reset(*places)
            case "crash" | "unplug":
                for place in places:
                    self.world.crash(place, told=fault.verb == "crash")
            case "restart":
                for place in places:
                    self._restart(place)
            case "silence":
                self.silent.add(places[0])
            case "resume":
                self.silent.discard(places[0])
                self._say_what_was_missed(places[0])
        if self.seen is not None:
            self.seen(fault)

    def _restart(self, where: str) -> None:
        cores = self.world.cores
        if where in self.disks:
            if self.scenario.names(where)[0] not in cores:
                self._start_source(where)
                self._say_what_was_missed(where)
        elif where == CLIENT_HOST:
            if CLIENT not in cores:
                self.world.start(CLIENT, self._client(self.delivered), CLIENT_HOST)
        else:
            for name in self.queries:
                if host(name) == where and name not in cores:
                    self.world.start(name, self._replica(name, recovering=True), where)
