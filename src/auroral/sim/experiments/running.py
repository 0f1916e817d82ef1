"""Diagrams of the experiments, run in virtual time, and the measures that are taken of them (D82)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from auroral.dpc.settings import Policy, Settings
from auroral.dpc.tuples import Tuple, TupleView
from auroral.sim.faults import parse
from auroral.sim.invariants import Delivery, all_is_corrected, observed, stable_in_order, stable_is_right
from auroral.sim.scenario import Costs, Scenario
from auroral.sim.standin import Kind, Query

SOURCES = ("s0", "s1", "s2")
BEGIN = 10.0
"""When the first failure begins."""
AFTER = 10.0
"""Seconds of input after the last failure."""


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
        rows = round(self.rate * self.settings.bucket / len(SOURCES))
        calm = Scenario(self.seed, SOURCES, tuple(queries), replicas, self.settings, self.seconds)
        places = calm.hosts
        return Scenario(
            self.seed,
            SOURCES,
            tuple(queries),
            replicas,
            self.settings,
            self.seconds,
            parse(self.faults, places),
            rows,
            self.costs,
        )


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
        (scenario.rows or 0) * len(SOURCES),
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
