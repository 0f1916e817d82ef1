"""Diagrams of the experiments, run in virtual time, and what their client saw. What is measured is said in `auroral.dpc.metrics`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import mean

from auroral.dpc.events import Deliver, Effect, Event
from auroral.dpc.metrics import Measured, Metrics, New
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.tuples import Tuple, TupleView
from auroral.sim.faults import parse
from auroral.sim.invariants.stable import all_is_corrected, stable_in_order, stable_is_right
from auroral.sim.scenario import CLIENT, Scenario
from auroral.sim.seen import Delivery, Run
from auroral.sim.stage import Stage
from auroral.sim.standin import Kind, Query, content, fingerprint

SOURCES = ("s0", "s1", "s2")
BEGIN = 10.0
"""When the first failure begins."""
AFTER = 10.0
"""Seconds of input after the last failure."""
LONG_JOBS = (
    "a job takes longer than a bucket here, and what is new meanwhile is guessed though nothing else holds it up"
)
"""Why what holds with short jobs may not."""
SETTLING = 10.0
"""Seconds that a run goes on after the last row."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that a job takes: to begin, for each bucket, for each row that it reads."""

    begin: float = 0.03
    bucket: float = 0.002
    row: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """A chain of `depth` nodes, the first of which merges three streams with `rate` rows a second together."""

    faults: str
    seconds: float
    settings: Settings
    costs: Costs
    rate: int
    depth: int = 1
    replicas: int = 1
    seed: int = 0

    @property
    def output(self) -> str:
        return f"n{self.depth - 1}.out"

    def scenario(self) -> Scenario:
        queries = [Query("n0", Kind.UNION, SOURCES)]
        queries += [Query(f"n{i}", Kind.UNION, (f"n{i - 1}.out",)) for i in range(1, self.depth)]
        replicas = {query.name: self.replicas for query in queries}
        count, buckets = self.rows_in_bucket // len(SOURCES), int(self.seconds / self.settings.bucket)
        rows = {
            source: tuple(
                content(tuple(fingerprint(self.seed, number, bucket, row) for row in range(count)))
                for bucket in range(buckets)
            )
            for number, source in enumerate(SOURCES)
        }
        calm = Scenario(self.seed, SOURCES, tuple(queries), replicas, self.settings, self.seconds, rows=rows)
        costs = self.costs
        return replace(
            calm, faults=parse(self.faults, calm.hosts), job=costs.begin, job_bucket=costs.bucket, job_row=costs.row
        )

    @property
    def rows_in_bucket(self) -> int:
        return round(self.rate * self.settings.bucket / len(SOURCES)) * len(SOURCES)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the client saw of the output."""

    measured: Measured
    new: tuple[New, ...]
    deliveries: tuple[Delivery, ...]
    bucket: float
    rows: int
    """Of a whole bucket."""
    violations: tuple[str, ...]

    @property
    def tentative(self) -> list[Delivery]:
        return [one for one in self.deliveries if not one.stable]

    def tuples(self) -> list[tuple[float, Tuple]]:
        view = TupleView()
        found = []
        for one in self.deliveries:
            rows = tuple(range(one.content.count))
            given = view.stable(one.bucket, rows) if one.stable else view.tentative(one.bucket, rows)
            found += [(one.at, each) for each in given]
        return found


def run(case: Case) -> Seen:
    found, metrics = watched(Stage(case.scenario()))
    stream = metrics.streams[case.output]
    return Seen(
        stream.measured,
        tuple(stream.new),
        tuple(found.deliveries[case.output]),
        case.settings.bucket,
        case.rows_in_bucket,
        violations(found),
    )


def watched(stage: Stage) -> tuple[Run, Metrics]:
    """Run to the end, with all that the client was given, and its measures."""
    scenario = stage.scenario
    found, metrics = Run(stage, scenario.expected(), {}), Metrics(scenario.settings.bucket)

    def observe(now: float, core: str, event: Event, effects: list[Effect]) -> None:
        if core == CLIENT:
            metrics.saw(now, event, effects)
            for effect in effects:
                if isinstance(effect, Deliver):
                    given = Delivery(now, effect.bucket, effect.content, effect.stable)
                    found.deliveries.setdefault(effect.stream, []).append(given)

    stage.world.observers.append(observe)
    stage.world.run(scenario.seconds + SETTLING)
    return found, metrics


def violations(found: Run) -> tuple[str, ...]:
    kept = (stable_in_order, stable_is_right, all_is_corrected)
    return tuple(broken for invariant in kept for broken in invariant(found))


def policies(failing: Policy, correcting: Policy) -> str:
    return f"{failing.name.capitalize()} & {correcting.name.capitalize()}"


def straightness(points: list[tuple[float, float]]) -> float:
    """How close points are to a line: the square of their correlation."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    mx, my = mean(xs), mean(ys)
    across = sum((x - mx) * (y - my) for x, y in points)
    spread = sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys)
    return across**2 / spread if spread else 0.0


def slope(points: list[tuple[float, float]]) -> float:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    mx, my = mean(xs), mean(ys)
    return sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x in xs)
