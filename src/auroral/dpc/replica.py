"""A replica of a query: has buckets evaluated in time, corrects what was tentative, comes back from nothing (D46-D49, D57-D68)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage
from auroral.dpc.events import (
    Cancel,
    Disconnected,
    Effect,
    Evaluate,
    Evaluated,
    Event,
    Failed,
    Logged,
    Received,
    Report,
    Send,
    Started,
    Truncate,
    WakeAt,
    Woken,
)
from auroral.dpc.monitor import Monitor
from auroral.dpc.outlet import Outlet
from auroral.dpc.port import Port
from auroral.dpc.settings import Settings
from auroral.dpc.stagger import Stagger
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec, SUnion
from auroral.dpc.switching import Offer
from auroral.dpc.usual import Usual
from auroral.dpc.values import (
    Ack,
    Ask,
    Confirm,
    Content,
    Grant,
    Message,
    Ping,
    Pong,
    Refuse,
    Release,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
)


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


@dataclass(frozen=True, slots=True)
class Job:
    outputs: tuple[str, ...]
    begin: int
    end: int
    tentative: bool
    started: float
    origin: float
    """Of the last bucket."""
    coverage: tuple[Coverage, ...]
    """Of each bucket, if they are tentative."""


@dataclass(slots=True)
class Replica:
    spec: ReplicaSpec
    settings: Settings
    recovering: bool = False
    """Whether it came back with nothing: it is mute until it is right (D65)."""
    ports: dict[str, Port] = field(init=False)
    unions: dict[str, SUnion] = field(init=False)
    """By output."""
    monitor: Monitor = field(init=False)
    stagger: Stagger = field(init=False)
    news: bool = field(init=False, default=False)
    """Whether a replica that is read from said something new."""
    jobs: dict[int, Job] = field(init=False, default_factory=dict)
    last_job: int = field(init=False, default=0)
    usual_job: Usual = field(init=False, default_factory=Usual)

    def __post_init__(self) -> None:
        inputs = self.spec.inputs
        self.ports = {
            stream: Port(stream, producers, self.settings, self.spec.sources[stream], self.recovering)
            for stream, producers in inputs.items()
        }
        producers = tuple(dict.fromkeys(producer for producers in inputs.values() for producer in producers))
        self.monitor = Monitor((*producers, *self.spec.peers), self.settings)
        self.stagger = Stagger(self.spec.name, self.spec.peers)
        self.unions = {stream: self._union(spec) for stream, spec in self.spec.outputs.items()}

    def _union(self, spec: OutputSpec) -> SUnion:
        read = {name: self.ports[name] for name in spec.reads}
        return SUnion(spec, self.settings, read, Outlet(spec.stream, spec.readers), self.monitor, self.usual_job)

    @property
    def outlets(self) -> dict[str, Outlet]:
        return {stream: union.outlet for stream, union in self.unions.items()}

    def handle(self, event: Event, now: float) -> list[Effect]:
        effects = list(self._take(event, now))
        if not self._changes_nothing(event, now):
            effects += self._step(now)
        return effects

    def _changes_nothing(self, event: Event, now: float) -> bool:
        """Most of what comes is asked or answered as ever."""
        said = event.message if isinstance(event, Received) else None
        return isinstance(said, Ping | Pong) and not self.news and now < self.monitor.next_at

    # What happens

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Received(sender, message):
                yield from self._receive(sender, message, now)
            case Disconnected(peer):
                self.news = True
                self.monitor.lost(peer)
                for port in self.ports.values():
                    port.lost(peer)
                for union in self.unions.values():
                    union.outlet.disconnected(peer)
            case Evaluated(number, contents):
                # The result of a job that was cancelled may have been under way.
                if (job := self.jobs.pop(number, None)) is not None:
                    yield from self._evaluated(job, contents, now)
            case Failed(number, _):
                if (job := self.jobs.pop(number, None)) is not None:
                    yield from (Report("job failed", stream) for stream in job.outputs)
            case Started():
                for port in self.ports.values():
                    port.heard = now
            case Woken():
                pass
            case Logged():
                raise AssertionError("only sources log")

    def _receive(self, sender: str, message: Message, now: float) -> Iterator[Effect]:
        match message:
            case Ping(acks, numbers):
                for stream, ack in acks.items():
                    self.unions[stream].outlet.acknowledged(sender, ack)
                if not self.recovering:
                    outlets = self.outlets
                    unknown = {s: number for s, number in numbers.items() if not outlets[s].holds(sender, number)}
                    yield Send(sender, Pong({stream: self.offer(stream, now) for stream in self.unions}, unknown))
            case Pong(offers, unknown):
                self.news |= self.monitor.answered(sender, offers)
                for stream, number in unknown.items():
                    yield from self.ports[stream].renew(sender, number)
            case Subscribe(stream=stream):
                yield from self.unions[stream].outlet.subscribe(sender, message)
            case Unsubscribe(stream=stream):
                self.unions[stream].outlet.unsubscribe(sender, message)
            case Want(stream=stream):
                yield from self.unions[stream].outlet.want(sender, message)
            case Ask():
                yield from self.stagger.ask(sender, message, self._corrects(), now)
            case Grant():
                yield from self.stagger.grant(sender, message, now)
            case Refuse():
                self.stagger.refuse(sender, message)
            case Release():
                self.stagger.release(sender)
            case Stable() | Tentative() | Confirm():
                yield from self.ports[message.stream].receive(sender, message, now)
                if isinstance(message, Tentative):
                    yield from self._count_late(message)

    def _count_late(self, message: Tentative) -> Iterator[Effect]:
        using = [union for union in self.unions.values() if message.stream in union.ports]
        if all(union.too_late(message.bucket) for union in using):
            yield Report("tentative too late to be used", message.stream)

    def _evaluated(self, job: Job, contents: Mapping[str, tuple[Content, ...]], now: float) -> Iterator[Effect]:
        if job.tentative or job.end - job.begin == 1:
            self.usual_job.learn(now - job.started)
        for stream in job.outputs:
            union = self.unions[stream]
            if not job.tentative:
                yield from union.outlet.give_stable(contents[stream], union.held(job.origin, now))
                yield from self._cancel_guesses(stream)
                continue
            for bucket, content, coverage in zip(
                range(job.begin, job.end), contents[stream], job.coverage, strict=True
            ):
                if bucket < union.outlet.frontier:
                    yield Report("stable before its tentative job ended", stream)
                    continue
                union.processing = True
                yield from union.outlet.give_tentative(bucket, content, coverage, held=union.held(job.origin, now))

    def _cancel_guesses(self, stream: str) -> Iterator[Effect]:
        """What is final need not be guessed any more."""
        frontier = self.unions[stream].outlet.frontier
        for number, job in list(self.jobs.items()):
            if job.tentative and job.outputs == (stream,) and job.end <= frontier:
                del self.jobs[number]
                yield Cancel(number)

    # What is to be done

    def _step(self, now: float) -> Iterator[Effect]:
        if self.recovering:
            self._recover()
        if peers := self.monitor.due(now):
            yield from self._forget()
            yield from self._ping(peers)
        if peers or self.news:
            for port in self.ports.values():
                yield from port.switch(self.monitor.of(port.stream, port.producers))
            self.news = False
        for union in self.unions.values():
            union.processing = union.processing and union.state(now) is not State.STABLE
        yield from self._take_turns(now)
        yield from self._start_stable(now)
        yield from self._start_tentative(now)
        yield WakeAt(min(self.monitor.next_at, *(union.next_deadline(now) for union in self.unions.values())))

    def _ping(self, peers: tuple[str, ...]) -> Iterator[Effect]:
        acks = {name: self._ack(name) for name, port in self.ports.items() if not port.resuming}
        for peer in peers:
            read = {name: port for name, port in self.ports.items() if peer in port.producers}
            numbers = {name: port.numbers[peer] for name, port in read.items() if peer in port.numbers}
            yield Send(peer, Ping({name: acks[name] for name in read if name in acks}, numbers))

    def _ack(self, name: str) -> Ack:
        using = [union for union in self.unions.values() if name in union.ports]
        need = min(union.reads_from(name, min(union.outlet.frontier, union.outlet.lowest_need)) for union in using)
        reserve = max(union.outlet.reserve for union in using) + self.usual_job.highest + self.settings.hop
        return Ack(need, reserve)

    def _forget(self) -> Iterator[Effect]:
        for name, port in self.ports.items():
            if not port.resuming:
                using = [union for union in self.unions.values() if name in union.ports]
                port.forget(min(union.reads_from(name, union.outlet.frontier) for union in using))
        for stream, outlet in self.outlets.items():
            if outlet.forget(outlet.lowest_need):
                yield Truncate(stream, outlet.kept_from)

    def _start_stable(self, now: float) -> Iterator[Effect]:
        """The next buckets of all outputs that can be made final by the same job."""
        if any(not job.tentative for job in self.jobs.values()):
            return
        ready = {stream: union.stable_range for stream, union in self.unions.items() if union.can_be_stable}
        if not self.fresh and not self.stagger.may_correct(now, self._peers_reached()):
            ready = {stream: found for stream, found in ready.items() if not self.unions[stream].processing}
        if not ready:
            return
        begin, end = chosen = min(ready.values())
        streams = tuple(stream for stream, found in ready.items() if found == chosen)
        if end - begin == 1:
            for stream in streams:
                self.unions[stream].learn(begin, now)
        yield self._evaluate(streams, begin, end, False, now)

    def _start_tentative(self, now: float) -> Iterator[Effect]:
        if any(job.tentative for job in self.jobs.values()):
            return
        for stream, union in self.unions.items():
            found = union.tentative_range(now)
            if found is not None:
                yield self._evaluate((stream,), *found, True, now)
                return

    def _evaluate(self, streams: tuple[str, ...], begin: int, end: int, tentative: bool, now: float) -> Evaluate:
        self.last_job += 1
        unions = [self.unions[stream] for stream in streams]
        origin = min((found for union in unions if (found := union.origin(end - 1)) is not None), default=now)
        coverage = tuple(unions[0].coverage(bucket) for bucket in range(begin, end)) if tentative else ()
        self.jobs[self.last_job] = Job(streams, begin, end, tentative, now, origin, coverage)
        view: dict[str, dict[int, Content]] = {name: {} for union in unions for name in union.ports}
        for union in unions:
            for name, contents in union.view(begin, end).items():
                view[name] |= contents
        return Evaluate(self.last_job, streams, begin, end, view, tentative)

    # Taking turns

    @property
    def fresh(self) -> bool:
        """Whether it can answer in time while it corrects: a job for a bucket takes less time than a bucket does."""
        return self.usual_job.highest < self.settings.bucket

    def _take_turns(self, now: float) -> Iterator[Effect]:
        waiting = any(union.processing and union.can_be_stable for union in self.unions.values())
        if waiting and not self.fresh:
            yield from self.stagger.want(now, self._peers_reached())
        elif self.stagger.wanted and not waiting:
            yield from self.stagger.done()

    def _corrects(self) -> bool:
        """Whether it corrects something at the cost of what is new."""
        stable = [job for job in self.jobs.values() if not job.tentative]
        return not self.fresh and any(self.unions[stream].processing for job in stable for stream in job.outputs)

    def _peers_reached(self) -> list[str]:
        return [peer for peer in self.spec.peers if self.monitor.reached(peer)]

    # Coming back

    def _recover(self) -> None:
        """Outputs begin where the first buckets of all inputs reach; it speaks again once it is as far as they are."""
        if any(port.resuming for port in self.ports.values()):
            return
        for union in self.unions.values():
            first = max(union.ports[name].reaches_back(horizon) for name, horizon in union.spec.reads.items())
            if union.outlet.frontier < first:
                union.outlet.begin(first)
        self.recovering = not all(self._caught_up(union) for union in self.unions.values())

    def _caught_up(self, union: SUnion) -> bool:
        """Whether all is final that the inputs' replicas have final."""
        return union.outlet.frontier >= min(self.monitor.furthest(port.stream) for port in union.ports.values()) - 1

    # What is said of it

    def offer(self, stream: str, now: float) -> Offer:
        union = self.unions[stream]
        return Offer(union.state(now), self.fresh, union.outlet.frontier, union.outlet.kept_from)
