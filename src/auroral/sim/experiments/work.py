"""What it takes to correct a failure: a diagram of boxes side by side, and all that its nodes compute and send again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import mean

from auroral.dpc.events import Effect, Evaluate, Evaluated, Event, Report, Send
from auroral.dpc.replica import Replica
from auroral.dpc.settings import Settings
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Confirm, Content, Stable, Tentative
from auroral.sim.experiments.running import Costs, violations, watched
from auroral.sim.faults import parse
from auroral.sim.scenario import Scenario
from auroral.sim.stage import Stage
from auroral.sim.standin import fingerprint

BOXES = 3
"""Side by side, each with two streams of its own."""
FAILURE, BOUND, BUCKET = 5.0, 1.0, 0.2
MASK = (1 << 61) - 1
SETTLED, AFTER = 3.0, 3.0
"""Seconds between full windows and the failure, and of input after it."""
PHASES = (0.0, 0.07, 0.13)
"""Parts of a bucket after which the failure begins: a correction that just misses a job waits for it."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """A node of boxes that pass rows on and look back over a window. Only how many rows there are is told, and a hash of them."""

    name: str
    reads: Mapping[str, tuple[str, ...]]
    """Of each box's output."""
    horizon: int
    as_one: bool
    """Whether what one box misses holds up all, as where a node is restored from a checkpoint."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for names in self.reads.values() for name in names)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self.reads)

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        return tuple(
            OutputSpec(s, dict.fromkeys(self.inputs if self.as_one else own, self.horizon), (frozenset(own),), ())
            for s, own in self.reads.items()
        )

    def evaluate(self, asked: Evaluate) -> Evaluated:
        buckets = range(asked.begin, asked.end)
        return Evaluated(asked.job, {s: tuple(self._bucket(asked, s, b) for b in buckets) for s in asked.outputs}, {})

    def _bucket(self, asked: Evaluate, stream: str, bucket: int) -> Content:
        views = [asked.view[name] for name in self.reads[stream]]
        window = range(max(0, bucket - self.horizon + 1), bucket + 1)
        read = [view[b] for view in views for b in window if b in view]
        # Python's own hash of numbers is the same in every process, and long windows are hashed often.
        hashed = hash(tuple(content.hash for content in read if content.count))
        return Content(hashed & MASK, sum(view[bucket].count for view in views if bucket in view))


@dataclass(frozen=True, slots=True)
class Work:
    costs: Costs
    rate: int
    """Rows a second, of all streams."""
    state: int = 0
    """Rows in the windows of all boxes."""
    changed: float = 1.0
    """The share of buckets in which the stream that fails has rows."""
    depth: int = 1
    as_one: bool = False
    cut_off: bool = False
    """Whether what was guessed right is neither computed nor sent again; else nothing is remembered that could have been."""
    phase: float = 0.0

    @property
    def horizon(self) -> int:
        return 1 + round(self.state / (self.rate * BUCKET))

    @property
    def begin(self) -> float:
        """Of the failure: windows are full."""
        return self.horizon * BUCKET + SETTLED + self.phase

    @property
    def healed(self) -> float:
        return self.begin + FAILURE

    def scenario(self) -> Scenario:
        sources = tuple(f"s{i}" for i in range(2 * BOXES))
        nodes: list[Boxes] = []
        reads = [sources[2 * i : 2 * i + 2] for i in range(BOXES)]
        for level in range(self.depth):
            boxes = {f"n{level}.b{i}": own for i, own in enumerate(reads)}
            nodes.append(Boxes(f"n{level}", boxes, self.horizon, self.as_one))
            reads = [(stream,) for stream in boxes]
        seconds, count = self.healed + AFTER, round(self.rate * BUCKET / len(sources))
        rows = {
            source: tuple(
                Content(fingerprint(number, bucket), count if number or self._has_rows(bucket) else 0)
                for bucket in range(int(seconds / BUCKET))
            )
            for number, source in enumerate(sources)
        }
        replicas, settings = {node.name: 1 for node in nodes}, Settings(bucket=BUCKET, bound=BOUND)
        skews, costs = dict.fromkeys(sources, 0.0), self.costs
        hosts = (*sources, *(f"{node.name}a" for node in nodes))
        faults = parse(f"at {self.begin:g}s silence s0; at {self.healed:g}s resume s0", hosts)
        return Scenario(
            0, sources, tuple(nodes), replicas, settings, seconds, faults,
            costs.begin, costs.bucket, costs.row, skews=skews, rows=rows,
        )  # fmt: skip

    def _has_rows(self, bucket: int) -> bool:
        return int((bucket + 1) * self.changed) > int(bucket * self.changed)


@dataclass(slots=True)
class Done:
    """What was computed and sent again, of buckets that had been given out tentatively."""

    begin: float
    reconciliation: float = 0.0
    computed: int = 0
    """Buckets of all boxes."""
    others: int = 0
    """Those of boxes that the stream that failed does not lead to."""
    behind: int = 0
    """Those of nodes behind the first."""
    spared: int = 0
    """Buckets that were final as they had been guessed, without being computed again."""
    read: int = 0
    """Rows that jobs read for it."""
    sent: int = 0
    confirmed: int = 0
    """Rows that were not sent, as they are what was guessed."""
    held: int = 0
    """Rows that the first node held when the failure healed."""
    twice_before: int = 0
    """Buckets that were computed more than once before the failure."""
    violations: tuple[str, ...] = ()
    given: set[tuple[str, int]] = field(default_factory=set)
    """Tentatively."""
    final: set[tuple[str, int]] = field(default_factory=set)

    @property
    def corrected(self) -> int:
        """Rows that would be sent if results were not compared."""
        return self.sent + self.confirmed

    def computes(self, now: float, job: Evaluate) -> None:
        asked = {(stream, bucket) for stream in job.outputs for bucket in range(job.begin, job.end)}
        if now < self.begin:
            self.twice_before += len(asked & self.final) + (len(asked) if job.tentative else 0)
        if job.tentative:
            return
        self.final |= asked
        again = asked & self.given
        self.computed += len(again)
        self.others += sum(not stream.endswith(".b0") for stream, _ in again)
        self.behind += sum(not stream.startswith("n0.") for stream, _ in again)
        self.read += sum(content.count for view in job.view.values() for content in view.values()) if again else 0

    @property
    def guessed_behind(self) -> int:
        """Buckets that nodes behind the first gave out tentatively."""
        return sum(not stream.startswith("n0.") for stream, _ in self.given)

    def sends(self, core: Replica, message: object) -> None:
        match message:
            case Tentative(stream=stream, bucket=bucket):
                self.given.add((stream, bucket))
            case Stable(stream=stream, begin=begin, contents=contents):
                rows = [c.count for bucket, c in enumerate(contents, begin) if (stream, bucket) in self.given]
                self.sent += sum(rows)
            case Confirm(stream=stream, begin=begin, hashes=hashes):
                kept = core.outlets[stream].kept
                self.confirmed += sum(kept[bucket].count for bucket in range(begin, begin + len(hashes)))
            case _:
                pass


def done(work: Work) -> Done:
    """Of the first run; times are the mean of several, as published."""
    found = [_done(replace(work, phase=phase)) for phase in PHASES]
    found[0].reconciliation = mean(one.reconciliation for one in found)
    found[0].violations = tuple(violation for one in found for violation in one.violations)
    return found[0]


def _done(work: Work) -> Done:
    stage, found = Stage(work.scenario()), Done(work.begin)

    def observe(now: float, name: str, event: Event, effects: list[Effect]) -> None:
        core = stage.world.cores[name]
        if isinstance(core, Replica):
            for effect in effects:
                if isinstance(effect, Evaluate):
                    found.computes(now, effect)
                elif isinstance(effect, Send):
                    found.sends(core, effect.message)
                elif isinstance(effect, Report) and effect.kind == "guessed right":
                    found.spared += effect.count

    def look() -> None:
        core = stage.world.cores["n0@n0a"]
        assert isinstance(core, Replica)
        held = [content for port in core.ports.values() for content in port.stable.values()]
        found.held = sum(content.count for content in held)

    if not work.cut_off:
        for core in stage.world.cores.values():
            if isinstance(core, Replica):
                for union in core.unions.values():
                    union.guessed.most = 0
    stage.world.observers.append(observe)
    stage.world.at(work.healed, look)
    run, metrics = watched(stage)
    found.violations = violations(run)
    found.reconciliation = metrics.diagram.reconciliation(work.healed)
    return found
