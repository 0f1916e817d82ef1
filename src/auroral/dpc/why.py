"""The story of an output, in words: what state it is in and since when, what it misses and from whom, and what is awaited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from auroral.dpc.client import Client
from auroral.dpc.layout import Phase
from auroral.dpc.monitor import Monitor
from auroral.dpc.outlet import Outlet
from auroral.dpc.port import Port
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import SUnion
from auroral.dpc.warnings import warnings


@dataclass(frozen=True, slots=True)
class Story:
    stream: str
    state: State
    since: float
    frontier: int
    """The first bucket that is not stable."""
    because: tuple[str, ...]

    def __str__(self) -> str:
        head = f"{self.stream} is in {self.state} since {self.since:.2f} s, stable before bucket {self.frontier}"
        return "\n  ".join((head, *self.because))


def why(core: Replica | Client | Source, stream: str, now: float) -> Story:
    match core:
        case Source():
            state, since, frontier = State.STABLE, core.born, core.outlet.frontier
            because = [*_buffer(core.outlet), *(["nothing is taken in until there is room"] if core.paused else [])]
        case Client():
            port = core.ports[stream]
            state, since, frontier = port.state(core.monitor), port.heard, port.frontier
            because = list(_input(port, core.monitor, now))
        case Replica():
            union = core.unions[stream]
            state, since, frontier = union.state(now), union.since, union.outlet.frontier
            because = list(_replica(core, union, now))
    return Story(stream, state, since, frontier, tuple(because))


_STEPS = {
    Phase.PREPARE: "those that give its inputs are to keep what the new replica needs",
    Phase.START: "the new replica is to become right, beside the old one",
    Phase.READ: "those that read from it are to go over to the new replica",
}


def arranged(core: Reconfiguration, stream: str) -> Iterator[str]:
    """What the catalog knows of an output: who makes it, and what of that is being moved or changed."""
    layout, query = core.layout, core.topology.query_of(stream)
    yield f"{stream} is made by {query}, which runs on {', '.join(layout.running(query))}"
    for version, start in enumerate(layout.decision(query).starts[1:], 1):
        yield f"version {version} of {query} holds from bucket {start} on"
    if layout.moving == query:
        yield f"it moves to {', '.join(layout.after)}: {_STEPS[layout.phase]}"
        untold = sorted(layout.concerned(core.topology) & core.untold.keys())
        yield from ([f"it waits for {', '.join(untold)} to say so"] if untold else [])
    if (change := core.change) is not None and change.query == query:
        if untold := sorted(layout.read_by_change(core.topology) & core.untold.keys()):
            yield f"version {change.version} reads more, and waits for {', '.join(untold)} to know of that"
        silent = ", ".join(replica for replica in change.replicas if replica not in change.promises)
        yield f"it gets version {change.version}: {silent} has not promised yet where, in attempt {change.attempt}"
    for wanted in layout.wanted:
        if wanted.query == query:
            what = f"move from {wanted.leaves} to {wanted.comes}" if wanted.comes else "next version"
            yield f"its {what} waits for {layout.moving or layout.changing or 'others'}"


def _replica(core: Replica, union: SUnion, now: float) -> Iterator[str]:
    if core.recovering:
        yield f"it came back at {core.recovery.born:.2f} s and is mute until it is as far as its inputs"
    for peer, said in core.comparisons[union.spec.stream].differing.items():
        yield f"it made something else of bucket {said.begin} than {peer}: one of both is wrong; start both again, one after the other"
    for port in union.used.values():
        yield from _input(port, core.monitor, now)
    yield from _next_bucket(union, now)
    yield from _promised(core, union)
    yield from (f"{warning.kind}: {warning.detail}" for warning in warnings(union))
    for number, job in core.jobs.running.items():
        if union.outlet.stream in job.outputs:
            kind = "tentative" if job.tentative else "stable"
            yield f"job {number} makes {_buckets(job.begin, job.end)} {kind} since {job.started:.2f} s"
    for kind, trouble in zip(("stable", "tentative"), core.jobs.trouble, strict=True):
        if (failing := trouble.outputs.get(union.outlet.stream)) is not None:
            tries = f"its last {failing.times} {kind} jobs failed, and it is tried again at {failing.again_at:.2f} s"
            yield f"{tries}: {failing.reason}"
    if core.turns.stagger.wanted:
        promised = ", ".join(core.turns.stagger.promised)
        yield f"it keeps answering while {promised} corrects" if promised else "it takes turns in correcting"
    if union.outlet.newest >= union.outlet.frontier:
        yield f"{_buckets(union.outlet.frontier, union.outlet.newest + 1)} may have been given out tentatively, to be corrected"
    yield from _buffer(union.outlet)


def _promised(core: Replica, union: SUnion) -> Iterator[str]:
    plan = core.versions.plan
    if union.outlet.frontier >= plan.limit:
        yield f"nothing from bucket {plan.limit} on is made stable until a change that it promised to wait for is decided"
        yield f"it waits for the catalog to say where version {plan.next_version} begins, or that attempt {plan.attempt} at it is void"


def waits_for(core: Replica, stream: str) -> str | None:
    """Whom an output is held up by that has promised something, in a few words."""
    if not core.unions[stream].held_up:
        return None
    plan = core.versions.plan
    return f"the catalog, to decide where version {plan.next_version} begins: nothing from bucket {plan.limit} on is made stable before"


def _input(port: Port, monitor: Monitor, now: float) -> Iterator[str]:
    offers = monitor.of(port.stream, port.producers)
    told = ", ".join(f"{producer} is in {offer.state}" for producer, offer in offers.items())
    if port.resuming:
        yield f"{port.stream} waits to be told where to begin: {told}"
    elif port.failed(monitor, now):
        yield f"{port.stream} misses bucket {port.frontier}, nothing came since {port.heard:.2f} s: {told}"
    for producer, lane in port.lanes.items():
        number = port.numbers[producer]
        yield f"{port.stream} is read from {producer}, {lane} lane{'s' if lane == 'both' else ''}, subscription {number}"


def _next_bucket(union: SUnion, now: float) -> Iterator[str]:
    bucket = max(union.outlet.frontier, union.outlet.newest + 1)
    missing = [name for name, port in union.read(bucket).items() if port.best(bucket) is None]
    if not missing or union.ready_at(bucket) is None:
        return
    if union.blocked(bucket):
        yield f"bucket {bucket} is blocked: it cannot be computed without {' and '.join(missing)}"
    elif not union.allowed(bucket):
        yield f"bucket {bucket} is held back: too few of its sources are in it"
    elif (deadline := union.next_deadline(now)) < float("inf"):
        yield f"bucket {bucket} waits for {' and '.join(missing)} until {deadline:.2f} s at most"


def _buffer(outlet: Outlet) -> Iterator[str]:
    if outlet.frontier >= outlet.room:
        slowest = min(outlet.readers_expected, key=lambda reader: outlet.needs.get(reader, -1), default="nobody")
        yield f"its buffer is full: {slowest} may still ask for bucket {outlet.needs.get(slowest, outlet.kept_from)}"


def _buckets(begin: int, end: int) -> str:
    return f"bucket {begin}" if end == begin + 1 else f"buckets {begin} to {end - 1}"
