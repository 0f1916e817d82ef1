"""The guarantees, one function each: what a run of the simulation must keep, and the words for what it broke."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from auroral.dpc.events import Deliver, Effect, Miss, Report, WakeAt
from auroral.dpc.replica import Replica
from auroral.dpc.settings import UNLIMITED
from auroral.dpc.values import LOST, Content
from auroral.sim.scenario import CLIENT, Scenario, Stage

Violations = Iterator[str]
MUTE = 5.0
"""Seconds in which a replica that came back must have spoken again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    at: float
    bucket: int
    content: Content
    stable: bool


@dataclass(slots=True)
class Run:
    """What a client saw, and between which times it could be given anything at all."""

    stage: Stage
    expected: dict[str, list[Content]]
    usual: dict[str, float]
    """How long after its end a bucket comes, without failures."""
    deliveries: dict[str, list[Delivery]] = field(default_factory=dict)
    unavailable: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    reports: list[tuple[float, str, Report]] = field(default_factory=list)

    @property
    def scenario(self) -> Scenario:
        return self.stage.scenario

    def lateness(self, stream: str) -> Iterator[tuple[float, bool]]:
        """Of each bucket, how much later than usual it or a newer one came in any version, and whether nothing could come for a while:
        then the time counts from when something could again, a bucket later."""
        settings = self.scenario.settings
        newest, times = -1, [float("inf")] * self.scenario.buckets
        for one in self.deliveries.get(stream, []):
            if one.content.lost:
                continue
            passed = min(one.bucket + 1, len(times))
            times[newest + 1 : passed] = [one.at] * (passed - newest - 1)
            newest = max(newest, passed - 1)
        for bucket, at in enumerate(times):
            due = (bucket + 1) * settings.bucket + self.usual[stream]
            gaps = self.unavailable[stream]
            ends = [e for begin, e in gaps if begin < due + settings.bound and due - settings.bucket < e]
            # Gaps that follow one another closely are one.
            for begin, end in gaps:
                if ends and begin < max(ends) + settings.bound + settings.bucket:
                    ends.append(end)
            yield (at - max(due, max(ends) + settings.bucket), True) if ends else (at - due, False)


def stable_in_order(run: Run) -> Violations:
    """D79, D80: what is stable is never undone, left out, given twice or out of order."""
    for stream, given in run.deliveries.items():
        done = 0
        for one in given:
            if one.stable and one.bucket != done:
                yield f"{stream}: stable bucket {one.bucket} at {one.at:.2f} s, after {done - 1}"
            if not one.stable and one.bucket < done:
                yield f"{stream}: bucket {one.bucket} tentative at {one.at:.2f} s, though it was stable"
            done = one.bucket + 1 if one.stable else done


def stable_is_right(run: Run) -> Violations:
    """D78: what is stable is what a run without failures gives."""
    for stream, given in run.deliveries.items():
        for one in given:
            if (
                one.stable
                and not one.content.lost
                and one.content not in run.expected[stream][one.bucket : one.bucket + 1]
            ):
                yield f"{stream}: bucket {one.bucket}, stable at {one.at:.2f} s, is not right"


def all_is_corrected(run: Run) -> Violations:
    """D78, D81: in the end everything is there, stable, at the client and at every replica."""
    wanted = run.scenario.buckets
    for stream in run.scenario.outputs:
        there = sum(one.stable for one in run.deliveries.get(stream, []))
        if there < wanted:
            yield f"{stream}: {there} of {wanted} buckets are stable at the client"
    for name, core in run.stage.world.cores.items():
        if isinstance(core, Replica):
            for stream, outlet in core.outlets.items():
                if outlet.frontier < wanted:
                    yield f"{name}: {outlet.frontier} of {wanted} buckets of {stream} are stable"
                known = {bucket: content for bucket, content in outlet.kept.items() if not content.lost}
                wrong = [b for b, content in known.items() if content not in run.expected[stream][b : b + 1]]
                if wrong:
                    yield f"{name}: buckets {wrong[:5]} of {stream} are not right"


def corrected_soon(run: Run) -> Violations:
    """D81: long after the last fault, and before the input ends, the client has what is stable."""
    settings = run.scenario.settings
    for stream in run.scenario.outputs:
        there = sum(one.stable and one.at <= run.scenario.seconds for one in run.deliveries.get(stream, []))
        wanted = run.scenario.buckets - int(3 / settings.bucket) - 1
        if there < wanted:
            yield f"{stream}: {there} of {wanted} buckets are stable at the client when the input ends"


def what_is_asked_for_is_kept(run: Run) -> Violations:
    """D69: nobody is refused what it needs."""
    for at, core, report in run.reports:
        if report.kind == "asked for what is not kept":
            yield f"{core}: {report.stream} at {at:.2f} s"


def replicas_agree(run: Run) -> Violations:
    """D19: what replicas made stable is the same; they would have noticed."""
    for at, core, report in run.reports:
        if report.kind == "diverged":
            yield f"{core} at {at:.2f} s: {report.detail}"


