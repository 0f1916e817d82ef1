"""Which buckets of an output can be computed, and when (SUnion: D16-D20, D37-D45, D49).

A bucket is ready to be made stable when all inputs have it stable. It is ready to be made tentative when it must not be waited for
any longer, or when all that is to be expected has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import AtLeast, Coverage, together
from auroral.dpc.fold import Fold
from auroral.dpc.guessed import Guessed, Next, Right
from auroral.dpc.monitor import Monitor
from auroral.dpc.outlet import Outlet
from auroral.dpc.port import Port
from auroral.dpc.settings import UNLIMITED, WORTH_DELAYING, Policy, Settings
from auroral.dpc.sizing import MOST_GUESSED, MOST_ROWS, Sizing
from auroral.dpc.states import State
from auroral.dpc.usual import Offsets, Usual
from auroral.dpc.values import Content
from auroral.dpc.versions import Reading, Versions

MOST_BUCKETS = 128
"""In one job that corrects: a job of many buckets takes little longer than one of a single bucket, as long as they are not many rows."""


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
    folds: bool = False
    """Whether it depends on all of the past, through a state."""
    leaves_out: bool = False
    """Whether boxes on the way may leave rows out. They are counted by the job that makes a bucket stable, so that there must be one."""
    bound: float | None = None
    """X of this output, or the lowest of those that are computed from it; None where it is that of all."""


@dataclass(slots=True)
class SUnion:
    """One output, the inputs that it reads, and the time that it may take."""

    spec: OutputSpec
    settings: Settings
    ports: dict[str, Port]
    """All that any of its versions reads."""
    outlet: Outlet
    monitor: Monitor
    usual_job: Usual
    """Of the replica: what a job for one bucket takes."""
    usual_waits: dict[tuple[str, bool], Usual] = field(init=False)
    """By input, and whether a part of the bucket came before its end: from when it is first heard of there to when all inputs have
    it."""
    first_offsets: Offsets = field(init=False)
    """Of the inputs of the first version."""
    usual_offsets: dict[frozenset[str], Offsets] = field(init=False, default_factory=dict)
    """By the inputs that are read together."""
    versions: Versions = field(default_factory=Versions)
    begun: bool = True
    """Whether it is known where it begins; until then nothing is computed."""
    fold: Fold | None = field(init=False)
    guessed: Guessed = field(init=False)
    processing: bool = False
    """Whether something tentative was given out in this failure: nothing is held back any more."""
    noted: State = State.STABLE
    since: float = 0.0
    """When it came into the state that was last noted."""
    oldest_heard: float = float("-inf")
    """When that input was last heard which has been silent for longest; a state that was noted holds no longer than it may be."""
    failing_since: float | None = None
    """When it was last stable."""
    diverged: bool = False
    """Whether another replica made something else of it."""
    fails: bool = False
    """Whether its jobs fail, one after the other: another replica's may not."""
    waits: bool = False
    """Whether it is not its turn to correct: it keeps answering meanwhile."""
    mute: bool = False
    """D65: whether its replica is only coming back. Nobody reads it, so that nothing is guessed, and nothing waits for what it makes final."""
    sizing: Sizing = field(init=False, default_factory=Sizing)

    def __post_init__(self) -> None:
        every = self.settings.snapshot_every
        self.fold = Fold(self.spec.stream, every, MOST_GUESSED) if self.spec.folds else None
        self.guessed = Guessed(self.ports, self.settings.most_kept)
        self.usual_waits = {}
        for port in list(self.ports.values()):
            self.add(port)
        self.first_offsets = self._offsets_of(self.spec.reads)

    # Versions that read something else

    def add(self, port: Port) -> None:
        self.ports[port.stream] = port
        self.usual_waits |= {(port.stream, opened): Usual() for opened in (False, True)}

    def reading(self, bucket: int) -> OutputSpec | Reading:
        """What the version of a bucket reads."""
        if not self.versions.readings:
            return self.spec
        return self.versions.reading(self.spec.stream, self.versions.plan.version(bucket)) or self.spec

    def read(self, bucket: int) -> Mapping[str, Port]:
        """The inputs that a bucket is computed from."""
        if not self.versions.readings:
            return self.ports
        return {name: self.ports[name] for name in self.reading(bucket).reads}

    @property
    def used(self) -> Mapping[str, Port]:
        """The inputs that those buckets are computed from which are neither stable nor still to be heard of."""
        if not self.versions.readings:
            return self.ports
        return {**self.read(self.outlet.frontier), **self.read(self._last)}

    @property
    def _last(self) -> int:
        return max([self.outlet.frontier, self.outlet.newest + 1, *(port.furthest for port in self.ports.values())])

    def starts_at(self, version: int, needs: Mapping[str, int]) -> int | None:
        """The first bucket that a version can begin with: from which on what it reads is here, and is kept for this replica by those that
        give it. None where that is not known yet."""
        first = 0
        for name, horizon in (self.versions.reading(self.spec.stream, version) or self.spec).reads.items():
            port = self.ports.get(name)
            if port is None or port.resuming:
                return None
            if oldest := max(needs[name], port.first, port.forgotten):
                first = max(first, oldest + horizon - 1)
        return first

    @property
    def offsets(self) -> Offsets:
        return self._offsets(self.outlet.frontier)

    def _offsets(self, bucket: int) -> Offsets:
        return self._offsets_of(self.reading(bucket).reads) if self.versions.readings else self.first_offsets

    def _offsets_of(self, names: Iterable[str]) -> Offsets:
        together = frozenset(names)
        if together not in self.usual_offsets:
            self.usual_offsets[together] = Offsets(names)
        return self.usual_offsets[together]

    # Stable

    @property
    def stable_range(self) -> tuple[int, int]:
        """The next buckets that can be made stable by one job; empty where there are none."""
        begin = self.outlet.frontier
        end = min([port.frontier for port in self.read(begin).values()])
        if begin < end:
            plan = self.versions.plan
            end = min(end, begin + MOST_BUCKETS, self.outlet.room, plan.limit, plan.end(begin))
            if self.fold is not None and self.settings.blocked_beyond < UNLIMITED:
                # There is room for no more than so many between two snapshots (dpc.keeping).
                end = min(end, self.fold.next_snapshot)
            if self._lossy:
                end = next((bucket for bucket in range(begin, end) if self._lost(bucket)), end)
        return begin, end

    @property
    def next_job(self) -> tuple[int, int]:
        """As many of them as one job is to read."""
        return self._one_job(*self.stable_range, MOST_ROWS if self.mute else self.sizing.rows(self.aside))

    def _one_job(self, begin: int, end: int, most: int) -> tuple[int, int]:
        """The first of these buckets, whose rows are not too many together; one at least."""
        rows = 0
        for bucket in range(begin, end):
            versions = (port.best(bucket) for port in self.read(bucket).values())
            rows += sum(version.count for version in versions if version is not None)
            if rows > most and bucket > begin:
                return begin, bucket
        return begin, end

    @property
    def guessed_right(self) -> Right | None:
        """The next buckets that can be made stable without a job, if there are any."""
        found = self.guessed.right(self._next(*self.stable_range))
        return found if found.contents else None

    def wrong_until(self, begin: int, end: int) -> int:
        """Behind the last of these buckets that a job must make stable."""
        return self.guessed.wrong_until(self._next(begin, end))

    def _next(self, begin: int, end: int) -> Next:
        state = self.fold.stable if self.fold is not None else None
        return Next(begin, end, self.reading(begin).reads, self.versions.plan.version(begin), state)

    @property
    def gives_up(self) -> bool:
        """D71: whether the next bucket will never be made stable: part of what it is computed from is lost, or must be."""
        if self._lossy and self._lost(self.outlet.frontier):
            return True
        if self.settings.lost_beyond == UNLIMITED:
            return False
        ahead = max([port.furthest for port in self.used.values()]) - self.outlet.frontier
        return ahead > self.settings.lost_beyond and not self.can_be_stable

    def _lost(self, bucket: int) -> bool:
        reads = self.reading(bucket).reads
        return any(
            not port.lost.isdisjoint(range(self.first_read(name, bucket), bucket + 1))
            for name, port in self._lossy.items()
            if name in reads
        )

    @property
    def _lossy(self) -> dict[str, Port]:
        """Inputs that lack something for good: mostly none."""
        return {name: port for name, port in self.ports.items() if port.lost}

    @property
    def can_be_stable(self) -> bool:
        begin, end = self.stable_range
        return begin < end

    def learn(self, bucket: int, now: float) -> None:
        """How long it waited, where nothing held it up: not so long that it would be a failure, and not before it came here, as what is
        sent again to who came back."""
        came = {}
        for name, port in self.read(bucket).items():
            origin = port.origin.get(bucket, float("-inf"))
            if port.arrived.get(bucket, now) - origin <= self.settings.hop:
                came[name] = origin
                if not self.processing and now - origin < self.settings.detection:
                    self.usual_waits[name, bucket in port.opened].learn(now - origin)
        self._offsets(bucket).learn(came)

    # Tentative

    def tentative_range(self, now: float, deadlines: Mapping[int, float]) -> tuple[int, int] | None:
        """The next buckets that must not be waited for any longer, if there are any: one job for all that follow one another."""
        if not deadlines:
            return None
        policy, final = self._policy(now), self.stable_range[1]
        if policy is Policy.SUSPEND:
            return None
        due: tuple[int, int] | None = None
        for bucket, deadline in deadlines.items():
            if due is not None and bucket != due[1]:
                break
            if self._due(bucket, deadline, policy, final, now):
                due = (bucket if due is None else due[0], bucket + 1)
        return None if due is None else self._one_job(*due, MOST_ROWS)

    def _due(self, bucket: int, deadline: float, policy: Policy, final: int, now: float) -> bool:
        """`final`: the first bucket that is not in the next stable job."""
        # When its time is over, also what is about to be made stable: a job that corrects many buckets may take too long. Who held
        # back all of a failure does not begin to guess now.
        if bucket < final and not self.processing and self.settings.while_failing is Policy.SUSPEND:
            return False
        if now < deadline and (policy is not Policy.PROCESS or bucket < final or not self._all_is_there(bucket, now)):
            return False
        return not self.blocked(bucket) and self.allowed(bucket)

    def next_deadline(self, now: float) -> float:
        return min([time for time in self.deadlines(now).values() if time > now], default=float("inf"))

    def held(self, ready_at: float, now: float) -> float:
        """How much later than usual it is."""
        return max(0.0, now - ready_at - self.usual_job.value)

    def ready_at(self, bucket: int) -> float | None:
        """When all inputs usually have the bucket, judged by those that it has been heard of on: one that usually comes later than the
        others tells so much more. What it was held back before counts."""
        return min(self._usually_ready(bucket, {name: port.origin for name, port in self.ports.items()}), default=None)

    def _usually_ready(self, bucket: int, heard: Mapping[str, Mapping[int, float]]) -> list[float]:
        reads = self.reading(bucket).reads
        return [
            times[bucket] + self._usual_wait(name, bucket)
            for name, times in heard.items()
            if bucket in times and name in reads
        ]

    def _usual_wait(self, name: str, bucket: int) -> float:
        """Of an input that is always so late that it might have failed, only the offset is learned."""
        return max(self.usual_waits[name, bucket in self.ports[name].opened].value, self._offsets(bucket).after[name])

    def coverage(self, bucket: int) -> Coverage:
        return together(
            self.ports[name].coverage(b)
            for name, horizon in self.reading(bucket).reads.items()
            for b in range(max(0, bucket - horizon + 1), bucket + 1)
        )

    def coverages(self, begin: int, end: int, job_begin: int) -> tuple[Coverage, ...]:
        """Of each bucket, in a job that begins there or before."""
        if self.fold is None:
            return tuple(self.coverage(bucket) for bucket in range(begin, end))
        found, folded = [], self.fold.covered(job_begin)
        for bucket in range(self.fold.start(job_begin).bucket, end):
            folded = together([folded, self.coverage(bucket)])
            found.append(folded)
        return tuple(found[begin - end :])

    def reaches(self, bucket: int) -> bool:
        """Whether a job can begin there: of a fold, not before its state."""
        return self.fold is None or self.fold.start(bucket).bucket <= bucket

    def too_late(self, bucket: int) -> bool:
        """Whether a newer one was given out, so that it will not be used."""
        return bucket <= self.outlet.newest

    def _policy(self, now: float) -> Policy:
        """An input whose replica corrects does not fail any more: the policy is the same all along a chain."""
        failing = self.waits or any(
            port.failed(self.monitor, now) and port.state(self.monitor) is not State.STABILIZATION
            for port in self.used.values()
        )
        policy = self.settings.while_failing if failing else self.settings.while_correcting
        if policy is not Policy.ADAPT:
            return policy
        lasted = 0.0 if self.failing_since is None else now - self.failing_since
        return Policy.DELAY if lasted < WORTH_DELAYING * self.settings.bound else Policy.PROCESS

    def _new_buckets(self) -> list[int]:
        """Those that were heard of: there may be many between two of them."""
        first = max(self.outlet.frontier, self.outlet.newest + 1)
        found = {bucket for port in self.ports.values() for bucket in port.origin if bucket >= first}
        if self.versions.readings:
            # What only another version reads is not waited for.
            found = {bucket for bucket in found if any(bucket in port.origin for port in self.read(bucket).values())}
        return sorted(found)

    def blocked(self, bucket: int) -> bool:
        """Missing is not empty: a join has nothing to say without one of its sides (D44)."""
        required = self.reading(bucket).required
        return not all(any(self.ports[name].best(bucket) is not None for name in group) for group in required)

    def allowed(self, bucket: int) -> bool:
        if not self.spec.constraints:
            return True
        (coverage,) = self.coverages(bucket, bucket + 1, bucket)
        return all(constraint.allows(coverage) for constraint in self.spec.constraints)

    def _held_back(self, now: float) -> bool:
        """Whether something is due that its constraints keep back. Another replica may have enough of the sources, and is to be read."""
        if not self.spec.constraints:
            return False
        return any(due <= now and not self.allowed(bucket) for bucket, due in self.deadlines(now).items())

    def _all_is_there(self, bucket: int, now: float) -> bool:
        """Whether every input has closed the bucket in some version, or has failed; the first bucket of a failure waits for those
        that have failed too, as they may come back. What all inputs have stable is not guessed before it must be, unless a guess
        went before it: it only waits for its turn."""
        read = self.read(bucket).values()
        if not self.processing and all(bucket < port.frontier for port in read):
            return False
        return all(port.closed(bucket) or (self.processing and self._no_more(port, bucket, now)) for port in read)

    def _no_more(self, port: Port, bucket: int, now: float) -> bool:
        """Of an input that fails: one that has stopped closing buckets has said all of one when it goes on to the next."""
        return port.cut_off(self.monitor, now) or (
            port.failed(self.monitor, now) and port.state(self.monitor) is State.STABLE and port.passed(bucket)
        )

    def deadlines(self, now: float) -> dict[int, float]:
        """Of new buckets, in their order. D45: without a bound nothing is ever tentative, nor is it while nobody reads it.

        The bound holds at any depth: what this node and those behind it need is set aside.
        """
        if self.mute or self.settings.bound == float("inf") or not (new := self._new_buckets()):
            return {}
        aside = self.aside
        origins = {name: port.origin for name, port in self.ports.items()}
        found = {bucket: self._deadline(bucket, origins, aside) for bucket in new}
        if self.processing:
            return found
        final, failed = self.stable_range[1], any(port.failed(self.monitor, now) for port in self.used.values())
        return {bucket: max(time, self._not_before(bucket, origins, final, failed)) for bucket, time in found.items()}

    def _not_before(self, bucket: int, origins: Mapping[str, Mapping[int, float]], final: int, failed: bool) -> float:
        """D43: a bucket that an input lacks is not guessed before it would be known that the input has failed, and one that is only to be
        computed not while it waits for the job before it and its own. Where the bound is too short for what is set aside, all would be
        tentative without any failure."""
        if bucket < final:
            arrived = {name: port.arrived for name, port in self.ports.items()}
            return min(self._usually_ready(bucket, arrived)) + self.settings.detection + 2 * self.usual_job.highest
        if failed or all(bucket < port.frontier for port in self.read(bucket).values()):
            return float("-inf")
        return min(self._usually_ready(bucket, origins)) + self.settings.detection

    def _deadline(self, bucket: int, origins: Mapping[str, Mapping[int, float]], aside: float) -> float:
        """D37: the time runs from when the bucket is heard of on any input, and counts what it was held before."""
        ready = min(self._usually_ready(bucket, origins))
        latest = ready + self.settings.bound - aside
        if self.settings.share is not None:
            here = self._usually_ready(bucket, {name: port.arrived for name, port in self.ports.items()})
            latest = min([latest, *(ready + self.settings.share for ready in here)])
        return latest

    @property
    def aside(self) -> float:
        """What it takes from here to the last outputs: on each hop the work, a message, and the time to read from another replica. Without
        that, replicas that fail one after the other while they have a bucket, each at another depth, would come on top."""
        return self.own_time + self.settings.hop + self.settings.failover + self.outlet.reserve

    @property
    def own_time(self) -> float:
        """What a bucket's job takes. Where each bucket is held to the last and jobs are longer than buckets, it waits for the one before
        as well."""
        longest = self.usual_job.highest
        return 2 * longest if self.settings.holds_each and longest > self.settings.bucket else longest

    # States

    def state(self, now: float) -> State:
        """D29: of this output alone, by the inputs that it is computed from; the worst of what holds."""
        if self.diverged or self.fails:
            return State.FAILURE
        failed = [name for name, port in self.used.items() if port.failed(self.monitor, now)]
        if failed:
            dead = {name for name in failed if self.ports[name].cut_off(self.monitor, now)}
            required = self.spec.required if not self.versions.readings else self.reading(self._last).required
            nothing_comes = any(group <= dead for group in required) or self._held_back(now)
            return State.FAILURE if nothing_comes else State.UP_FAILURE
        if self.held_up:
            return State.UP_FAILURE
        # However much the next job takes of it; only what waits for a promise is not its own delay.
        if self.outlet.newest < self.outlet.frontier and not self._behind(self.versions.plan.limit):
            return State.STABLE
        # D57: who waits for its turn is read for what is new, and the one that corrects meanwhile for corrections.
        return State.UP_FAILURE if self.waits else State.STABILIZATION

    def _behind(self, limit: int = UNLIMITED) -> bool:
        """Whether it is as far behind its inputs, or this, as a failure that would just be noticed, jobs of the usual length apart."""
        there = min([limit, *(port.frontier for port in self.used.values())])
        behind = (there - self.outlet.frontier) * self.settings.bucket - 2 * self.usual_job.highest
        return behind > self.settings.detection

    @property
    def held_up(self) -> bool:
        """Whether a promise keeps from being made stable what all inputs have stable. Who reads had better do so elsewhere: another replica may
        have promised nothing."""
        return self.outlet.frontier >= self.versions.plan.limit and self._behind()

    def said(self, now: float) -> State:
        """The state, for all who ask: as long as all is well, only time can have changed it since it was noted."""
        well = self.noted is State.STABLE and now - self.oldest_heard <= self.settings.silence
        return State.STABLE if well else self.state(now)

    def note_state(self, now: float) -> None:
        state = self.state(now)
        self.oldest_heard = min([port.heard for port in self.used.values()])
        if state is not self.noted:
            self.noted, self.since = state, now
        if state is State.STABLE:
            self.processing, self.failing_since = False, None
        elif self.failing_since is None:
            self.failing_since = now

    # Needs

    @property
    def restarts_from(self) -> int:
        """What it computes again if it loses everything: all that readers may ask for, and what a fold's state is made from."""
        return self.fold.restarts_from.bucket if self.fold else min(self.outlet.frontier, self.outlet.lowest_need)

    def reads_from(self, name: str, bucket: int) -> int:
        """The lowest bucket of an input that is read for this bucket and later ones, be it by another version. What none of them reads is
        not held up."""
        if not self.versions.readings:
            return max(0, bucket - self.spec.reads[name] + 1)
        port = self.ports[name]
        found = [max(0, max(bucket, start) - h + 1) for h, start, end in self._read_in(name) if bucket < end]
        # What comes next is there before a version that begins later reads it.
        return min(found if found and port.resuming else [*found, port.frontier])

    def is_read(self, name: str, since: int = 0) -> bool:
        """By a version that is decided or promised, for this bucket or a later one."""
        return not self.versions.readings or any(since < end for _, _, end in self._read_in(name))

    def _read_in(self, name: str) -> Iterator[tuple[int, int, int]]:
        """By each version that reads an input: its horizon, and the buckets that are computed by it, or may be."""
        for version, start, end in self.versions.ranges:
            reads = (self.versions.reading(self.spec.stream, version) or self.spec).reads
            if name in reads:
                yield reads[name], start, end

    def first_read(self, name: str, bucket: int) -> int:
        """The lowest bucket of an input that is read for this one."""
        return max(0, bucket - self.reading(bucket).reads[name] + 1)

    def computed_from(self, port: Port) -> int:
        """The first bucket from which on all that is read of an input has ever come here."""
        if not self.versions.readings:
            return port.reaches_back(self.spec.reads[port.stream])
        needed = ((h + port.first - 1, start, end) for h, start, end in self._read_in(port.stream) if port.first)
        return max([min(first, end) for first, start, end in needed if start < first], default=0)

    # What a job reads

    def view(self, begin: int, end: int) -> dict[str, dict[int, Content]]:
        """The best version of every bucket that is read for [begin, end)."""
        if self.fold is not None:
            begin = self.fold.start(begin).bucket
        found = {}
        for name, horizon in self.reading(end - 1).reads.items():
            buckets = range(max(0, begin - horizon + 1), end)
            found[name] = {b: content for b in buckets if (content := self.ports[name].best(b)) is not None}
        return found
