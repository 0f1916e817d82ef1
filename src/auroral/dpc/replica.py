"""A replica of a query: admits buckets, has them evaluated in time, and corrects what was tentative (D37-D49, D57-D61)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import NOTHING, AtLeast, Coverage, together
from auroral.dpc.events import (
    Cancel,
    Disconnected,
    Effect,
    Evaluate,
    Evaluated,
    Event,
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
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.stagger import Stagger
from auroral.dpc.states import State
from auroral.dpc.switching import Offer
from auroral.dpc.usual import Usual
from auroral.dpc.values import (
    Ack,
    Ask,
    Confirm,
    Content,
    Grant,
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

MOST_BUCKETS = 32
"""In one job that corrects."""


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """An output: the inputs that it is computed from with their horizons in buckets, and what it cannot do without.

    Of each group in `required` at least one input must have a version of a bucket; without, the bucket is blocked.
    """

    stream: str
    reads: Mapping[str, int]
    required: tuple[frozenset[str], ...]
    readers: tuple[str, ...]
    constraints: tuple[AtLeast, ...] = ()
    """What a tentative bucket must be computed from to be given out."""


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
    levels: int = 1
    """k: how many levels below this one may fail together without loss."""


@dataclass(slots=True)
class _Job:
    outputs: tuple[str, ...]
    begin: int
    end: int
    tentative: bool
    started: float
    origin: float
    coverage: Coverage


@dataclass(slots=True)
class Replica:
    spec: ReplicaSpec
    settings: Settings
    recovering: bool = False
    """Whether it came back with nothing: it is mute until it is right (D65)."""
    ports: dict[str, Port] = field(init=False)
    outlets: dict[str, Outlet] = field(init=False)
    monitor: Monitor = field(init=False)
    stagger: Stagger = field(init=False)
    news: bool = field(init=False, default=False)
    """Whether a replica that is read from said something new."""
    jobs: dict[int, _Job] = field(init=False, default_factory=dict)
    last_job: int = field(init=False, default=0)
    processing: set[str] = field(init=False, default_factory=set)
    """Outputs that have given out something tentative in this failure: they hold nothing back any more."""
    usual_wait: dict[str, Usual] = field(init=False)
    usual_job: Usual = field(init=False, default_factory=Usual)

    def __post_init__(self) -> None:
        inputs = self.spec.inputs
        self.ports = {
            stream: Port(stream, producers, self.settings, self.spec.sources[stream], self.recovering)
            for stream, producers in inputs.items()
        }
        self.outlets = {stream: Outlet(stream, spec.readers) for stream, spec in self.spec.outputs.items()}
        self.usual_wait = {stream: Usual() for stream in self.outlets}
        producers = tuple(dict.fromkeys(producer for producers in inputs.values() for producer in producers))
        self.monitor = Monitor((*producers, *self.spec.peers), self.settings)
        self.stagger = Stagger(self.spec.name, self.spec.peers)

    def handle(self, event: Event, now: float) -> list[Effect]:
        effects = list(self._take(event, now))
        if not self._changes_nothing(event, now):
            effects += self._step(now)
        return effects

    def _changes_nothing(self, event: Event, now: float) -> bool:
        """Most of what comes is asked or answered as ever."""
        return (
            isinstance(event, Received)
            and isinstance(event.message, Ping | Pong)
            and not self.news
            and now < self.monitor.next_at
        )

    # What happens

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Received(sender, message):
                yield from self._receive(sender, message, now)
            case Disconnected(peer):
                self.monitor.lost(peer)
                for port in self.ports.values():
                    port.lost(peer)
                for outlet in self.outlets.values():
                    outlet.disconnected(peer)
            case Evaluated(job, contents):
                yield from self._evaluated(job, contents, now)
            case Started():
                for port in self.ports.values():
                    port.heard = now
            case Woken():
                pass
            case Logged():
                raise AssertionError("only sources log")

    def _receive(self, sender: str, message: object, now: float) -> Iterator[Effect]:
        match message:
            case Ping(acks):
                for stream, ack in acks.items():
                    self.outlets[stream].acknowledged(sender, ack)
                if not self.recovering:
                    yield Send(sender, Pong({stream: self.offer(stream, now) for stream in self.outlets}))
            case Pong(offers):
                self.news |= self.monitor.answered(sender, offers)
            case Subscribe(stream=stream):
                yield from self.outlets[stream].subscribe(sender, message)
            case Unsubscribe(stream=stream):
                self.outlets[stream].unsubscribe(sender, message)
            case Want(stream=stream):
                yield from self.outlets[stream].want(sender, message)
            case Ask():
                yield from self.stagger.ask(sender, message, self._corrects(now), now)
            case Grant():
                yield from self.stagger.grant(sender, message, now)
            case Refuse():
                self.stagger.refuse(sender, message)
            case Release():
                self.stagger.release(sender)
            case Stable() | Tentative() | Confirm():
                port = self.ports[message.stream]
                if not port.serves(sender, message.number):
                    yield Report("of an earlier subscription", message.stream)
                    return
                yield from receive(port, sender, message, now)
                if isinstance(message, Tentative) and self._too_late(message):
                    yield Report("tentative too late to be used", message.stream)
            case _:
                raise AssertionError(f"{message} is not for a replica")

    def _evaluated(self, number: int, contents: Mapping[str, tuple[Content, ...]], now: float) -> Iterator[Effect]:
        job = self.jobs.pop(number)
        for stream in job.outputs:
            outlet = self.outlets[stream]
            if not job.tentative:
                yield from outlet.give_stable(contents[stream])
                continue
            for bucket, content in enumerate(contents[stream], job.begin):
                if bucket < outlet.frontier:
                    yield Report("stable before its tentative job ended", stream)
                    continue
                self.processing.add(stream)
                held = max(0.0, now - job.origin - self.usual_wait[stream].value - self.usual_job.value)
                yield from outlet.give_tentative(bucket, content, job.coverage, held=held)
        if job.end - job.begin == 1:
            self.usual_job.learn(now - job.started)

    # What is to be done

    def _step(self, now: float) -> Iterator[Effect]:
        self.news = False
        if self.recovering:
            self._recover(now)
        if peers := self.monitor.due(now):
            yield from self._forget()
            acks = {name: self._ack(name) for name in self.ports if not self.ports[name].resuming}
            for peer in peers:
                read = {name: ack for name, ack in acks.items() if peer in self.ports[name].producers}
                yield Send(peer, Ping(read))
        for port in self.ports.values():
            yield from port.switch(self.monitor.of(port.stream, port.producers))
        self.processing -= {stream for stream in self.processing if self.state(stream, now) is State.STABLE}
        yield from self._take_turns(now)
        yield from self._start_stable(now)
        yield from self._start_tentative(now)
        yield WakeAt(self._next(now))

    def _recover(self, now: float) -> None:
        """Outputs begin where the first buckets of all inputs reach; it speaks again once it is as far as they are."""
        if any(port.resuming for port in self.ports.values()):
            return
        for stream, spec in self.spec.outputs.items():
            outlet = self.outlets[stream]
            firsts = [
                self.ports[name].first + (h - 1 if self.ports[name].first else 0) for name, h in spec.reads.items()
            ]
            if outlet.frontier < max(firsts):
                outlet.begin(max(firsts))
        self.recovering = not all(self._caught_up(stream) for stream in self.outlets)

    def _caught_up(self, stream: str) -> bool:
        """Whether all is final that the inputs' replicas have final."""
        ports = [self.ports[name] for name in self.spec.outputs[stream].reads]
        offered = min(
            max((o.frontier for o in self.monitor.of(port.stream, port.producers).values()), default=0)
            for port in ports
        )
        return self.outlets[stream].frontier >= offered - 1

    def _start_stable(self, now: float) -> Iterator[Effect]:
        """The next buckets of all outputs that can be made final by the same job."""
        if any(not job.tentative for job in self.jobs.values()):
            return
        ranges = {stream: self._ready_stable(stream) for stream in self.outlets}
        ready = {stream: found for stream, found in ranges.items() if found[0] < found[1]}
        if not self.fresh and not self.stagger.may_correct(now, self._peers_reached()):
            ready = {stream: found for stream, found in ready.items() if stream not in self.processing}
        if not ready:
            return
        chosen = min(ready.values())
        streams = tuple(stream for stream, found in ready.items() if found == chosen)
        begin, end = chosen
        for stream in streams:
            origin = self._origin(stream, begin)
            if end - begin == 1 and origin is not None and stream not in self.processing:
                self.usual_wait[stream].learn(now - origin)
        for number, job in list(self.jobs.items()):
            if job.tentative and job.end <= end and set(job.outputs) <= set(streams):
                # What is about to be final need not be guessed.
                del self.jobs[number]
                yield Cancel(number)
        yield self._evaluate(streams, begin, end, False, now)

    @property
    def fresh(self) -> bool:
        """Whether it can answer in time while it corrects: a job for a bucket takes less time than a bucket does."""
        return self.usual_job.highest < self.settings.bucket

    def _take_turns(self, now: float) -> Iterator[Effect]:
        waiting = [s for s in self.processing if self._ready_stable(s)[0] < self._ready_stable(s)[1]]
        if waiting and not self.fresh:
            yield from self.stagger.want(now, self._peers_reached())
        elif self.stagger.wanted and not waiting:
            yield from self.stagger.done()

    def _corrects(self, now: float) -> bool:
        return not self.fresh and any(
            not job.tentative and set(job.outputs) & self.processing for job in self.jobs.values()
        )

    def _peers_reached(self) -> list[str]:
        return [peer for peer in self.spec.peers if self.monitor.reached(peer)]

    def _ready_stable(self, stream: str) -> tuple[int, int]:
        begin = self.outlets[stream].frontier
        end = min(self.ports[name].frontier for name in self.spec.outputs[stream].reads)
        return begin, min(end, begin + MOST_BUCKETS)

    def _start_tentative(self, now: float) -> Iterator[Effect]:
        if any(job.tentative for job in self.jobs.values()):
            return
        for stream in self.outlets:
            bucket = self._ready_tentative(stream, now)
            if bucket is not None:
                yield self._evaluate((stream,), bucket, bucket + 1, True, now)
                return

    def _ready_tentative(self, stream: str, now: float) -> int | None:
        """The next bucket that must not be waited for any longer, if there is one."""
        for bucket in self._new_buckets(stream):
            if self._ready_stable(stream)[1] > bucket or self._blocked(stream, bucket):
                continue
            if self._policy(stream, now) is Policy.SUSPEND or not self._allowed(stream, bucket):
                continue
            deadline = self._deadline(stream, bucket)
            if deadline is not None and (now >= deadline or self._at_once(stream, bucket, now)):
                return bucket
        return None

    def _policy(self, stream: str, now: float) -> Policy:
        failing = any(self._failed(name, now) for name in self.spec.outputs[stream].reads)
        return self.settings.while_failing if failing else self.settings.while_correcting

    def _at_once(self, stream: str, bucket: int, now: float) -> bool:
        """Whether there is nothing to wait for: only the first bucket of a failure is held back."""
        processes = stream in self.processing and self._policy(stream, now) is Policy.PROCESS
        return processes and self._all_that_will_come(stream, bucket, now)

    def _allowed(self, stream: str, bucket: int) -> bool:
        constraints = self.spec.outputs[stream].constraints
        if not constraints:
            return True
        coverage = self._coverage(stream, bucket)
        return all(constraint.allows(coverage) for constraint in constraints)

    def _coverage(self, stream: str, bucket: int) -> Coverage:
        reads = self.spec.outputs[stream].reads
        return together(
            self.ports[name].coverage(b) for name, h in reads.items() for b in range(max(0, bucket - h + 1), bucket + 1)
        )

    def _too_late(self, message: Tentative) -> bool:
        using = [spec for spec in self.spec.outputs.values() if message.stream in spec.reads]
        return all(message.bucket <= self.outlets[spec.stream].newest for spec in using)

    def _new_buckets(self, stream: str) -> range:
        outlet = self.outlets[stream]
        highest = max((max(self.ports[i].origin, default=-1) for i in self.spec.outputs[stream].reads), default=-1)
        return range(max(outlet.frontier, outlet.newest + 1), highest + 1)

    def _blocked(self, stream: str, bucket: int) -> bool:
        return not all(
            any(self.ports[name].best(bucket) is not None for name in group)
            for group in self.spec.outputs[stream].required
        )

    def _all_that_will_come(self, stream: str, bucket: int, now: float) -> bool:
        """Whether every input that has not failed has closed the bucket, in some version."""
        return all(
            self.ports[name].closed(bucket) or self._cut_off(name, now) for name in self.spec.outputs[stream].reads
        )

    def _cut_off(self, name: str, now: float) -> bool:
        """Whether nothing is to be expected of an input: no replica gives it, or one that should is silent.

        A replica in UP_FAILURE may well be silent for a while: it holds back the first bucket of its failure.
        """
        port = self.ports[name]
        return port.cut_off(self.monitor.of(name, port.producers), now)

    def _deadline(self, stream: str, bucket: int) -> float | None:
        """D37: the time runs from when the bucket was first heard of on any input, and counts what it was held before."""
        origin = self._origin(stream, bucket)
        if origin is None:
            return None
        reserve = self.usual_job.highest + self.settings.hop + self.outlets[stream].reserve
        longest = self.settings.bound - reserve
        if self.settings.share is not None:
            longest = min(longest, self.settings.share)
        return origin + self.usual_wait[stream].value + longest

    def _origin(self, stream: str, bucket: int) -> float | None:
        reads = self.spec.outputs[stream].reads
        return min((self.ports[n].origin[bucket] for n in reads if bucket in self.ports[n].origin), default=None)

    def _evaluate(self, streams: tuple[str, ...], begin: int, end: int, tentative: bool, now: float) -> Evaluate:
        self.last_job += 1
        origins = [found for s in streams if (found := self._origin(s, begin)) is not None]
        coverage = self._coverage(streams[0], begin) if tentative else NOTHING
        self.jobs[self.last_job] = _Job(streams, begin, end, tentative, now, min(origins, default=now), coverage)
        view: dict[str, dict[int, Content]] = {}
        for name, port in self.ports.items():
            horizons = [self.spec.outputs[s].reads[name] for s in streams if name in self.spec.outputs[s].reads]
            if horizons:
                buckets = range(max(0, begin - max(horizons) + 1), end)
                view[name] = {b: content for b in buckets if (content := port.best(b)) is not None}
        return Evaluate(self.last_job, streams, begin, end, view, tentative)

    # What is said of it

    def offer(self, stream: str, now: float) -> Offer:
        return Offer(self.state(stream, now), self.fresh, self.outlets[stream].frontier)

    def state(self, stream: str, now: float) -> State:
        """D29: of the output alone, by the inputs that it is computed from; the worst of what holds."""
        spec, outlet = self.spec.outputs[stream], self.outlets[stream]
        failed = {name for name in spec.reads if self._failed(name, now)}
        if failed:
            dead = {name for name in failed if self._cut_off(name, now)}
            return State.FAILURE if any(group <= dead for group in spec.required) else State.UP_FAILURE
        if outlet.newest >= outlet.frontier or self._ready_stable(stream)[1] - outlet.frontier > 2:
            return State.STABILIZATION
        return State.STABLE

    def _failed(self, name: str, now: float) -> bool:
        port = self.ports[name]
        return port.failed(self.monitor.of(name, port.producers), now)

    def _ack(self, name: str) -> Ack:
        specs = [spec for spec in self.spec.outputs.values() if name in spec.reads]
        needs = tuple(
            max(0, min(self._need(spec, level) - spec.reads[name] + 1 for spec in specs))
            for level in range(self.spec.levels + 2)
        )
        reserve = max(self.outlets[spec.stream].reserve for spec in specs)
        return Ack(needs, reserve + self.usual_job.highest + self.settings.hop)

    def _forget(self) -> Iterator[Effect]:
        for name, port in self.ports.items():
            if not port.resuming:
                port.forget(self._ack(name).needs[0])
        for stream, outlet in self.outlets.items():
            lowest = outlet.lowest_need(self.spec.levels)
            if lowest > outlet.kept_from:
                outlet.forget(lowest)
                yield Truncate(stream, outlet.kept_from)

    def _need(self, spec: OutputSpec, level: int) -> int:
        """The lowest bucket of the output that may have to be computed again."""
        outlet = self.outlets[spec.stream]
        return outlet.frontier if level == 0 else min(outlet.frontier, outlet.lowest_need(level - 1))

    def _next(self, now: float) -> float:
        """When something is due at the latest, if nothing happens before."""
        times = [self.monitor.next_at]
        for stream in self.outlets:
            times += [d for b in self._new_buckets(stream) if (d := self._deadline(stream, b)) is not None and d > now]
        return min(times)


def receive(port: Port, sender: str, message: Stable | Tentative | Confirm, now: float) -> Iterable[Effect]:
    match message:
        case Stable():
            return port.take_stable(sender, message, now)
        case Tentative():
            return port.take_tentative(sender, message, now)
        case Confirm():
            return port.take_confirm(sender, message, now)
