"""Diagrams of the experiments, run in virtual time, and the measures that are taken of them (D82)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import mean

from auroral.dpc.settings import Policy, Settings
from auroral.dpc.tuples import Tuple, TupleView
from auroral.sim.faults import parse
from auroral.sim.invariants.stable import all_is_corrected, stable_in_order, stable_is_right
from auroral.sim.record import Delivery
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import observed
from auroral.sim.standin import Kind, Query, content, fingerprint

SOURCES = ("s0", "s1", "s2")
BEGIN = 10.0
"""When the first failure begins."""
AFTER = 10.0
"""Seconds of input after the last failure."""


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

    deliveries: tuple[Delivery, ...]
    bucket: float
    buckets: int
    rows: int
    """Of a whole bucket."""
    usual: float
    violations: tuple[str, ...]

    def latencies(self) -> Iterator[tuple[float, float, bool]]:
        """When each bucket, or a newer one, first came, how long after its end, and whether it was tentative."""
        newest = -1
        for one in self.deliveries:
            for bucket in range(newest + 1, one.bucket + 1):
                yield one.at, one.at - (bucket + 1) * self.bucket, not one.stable
            newest = max(newest, one.bucket)

    @property
    def proc_new(self) -> float:
        return max(latency for _, latency, _ in self.latencies())

    @property
    def tentative(self) -> list[Delivery]:
        return [one for one in self.deliveries if not one.stable]

    @property
    def tentative_rows(self) -> int:
        return sum(one.content.count for one in self.tentative)

    def tuples(self) -> list[tuple[float, Tuple]]:
        view = TupleView()
        found = []
        for one in self.deliveries:
            rows = tuple(range(one.content.count))
            given = view.stable(one.bucket, rows) if one.stable else view.tentative(one.bucket, rows)
            found += [(one.at, each) for each in given]
        return found


def run(case: Case) -> Seen:
    scenario = case.scenario()
    seen = observed(scenario)
    kept = (stable_in_order, stable_is_right, all_is_corrected)
    return Seen(
        tuple(seen.deliveries[case.output]),
        case.settings.bucket,
        scenario.buckets,
        case.rows_in_bucket,
        seen.usual[case.output],
        tuple(broken for invariant in kept for broken in invariant(seen)),
    )


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