def nothing_is_lost_unless_so_set(run: Run) -> Violations:
    """D71, D78: gaps are for those who bound their buffers and choose to lose what does not fit."""
    if run.scenario.settings.lost_beyond == UNLIMITED:
        for at, core, report in run.reports:
            if report.kind == "gap":
                yield f"{core}: {report.count} buckets of {report.stream} are in a gap at {at:.2f} s"


def within_the_bound(run: Run) -> Violations:
    """D77: what is new comes less than X later than usual, wherever anything could come."""
    for stream in run.usual:
        for bucket, (late, _) in enumerate(run.lateness(stream)):
            if late >= run.scenario.settings.bound:
                yield f"{stream}: bucket {bucket} came {late:.2f} s late; the bound is {run.scenario.settings.bound:g} s"


def nothing_is_hoarded(run: Run) -> Violations:
    """D69: what nobody needs any more is not kept."""
    most = 64 + max(query.horizon for query in run.scenario.queries) * len(run.scenario.queries)
    for name, core in run.stage.world.cores.items():
        if isinstance(core, Replica):
            for stream, outlet in core.outlets.items():
                if len(outlet.kept) > most:
                    yield f"{name}: {len(outlet.kept)} buckets of {stream} are kept in the end"


INVARIANTS: tuple[Callable[[Run], Violations], ...] = (
    stable_in_order,
    stable_is_right,
    all_is_corrected,
    corrected_soon,
    what_is_asked_for_is_kept,
    replicas_agree,
    nothing_is_lost_unless_so_set,
    within_the_bound,
    nothing_is_hoarded,
)


def observed(scenario: Scenario, after: float = 20.0) -> Run:
    """The scenario, run to its end."""
    run = Run(Stage(scenario), scenario.expected(), _usual(scenario))
    trees = _Trees(run)
    run.stage.world.watchers.append(trees.watch)
    run.stage.world.run(scenario.seconds + after)
    trees.close()
    return run


def _usual(scenario: Scenario) -> dict[str, float]:
    calm = replace(scenario, seconds=10.0, faults=())
    run = Run(Stage(calm), {}, {})
    run.stage.world.watchers.append(_delivering(run))
    run.stage.world.run(calm.seconds + 5)
    bucket = calm.settings.bucket
    return {s: max(one.at - (one.bucket + 1) * bucket for one in given) for s, given in run.deliveries.items()}


def _delivering(run: Run) -> Callable[[float, str, Effect], None]:
    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Deliver):
            one = Delivery(now, effect.bucket, effect.content, effect.stable)
            run.deliveries.setdefault(effect.stream, []).append(one)
        elif isinstance(effect, Miss):
            gap = [Delivery(now, bucket, LOST, True) for bucket in range(effect.begin, effect.end)]
            run.deliveries.setdefault(effect.stream, []).extend(gap)
        elif isinstance(effect, Report):
            run.reports.append((now, core, effect))

    return watch


@dataclass(slots=True)
class _Trees:
    """An oracle that knows all cuts and crashes: whether a client can be given anything of a stream (D76)."""

    run: Run
    since: dict[str, float] = field(default_factory=dict)
    looked: float = 0.0
    deliver: Callable[[float, str, Effect], None] = field(init=False)

    def __post_init__(self) -> None:
        self.deliver = _delivering(self.run)
        self.run.unavailable = {stream: [] for stream in self.run.scenario.outputs}

    def watch(self, now: float, core: str, effect: Effect) -> None:
        self.deliver(now, core, effect)
        # As often as the client's heartbeats.
        if core == CLIENT and isinstance(effect, WakeAt):
            self.look(now)

    def look(self, now: float) -> None:
        away = now - self.looked > 3 * self.run.scenario.settings.ping_every
        self.looked, looked = now, self.looked
        for stream in self.run.scenario.outputs:
            if away:
                # The client itself was not there.
                self.since.setdefault(stream, looked)
            if self._reaches(stream, CLIENT):
                if stream in self.since:
                    self.run.unavailable[stream].append((self.since.pop(stream), now))
            else:
                self.since.setdefault(stream, now)

    def close(self) -> None:
        for stream, since in self.since.items():
            self.run.unavailable[stream].append((since, float("inf")))

    def _reaches(self, stream: str, reader: str) -> bool:
        world = self.run.stage.world
        return any(
            name in world.cores and not world._cut((name, reader)) and self._gives(stream, name)
            for name in self.run.scenario.names(stream)
        )

    def _gives(self, stream: str, name: str) -> bool:
        world = self.run.stage.world
        core = world.cores[name]
        if not isinstance(core, Replica):
            return stream not in self.run.stage.silent
        if core.recovering and world.now < world.started[name] + MUTE:
            return False
        return all(any(self._reaches(i, name) for i in group) for group in core.spec.outputs[stream].required)
