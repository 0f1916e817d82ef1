"""A replica of a query: has buckets evaluated in time, corrects what was tentative, comes back from nothing (D46-D49, D57-D68)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from auroral.dpc.changing import change
from auroral.dpc.divergence import Comparison
from auroral.dpc.events import (
    Disconnected,
    Effect,
    Evaluated,
    Event,
    Failed,
    GiveUp,
    KeepPlan,
    Learned,
    Logged,
    MoveTo,
    Propose,
    Received,
    Report,
    Send,
    Started,
    WakeAt,
    Woken,
)
from auroral.dpc.jobs import Jobs
from auroral.dpc.keeping import must_have_room
from auroral.dpc.layout import Wiring
from auroral.dpc.monitor import Monitor
from auroral.dpc.outlet import Outlet, acknowledged
from auroral.dpc.port import Port
from auroral.dpc.recovery import Recovery
from auroral.dpc.refusing import refusals, strangers
from auroral.dpc.results import cut_off, given_out, given_up
from auroral.dpc.rewiring import can_go_over, go_over, talks_to
from auroral.dpc.settings import UNLIMITED, Settings, WhenFull, WrongSettings
from auroral.dpc.stagger import Stagger
from auroral.dpc.sunion import OutputSpec, SUnion
from auroral.dpc.switching import Offer
from auroral.dpc.turns import Turns
from auroral.dpc.usual import Usual
from auroral.dpc.values import (
    Ack,
    Ask,
    Confirm,
    Decided,
    Gap,
    GiveState,
    Grant,
    Message,
    Ping,
    Pong,
    Prepare,
    Refuse,
    Release,
    Rewire,
    Rewired,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
    WantState,
)
from auroral.dpc.versions import NO_CHANGE, Readings, Versions
from auroral.dpc.warnings import Warnings


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    name: str
    inputs: Mapping[str, tuple[str, ...]]
    """The replicas that each input can be read from."""
    sources: Mapping[str, tuple[str, ...]]
    """What each input is computed from in the end."""
    outputs: Mapping[str, OutputSpec]
    peers: tuple[str, ...] = ()
    """Other replicas of the same query."""
    durable: bool = False
    """Whether what it keeps of its outputs survives it: then those that it reads from need not keep what those behind it may ask for."""
    readings: Readings = field(default_factory=dict)
    """Of later versions, as far as they are known when it is started."""


@dataclass(slots=True)
class Replica:
    spec: ReplicaSpec
    settings: Settings
    recovering: bool = False
    """Whether it came back with nothing: it is mute until it is right (D65)."""
    ports: dict[str, Port] = field(init=False)
    unions: dict[str, SUnion] = field(init=False)
    """By output."""
    comparisons: dict[str, Comparison] = field(init=False)
    """By output, with other replicas."""
    monitor: Monitor = field(init=False)
    news: bool = field(init=False, default=False)
    """Whether a replica that is read from said something new."""
    jobs: Jobs = field(init=False)
    usual_job: Usual = field(init=False, default_factory=Usual)
    versions: Versions = field(init=False, default_factory=Versions)
    wired: int = field(init=False, default=0)
    """The number of the layout that it was last told of."""
    turns: Turns = field(init=False)
    recovery: Recovery = field(init=False)
    outlets: dict[str, Outlet] = field(init=False)
    """By output."""
    warnings: Warnings = field(init=False)

    def __post_init__(self) -> None:
        inputs, sources = self.spec.inputs, self.spec.sources
        self.versions.readings.update(self.spec.readings)
        if self.settings.lost_beyond < UNLIMITED and any(output.folds for output in self.spec.outputs.values()):
            raise WrongSettings(
                f"{self.spec.name}: a fold depends on all of the past, so nothing of it may be lost; "
                f"next: when_full={WhenFull.BLOCK.value!r}, or no limit to what is kept"
            )
        must_have_room(self.spec.outputs, self.settings)
        # Who recovers begins later rather than with a gap.
        self.ports = {
            stream: Port(stream, producers, self.settings, sources[stream], self.recovering, not self.recovering)
            for stream, producers in inputs.items()
        }
        self.monitor = Monitor(talks_to(inputs, self.spec.peers), self.settings)
        self.unions = {stream: self._union(spec) for stream, spec in self.spec.outputs.items()}
        self.outlets = {stream: union.outlet for stream, union in self.unions.items()}
        self.jobs = Jobs(self.unions, self.usual_job, self.versions)
        self.turns = Turns(Stagger(self.spec.name, self.spec.peers), self.jobs, self.monitor, self.settings)
        self.recovery = Recovery(self.ports, self.unions, self.monitor, self.settings, self.spec.peers)
        self.comparisons = {stream: Comparison(stream, self.spec.name) for stream in self.spec.outputs}
        self.warnings = Warnings(self.unions)

    def _union(self, spec: OutputSpec) -> SUnion:
        read = {name: port for name, port in self.ports.items() if self._may_read(spec.stream, name)}
        settings = self.settings if spec.bound is None else replace(self.settings, bound=spec.bound)
        outlet = Outlet(spec.stream, spec.readers, settings)
        begun = not self.recovering
        return SUnion(spec, settings, read, outlet, self.monitor, self.usual_job, versions=self.versions, begun=begun)

    def _may_read(self, stream: str, name: str) -> bool:
        """By any version."""
        later = self.versions.readings.values()
        return name in self.spec.outputs[stream].reads or any(name in r[stream].reads for r in later if stream in r)

    def handle(self, event: Event, now: float) -> list[Effect]:
        if isinstance(event, Received) and isinstance(event.message, (Ping, Pong)):
            effects = self._heartbeat(event.sender, event.message, now)
            # Most are as ever, and change nothing.
            return [*effects, *self._step(now)] if self.news or now >= self.monitor.next_at else effects
        return [*self._take(event, now), *self._step(now)]

    # Heartbeats

    def _heartbeat(self, sender: str, message: Ping | Pong, now: float) -> list[Effect]:
        return self._asked(sender, message, now) if isinstance(message, Ping) else self._answered(sender, message, now)

    def _asked(self, sender: str, ping: Ping, now: float) -> list[Effect]:
        effects: list[Effect] = [*strangers(sender, ping, self.unions)]
        unknown = acknowledged(self.outlets, sender, ping)
        if sender in self.spec.peers:
            effects += self._hear_peer(sender, ping)
        if not self.recovering:
            begun = {stream: offer for stream, offer in self.offers(now).items() if self.unions[stream].begun}
            effects.append(Send(sender, Pong(begun, unknown)))
        return effects

    def _answered(self, sender: str, pong: Pong, now: float) -> list[Effect]:
        self.news |= self.monitor.answered(sender, pong.offers)
        effects: list[Effect] = [*strangers(sender, pong, self.ports)] if pong.unknown else []
        for stream, number in pong.unknown.items():
            if stream in self.ports:
                effects += self.ports[stream].renew(sender, number, now)
        return effects

    # What else happens

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Received(sender, message):
                refused = list(refusals(sender, message, self.unions, self.ports, self.spec.sources))
                yield from refused or self._receive(sender, message, now)
            case Disconnected(peer):
                self.news = True
                self.monitor.lost(peer)
                for port in self.ports.values():
                    port.disconnected(peer)
                for stream, union in self.unions.items():
                    union.outlet.disconnected(peer)
                    self.comparisons[stream].disconnected(peer)
            case Evaluated(number):
                if (job := self.jobs.ended(number)) is not None:
                    self.jobs.learn(job, now)
                    self.jobs.trouble[job.tentative].succeeded(job.outputs)
                    for stream in job.outputs:
                        yield from given_out(self.unions[stream], self.comparisons[stream], job, event, now)
                    yield from self.jobs.cancel_guesses()
            case Failed(number, reason):
                if (job := self.jobs.ended(number)) is not None:
                    self.jobs.trouble[job.tentative].failed(job.outputs, reason, now)
                    yield from (Report("job failed", stream, detail=reason) for stream in job.outputs)
            case Started(kept, states, plan):
                self.versions.plan = plan
                if plan != NO_CHANGE:
                    # Of one that is new, only the catalog has it.
                    yield KeepPlan(plan)
                self.recovery.born = now
                self.recovery.snapshots.update(states)
                for port in self.ports.values():
                    port.heard = now
                for stream, outlet in self.outlets.items():
                    self.unions[stream].since = now
                    if stream in kept and self.unions[stream].fold is None:
                        outlet.restore(kept[stream])
                self.recovery.go_on(kept)
            case Learned():
                yield from self._learn(event)
            case Woken():
                pass
            case Logged() | Propose() | MoveTo() | GiveUp():
                raise AssertionError("neither a source nor a catalog")

    def _receive(self, sender: str, message: Message, now: float) -> Iterator[Effect]:
        match message:
            case Subscribe() | Unsubscribe() | Want():
                yield from self.unions[message.stream].outlet.heard(sender, message, now)
            case Ask(number) if self.recovering:
                # It does not answer in anybody's place.
                yield Send(sender, Refuse(number))
            case Ask() | Grant() | Refuse() | Release():
                yield from self.turns.heard(sender, message, now)
            case Rewire(number, wiring) if number >= self.wired:
                if can_go_over(self.ports, self._needs(), wiring, self.monitor, now):
                    self.wired = number
                    yield from self._rewire(wiring, now)
                    yield Send(sender, Rewired(number))
            case Prepare() if self.recovering or self.recovery.unfinished:
                # It does not know yet how far its earlier lives came.
                pass
            case Prepare(version):
                if (first := self._first_of(version)) is not None:
                    yield from change(self.versions, sender, message, self.jobs.last_stable, self.settings, first)
            case Decided():
                yield from change(self.versions, sender, message, self.jobs.last_stable, self.settings)
            case WantState(stream):
                fold = self.unions[stream].fold
                if fold is not None and not self.recovering:
                    yield Send(sender, GiveState(stream, fold.restarts_from))
            case GiveState(stream, snapshot):
                if sender in self.spec.peers:
                    self.recovery.given(stream, snapshot)
                    self.news = True
            case Stable() | Tentative() | Confirm() | Gap():
                yield from self.ports[message.stream].receive(sender, message, now)
                if isinstance(message, Tentative):
                    yield from self._count_late(message)

    def _learn(self, said: Learned) -> Iterator[Effect]:
        """L58: what cannot be is not promised later, so that the change can only be given up."""
        specs = self.spec.outputs
        changed = {s: replace(specs[s], reads=one.reads, required=one.required) for s, one in said.outputs.items()}
        try:
            must_have_room({**specs, **changed}, self.settings)
        except WrongSettings as error:
            yield Report("refused", self.spec.name, detail=str(error))
            return
        if folds := [stream for stream in changed if specs[stream].folds]:
            yield Report("refused", folds[0], detail="a fold goes on with what it reads: its state is of that")
            return
        self.versions.readings[said.version] = said.outputs
        self.spec = replace(self.spec, sources={**self.spec.sources, **said.sources})
        self._read_more()

    def _read_more(self) -> None:
        for stream, union in self.unions.items():
            for name, port in self.ports.items():
                if name not in union.ports and self._may_read(stream, name):
                    union.add(port)

    def _first_of(self, version: int) -> int | None:
        """The first bucket for which all that a version reads is there; None where that is not known yet."""
        if version not in self.versions.readings:
            return 0
        needs = self._needs()
        starts = [union.starts_at(version, needs) for union in self.unions.values()]
        known = [start for start in starts if start is not None]
        return max(known) if len(known) == len(starts) else None

    def _rewire(self, wiring: Wiring, now: float) -> Iterator[Effect]:
        self.spec = replace(self.spec, inputs=wiring.inputs, peers=wiring.peers)
        for stream in wiring.inputs.keys() - self.ports.keys():
            # It begins with what is kept of it: nobody has needed it here.
            port = Port(stream, (), self.settings, self.spec.sources[stream], resuming=True, heard=now)
            self.ports[stream] = port
        self._read_more()
        yield from go_over(self.ports, wiring, self.monitor)
        for stream, readers in wiring.readers.items():
            self.unions[stream].outlet.rewire(readers)
        self.turns.stagger.rewire(wiring.peers)
        self.recovery.peers = wiring.peers
        self.news = True

    def _hear_peer(self, peer: str, message: Ping) -> Iterator[Effect]:
        if not self.usual_job.times and message.job:
            self.usual_job.learn(message.job)
        for stream, said in message.hashes.items():
            if stream in self.unions:
                yield from self.comparisons[stream].heard(peer, said)

    def _count_late(self, message: Tentative) -> Iterator[Effect]:
        using = [union for union in self.unions.values() if message.stream in union.ports]
        if all(union.too_late(message.bucket) for union in using):
            yield Report("tentative too late to be used", message.stream)

    # What is to be done

    def _step(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if self.recovering or self.recovery.unfinished:
            effects += self.recovery.step(now)
            self.recovering = self.recovering and not self.recovery.done
            for port in self.ports.values():
                port.may_lose = not self.recovering
        if peers := self.monitor.due(now):
            effects += self._forget()
            effects += self._ping(peers)
            effects += self.warnings.new()
        if peers or self.news:
            for port in self.ports.values():
                effects += port.switch(self.monitor.of(port.stream, port.producers), now)
            self.news = False
        effects += self._cut_off(now)
        effects += self.turns.take(now)
        for stream, union in self.unions.items():
            union.diverged = bool(self.comparisons[stream].differing)
            union.fails = any(trouble.ill(stream) for trouble in self.jobs.trouble)
            union.waits = not self.turns.may_begin(union, now)
            union.mute = self.recovering
            union.note_state(now)
        effects += self._give_up(now)
        effects += self.jobs.start_stable(partial(self.turns.may_begin, now=now), now)
        deadlines = {stream: union.deadlines(now) for stream, union in self.unions.items()}
        effects += self.jobs.start_tentative(deadlines, now)
        coming = [time for times in deadlines.values() for time in times.values() if time > now]
        effects.append(WakeAt(min(self.monitor.next_at, self.jobs.next_try(now), *coming)))
        return effects

    def _cut_off(self, now: float) -> Iterator[Effect]:
        """What was guessed right is made stable as by a job, when one could begin."""
        for stream, union in self.unions.items():
            if not union.guessed.runs or not union.begun or stream in self.jobs.being_made_stable:
                continue
            while self.turns.may_begin(union, now) and (right := union.guessed_right) is not None:
                yield from cut_off(union, self.comparisons[stream], right, now)
                self.jobs.trouble[False].succeeded((stream,))
                yield from self.jobs.cancel_guesses()

    def _ping(self, peers: tuple[str, ...]) -> Iterator[Effect]:
        acks: dict[str, dict[str, Ack]] = defaultdict(dict)
        numbers: dict[str, dict[str, int]] = defaultdict(dict)
        needs = self._needs()
        reserves = {stream: union.aside for stream, union in self.unions.items()}
        for name, port in self.ports.items():
            ack = None if port.resuming else Ack(needs[name], self._reserve(name, reserves))
            for producer in port.producers:
                if ack is not None:
                    acks[producer][name] = ack
                if producer in port.numbers:
                    numbers[producer][name] = port.numbers[producer]
        for peer in peers:
            same = peer in self.spec.peers
            hashes = {
                stream: found.tell(peer)
                for stream, found in self.comparisons.items()
                if same and (peer < self.spec.name or peer in found.differing)
            }
            job = self.usual_job.highest if same else 0.0
            yield Send(peer, Ping(acks[peer], numbers[peer], hashes, job))

    def _needs(self) -> dict[str, int]:
        """Of each input, the first bucket that it must read again if it loses all that is not on disk."""
        starts = {stream: self._restarts_from(union) for stream, union in self.unions.items()}
        # An input that no output reads is not held up.
        return {
            name: min(
                [u.reads_from(name, starts[s]) for s, u in self.unions.items() if name in u.ports],
                default=port.frontier,
            )
            for name, port in self.ports.items()
        }

    def _reserve(self, name: str, reserves: Mapping[str, float]) -> float:
        """The time that those outputs take that are computed from it, here and behind."""
        return max([reserves[stream] for stream, union in self.unions.items() if name in union.ports], default=0.0)

    def _restarts_from(self, union: SUnion) -> int:
        """What it must compute again if it loses all that is not on disk."""
        return union.outlet.frontier if self.spec.durable and union.fold is None else union.restarts_from

    def _forget(self) -> Iterator[Effect]:
        for name, port in self.ports.items():
            if not port.resuming:
                port.forget(self._oldest_read(name))
        for union in self.unions.values():
            yield from union.outlet.forget()
            if union.fold is not None:
                yield from union.fold.forget(min(union.outlet.frontier, union.outlet.lowest_need))

    def _give_up(self, now: float) -> Iterator[Effect]:
        """D71: and nothing is waited for that only what is given up needs."""
        some = [stream for stream, union in self.unions.items() if union.begun and union.gives_up]
        for stream in some:
            yield from given_up(self.unions[stream], self.comparisons[stream], now)
        if some:
            for name, port in self.ports.items():
                port.skip(self._oldest_read(name))

    def _oldest_read(self, name: str) -> int:
        using = [union for union in self.unions.values() if name in union.ports]
        unread = self.ports[name].frontier
        return min([union.reads_from(name, union.outlet.frontier) for union in using], default=unread)

    # What is said of it

    def offers(self, now: float) -> dict[str, Offer]:
        fresh = self.turns.fresh
        return {
            stream: Offer(union.said(now), fresh, union.outlet.frontier, union.outlet.kept_from)
            for stream, union in self.unions.items()
        }
