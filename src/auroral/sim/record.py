"""Watches a run, and writes down what is seen of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from auroral.dpc import outlet as dpc
from auroral.dpc import port as dpc_port
from auroral.dpc.client import Client
from auroral.dpc.events import (
    Deliver,
    Effect,
    Evaluate,
    Interrupt,
    Keep,
    KeepPlan,
    Miss,
    Pause,
    Report,
    Send,
    Truncate,
)
from auroral.dpc.replica import Replica
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import SUnion
from auroral.dpc.values import LOST, Grant, Pong, Tentative
from auroral.dpc.versions import NO_CHANGE, Plan
from auroral.sim.faults import Fault
from auroral.sim.scenario import CLIENT, host
from auroral.sim.seen import (
    EVERY,
    FOUND,
    FULL,
    LEASE,
    MUTE,
    NEVER,
    Correction,
    Delivery,
    Dropped,
    Final,
    Given,
    Moment,
    Outlet,
    Planned,
    Port,
    Run,
    Spoke,
)


@dataclass(slots=True)
class Recorder:
    run: Run
    since: dict[tuple[str, str], float] = field(default_factory=dict)
    giving: dict[str, float] = field(default_factory=dict)
    closing: dict[str, float] = field(default_factory=dict)
    free: dict[str, float] = field(default_factory=dict)
    tentative: dict[tuple[str, int, str], int] = field(default_factory=dict)
    """By core, life and output: the newest bucket that was given out tentatively."""
    anew: set[tuple[str, int, str]] = field(default_factory=set)
    """Outputs of cores in these lives that may begin again: while they are mute."""
    losing: tuple[str, str] | None = None
    """Who has just said that something is lost from a full buffer, and of what."""
    came_back: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    """By core and life, of those that have not spoken yet: how far each output could be computed when it came back."""
    granted: dict[tuple[str, str], float] = field(default_factory=dict)
    """By who promised to answer, and in whose place: when it last did."""
    spoke_at: dict[tuple[str, int], float] = field(default_factory=dict)
    """By core and life, of those that came back: when they first answered."""
    pairs: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        scenario = self.run.scenario
        self.run.deliveries = {stream: [] for stream in scenario.outputs}
        self.pairs = tuple(
            dict.fromkeys((p, r) for s in scenario.streams for p in scenario.names(s) for r in scenario.readers(s))
        )
        peers = [scenario.replica_names(query) for query in scenario.queries]
        self.pairs += tuple((a, b) for names in peers for a in names for b in names if a < b)
        self.run.stage.seen = self.after
        self.run.stage.came = self._came
        self.run.stage.world.watchers.append(self.watch)
        self.run.stage.world.at(0.0, self._look_again)

    def _look_again(self) -> None:
        self.look()
        self.run.stage.world.at(self.run.stage.world.now + EVERY, self._look_again)

    # What happens

    def watch(self, now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Send):
            if isinstance(effect.message, Tentative):
                self._given(now, core, effect.message)
            elif self.came_back and isinstance(effect.message, Pong):
                self._spoke(now, core)
            elif isinstance(effect.message, Grant):
                self._grants(now, core, effect.to)
        elif isinstance(effect, Deliver):
            one = Delivery(now, effect.bucket, effect.content, effect.stable)
            self.run.deliveries[effect.stream].append(one)
        elif isinstance(effect, Miss):
            gap = [Delivery(now, bucket, LOST, True) for bucket in range(effect.begin, effect.end)]
            self.run.deliveries[effect.stream].extend(gap)
        elif isinstance(effect, Interrupt):
            before = len(self.run.deliveries[effect.stream])
            self.run.interruptions.setdefault(effect.stream, set()).add(before)
        elif isinstance(effect, Evaluate):
            self._evaluates(now, core, effect)
        elif isinstance(effect, Keep):
            self._keeps(now, core, effect)
        elif isinstance(effect, KeepPlan):
            self.run.plans.append(Planned(now, core, self._written(core), effect.plan))
        elif isinstance(effect, Truncate) and self.losing == (core, effect.stream):
            self.losing = None
            frontier = _frontier(self.run.stage.world.cores[core], effect.stream)
            self.run.dropped.append(Dropped(now, core, effect.stream, effect.below, frontier))
        elif isinstance(effect, Pause) and effect.paused:
            source = self.run.stage.world.cores[core]
            assert isinstance(source, Source)
            self.run.pauses.append((now, core, len(source.outlet.kept)))
        elif isinstance(effect, Report):
            self.run.reports.append((now, core, effect))
            if effect.kind == FULL:
                self.losing = (core, effect.stream)
            replica = self.run.stage.world.cores[core]
            if isinstance(replica, Replica) and _fails(replica):
                # It may be well again before anybody looks.
                self.free.pop(core, None)

    def _keeps(self, now: float, core: str, effect: Keep) -> None:
        key = (core, self._life(core), effect.stream)
        finals, stage = self.run.finals.setdefault(key, []), self.run.stage
        owned, limit = core in stage.layout.running(stage.queries[core].name), self._written(core).limit
        if key in self.anew:
            self.anew.discard(key)
            finals[:] = [one for one in finals if one.bucket < effect.begin]
        for bucket, content in enumerate(effect.contents, effect.begin):
            finals.append(Final(now, bucket, content, stage.lineage.of(content), owned, limit))

    def _written(self, core: str) -> Plan:
        """By the replica, whatever it goes by now."""
        return self.run.stage.world.disks.plans.get(core, NO_CHANGE)

    def _life(self, core: str) -> int:
        return self.run.stage.world.lives[core]

    def _given(self, now: float, core: str, message: Tentative) -> None:
        made = self.run.stage.lineage.of(message.content)
        right = made is not None and (made.stream, made.bucket) == (message.stream, message.bucket)
        gaps = made.gaps if right and made is not None else None
        self.run.given.append(Given(now, core, message.stream, message.bucket, message.coverage, gaps))
        key = (core, self._life(core), message.stream)
        self.tentative[key] = max(message.bucket, self.tentative.get(key, -1))

    def _evaluates(self, now: float, core: str, job: Evaluate) -> None:
        run, life = self.run, self._life(core)
        run.wrong_views += [(now, core, stream, bucket) for stream, bucket in run.stage.lineage.wrong_in(job.view)]
        if job.tentative:
            return
        replica = run.stage.world.cores[core]
        assert isinstance(replica, Replica)
        if any(job.begin <= self.tentative.get((core, life, stream), -1) for stream in job.outputs):
            length = run.stage.world.job_seconds(job)
            by, promises = self._promised_by(core, replica), self._promises(core, replica)
            run.corrections.append(Correction(now, now + length, core, replica.turns.fresh, by, promises))
        if replica.recovering:
            self.anew |= {(core, life, stream) for stream in job.outputs}

    def _promises(self, core: str, replica: Replica) -> frozenset[str]:
        """Whom a replica has promised not to correct, by its own clock."""
        world = self.run.stage.world
        now = world.now + world.ahead[core]
        return frozenset(peer for peer, until in replica.turns.stagger.promised.items() if now < until)

    def _promised_by(self, core: str, replica: Replica) -> frozenset[str]:
        cores = self.run.stage.world.cores
        peers = {peer: cores.get(peer) for peer in replica.spec.peers}
        return frozenset(p for p, one in peers.items() if isinstance(one, Replica) and core in self._promises(p, one))

    def _grants(self, now: float, core: str, to: str) -> None:
        replica, before = self.run.stage.world.cores[core], self.granted.get((core, to), -LEASE)
        # What it promised before, it may promise for longer.
        if isinstance(replica, Replica) and _corrects(replica) and now - before >= LEASE:
            self.run.wrong_grants.append((now, core, to))
        self.granted[core, to] = now

    def _spoke(self, now: float, core: str) -> None:
        expected = self.came_back.pop((core, self._life(core)), None)
        if expected is None:
            return
        world = self.run.stage.world
        replica = world.cores[core]
        assert isinstance(replica, Replica)
        # Those that had more when it came back may be away by now, or have been until just now.
        found = max(world.started[core], now - self.run.scenario.settings.detection - FOUND)
        left = self._could_be(core, replica, found)
        # What lies behind a promise is not made final, nor what there is no room for.
        promised, outlets = replica.versions.plan.limit, replica.outlets
        expected = {s: min(bucket, left[s], promised, _room(outlets[s])) for s, bucket in expected.items()}
        self.spoke_at[core, self._life(core)] = now
        for stream, outlet in replica.outlets.items():
            positions = [
                reader.ports[stream].frontier
                for name in outlet.readers_expected
                if isinstance(reader := world.cores.get(name), Replica | Client) and not reader.ports[stream].resuming
            ]
            query = self.run.stage.queries[core]
            new = core not in self.run.scenario.members(query) or core in self.run.stage.emptied
            if query.name in self.run.scenario.durable and new:
                # One that came by a move, or lost its disk: what came before is on the disks of those that it took over from, or of its
                # replicas.
                positions = []
            lowest = min(positions, default=outlet.kept_from)
            self.run.spoke.append(Spoke(now, core, stream, outlet.frontier, expected[stream], outlet.kept_from, lowest))

    def after(self, fault: Fault) -> None:
        if fault.verb == "reset":
            for pair in self.since:
                if {host(pair[0]), host(pair[1])} == set(fault.places):
                    self.since[pair] = self.run.stage.world.now
        self.look()

    def _came(self, name: str) -> None:
        self.look()
        core = self.run.stage.world.cores[name]
        assert isinstance(core, Replica)
        self.came_back[name, self._life(name)] = self._could_be(name, core, self.run.stage.world.now)

    def _could_be(self, name: str, core: Replica, since: float) -> dict[str, int]:
        """How far the inputs of each output are, at the replicas that it has reached since then."""
        cores = self.run.stage.world.cores
        found = {}
        for stream, union in core.unions.items():
            frontiers = []
            for read in union.ports:
                reached = [
                    cores[p]
                    for p in core.spec.inputs[read]
                    if self.since.get((p, name), NEVER) <= since and self._answers(p, since)
                ]
                frontiers.append(max((_frontier(one, read) for one in reached), default=0))
            found[stream] = min(frontiers)
        return found

    def _answers(self, name: str, since: float) -> bool:
        """Whether it was not mute, as one is that came back itself."""
        core = self.run.stage.world.cores[name]
        mute = isinstance(core, Replica) and core.recovering
        return not mute and self.spoke_at.get((name, self._life(name)), 0.0) <= since

    def _lacks_state(self, name: str) -> bool:
        """D67: whether its disk was lost, and it reaches nobody who can give it the state of a fold."""
        cores = self.run.stage.world.cores
        core = cores.get(name)
        if not isinstance(core, Replica) or all(union.fold is None or union.begun for union in core.unions.values()):
            return False
        reached = [cores[peer] for peer in core.spec.peers if (min(name, peer), max(name, peer)) in self.since]
        return all(isinstance(peer, Replica) and peer.recovering for peer in reached)

    # How all stands

    def look(self) -> None:
        world, scenario = self.run.stage.world, self.run.scenario
        cores, network, now = world.cores, world.network, world.now
        for pair in self.pairs:
            up = pair[0] in cores and pair[1] in cores and not network.stops(pair) and not network.stops(pair[::-1])
            if not up:
                self.since.pop(pair, None)
            elif pair not in self.since:
                self.since[pair] = now
        for source in scenario.sources:
            stage = self.run.stage
            gives = source not in stage.silent | stage.paused and scenario.names(source)[0] in cores
            for times, holds in ((self.giving, gives), (self.closing, gives and source not in stage.open)):
                if holds:
                    times.setdefault(source, now)
                else:
                    times.pop(source, None)
        stateless = {name for name in self.run.stage.emptied if self._lacks_state(name)}
        mute = frozenset(
            name
            for name, core in cores.items()
            if isinstance(core, Replica) and core.recovering and (now < world.started[name] + MUTE or name in stateless)
        )
        living = {name: world.started[name] + (MUTE if world.started[name] > 0 else 0.0) for name in cores}
        for name, core in cores.items():
            if isinstance(core, Replica) and not _held_up(core) and not _fails(core) and name not in stateless:
                self.free.setdefault(name, now)
            else:
                self.free.pop(name, None)
        replicas = {name: core for name, core in cores.items() if isinstance(core, Replica)}
        waiting = frozenset(name for name, core in replicas.items() if _waits(core, replicas))
        correcting = frozenset(name for name, core in replicas.items() if _corrects(core))
        unread = frozenset((name, stream) for name, core in replicas.items() for stream in _unread(core))
        links, giving, closing, free = dict(self.since), dict(self.giving), dict(self.closing), dict(self.free)
        moment = Moment(now, links, living, giving, closing, mute, free, {}, {}, waiting, correcting, unread)
        for name, core in cores.items():
            _add(moment, name, core)
        self.run.moments.append(moment)


def _waits(core: Replica, replicas: Mapping[str, Replica]) -> bool:
    if core.turns.fresh or core.jobs.being_made_stable or core.jobs.trouble[False].outputs:
        return False
    # Who recovers grants no turn to anybody.
    if any(peer in replicas and replicas[peer].recovering for peer in core.spec.peers):
        return False
    return any(union.processing and union.begun and union.can_be_stable for union in core.unions.values())


def _corrects(core: Replica) -> bool:
    return not core.turns.fresh and any(core.unions[stream].processing for stream in core.jobs.being_made_stable)


def _unread(core: Replica) -> list[str]:
    if core.turns.fresh:
        return []
    # Who gave nothing tentative is only behind: it has nothing to correct, and needs no turn for it.
    correcting = {stream for stream, union in core.unions.items() if union.outlet.newest >= union.outlet.frontier}
    return [stream for stream in correcting if core.unions[stream].noted is State.STABILIZATION]


def _held_up(core: Replica) -> bool:
    """Whether it could make something stable if it had not promised to wait, or had room for it (D72)."""
    for union in core.unions.values():
        limit = min(core.versions.plan.limit, _room(union.outlet))
        read = union.read(union.outlet.frontier).values()
        if union.outlet.frontier >= limit and min(port.frontier for port in read) > limit:
            return True
    return False


def _room(outlet: dpc.Outlet) -> int:
    """D72: the first bucket that there is no room for, whatever the replica says of it."""
    return outlet.kept_from + outlet.settings.blocked_beyond


def _fails(core: Replica) -> bool:
    """Whether its jobs fail, one after the other: it says so, and who reads from it looks for another."""
    return any(union.fails for union in core.unions.values())


def _frontier(core: object, stream: str) -> int:
    if isinstance(core, Source):
        return core.outlet.frontier
    assert isinstance(core, Replica)
    return core.outlets[stream].frontier


def _add(moment: Moment, name: str, core: object) -> None:
    if isinstance(core, Source):
        moment.outlets[name, core.stream] = _outlet(core.outlet)
    elif isinstance(core, Replica):
        starts = {}
        for stream, union in core.unions.items():
            starts[stream] = min(union.restarts_from, union.outlet.kept_from)
            moment.outlets[name, stream] = _outlet(union.outlet)
        for stream, port in core.ports.items():
            using = [(output, union) for output, union in core.unions.items() if stream in union.ports]
            if using and not port.resuming:
                needed = min([_need(union, stream, union.outlet.frontier) for _, union in using])
                wanted = min([_need(union, stream, starts[output]) for output, union in using])
                lowest = min(port.stable, default=port.frontier)
                window = max(u.outlet.frontier - _need(u, stream, u.outlet.frontier) for _, u in using)
                held, guessed = _held(port, needed), len(port.tentative)
                moment.ports[name, stream] = Port(
                    port.frontier, lowest, needed, wanted, port.producers, held, guessed, window
                )
    elif isinstance(core, Client):
        for stream, port in core.ports.items():
            lowest = min(port.stable, default=port.frontier)
            held, guessed = _held(port, port.frontier), len(port.tentative)
            moment.ports[CLIENT, stream] = Port(
                port.frontier, lowest, port.frontier, port.frontier, port.producers, held, guessed, 0
            )


def _held(port: dpc_port.Port, needed: int) -> int:
    return sum(bucket >= needed for bucket in port.stable)


def _outlet(outlet: dpc.Outlet) -> Outlet:
    return Outlet(outlet.frontier, outlet.kept_from, len(outlet.kept), outlet.readers_expected)


def _need(union: SUnion, stream: str, bucket: int) -> int:
    """The first bucket of an input that is read for this one and those behind it."""
    if union.versions.readings:
        return union.reads_from(stream, bucket)
    return max(0, bucket - union.spec.reads[stream] + 1)
