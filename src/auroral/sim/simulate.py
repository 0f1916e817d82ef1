"""Scenarios run to their end and judged, and a failing schedule made as short as it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from auroral.dpc.events import Deliver, Effect
from auroral.model.errors import AuroralError
from auroral.sim.faults import lasting, shortened, text
from auroral.sim.invariants import INVARIANTS, WHERE_ALL_HEALS
from auroral.sim.invariants.bounds import lateness
from auroral.sim.invariants.going import AsItGoes
from auroral.sim.oracle import Oracle
from auroral.sim.record import Recorder
from auroral.sim.scenario import Scenario
from auroral.sim.seen import EVERY, Run
from auroral.sim.stage import Stage
from auroral.sim.world import Watcher

AFTER = 10.0
"""Seconds that a run goes on after the last row at most."""
REST = 2.0
"""Seconds that it goes on when all has come: what was said last is heard, and nothing more may come."""
FOUND = 2.0
"""Seconds until all replicas have found one another, be it over some heartbeats: what comes before is late."""
CALM = FOUND + 3.0
LONGEST = 60.0
"""Seconds that it may take until all of it has come, where jobs take long."""


@dataclass(frozen=True, slots=True)
class Outcome:
    scenario: Scenario
    violations: tuple[str, ...]
    """What was broken, each with the name of its invariant."""
    events: int
    digest: int
    """The same in every run of the same scenario."""
    tentative: int
    """Tentative buckets that the client was given."""
    tentative_rows: int
    worst_delay: float
    """Of anything new, in shares of the bound, where anything could come."""
    reconciliations: tuple[float, ...]
    """Seconds from when a whole tree was there again to when nothing of the client's was tentative any more."""

    def __str__(self) -> str:
        said = [f"seed {self.scenario.seed}: {len(self.violations)} violations", *self.violations[:5]]
        return "\n  ".join([*said, f"schedule: {text(self.scenario.faults)}"])


def simulate(scenario: Scenario, *watchers: Watcher) -> Outcome:
    try:
        run = observed(scenario, *watchers)
    except AuroralError:
        # About what the user asked for, not about a core.
        raise
    except Exception as broken:  # noqa: BLE001  whatever stops a core is a violation, and the other seeds go on
        return Outcome(scenario, (f"a core stopped: {type(broken).__name__}: {broken}",), 0, 0, 0, 0, 0.0, ())
    return judged(run)


def judged(run: Run) -> Outcome:
    """A run that has ended: by what was found broken on its way, or else as a whole."""
    left_out = WHERE_ALL_HEALS if lasting(run.scenario.faults) else ()
    at_the_end = [check for check in INVARIANTS if not isinstance(check, AsItGoes) and check not in left_out]
    violations = tuple(run.broken) or tuple(
        f"{check.__name__}: {found}" for check in at_the_end for found in check(run)
    )
    tentative = [one for given in run.deliveries.values() for one in given if not one.stable]
    world = run.stage.world
    rows = sum(one.content.count for one in tentative)
    return Outcome(
        run.scenario, violations, world.events, world.digest, len(tentative), rows, _worst(run), _reconciliations(run)
    )


def observed(scenario: Scenario, *watchers: Watcher) -> Run:
    """The scenario, run to its end, or to where a guarantee is broken."""
    run = Run(Stage(scenario), {}, usual(scenario))
    Recorder(run)
    run.stage.world.watchers.extend(watchers)
    judge, end = Judge(run), scenario.seconds + REST
    judge.run_to(end)
    while run.now < scenario.seconds + AFTER - REST and not run.stage.rests and not run.broken:
        judge.run_to(run.now + EVERY)
    judge.run_to(run.now + REST)
    return run


class Judge:
    """Looks at a run as it goes."""

    def __init__(self, run: Run) -> None:
        self.run, self.oracle = run, Oracle(run.scenario)
        self.versions = self._versions()
        run.expected = run.scenario.expected(run.stage.layout.versions)
        run.trees = {stream: [] for stream in run.scenario.outputs}
        self.judging = {check.__name__: check.begin(run) for check in INVARIANTS if isinstance(check, AsItGoes)}

    def run_to(self, end: float) -> None:
        """If nothing is found broken before."""
        while self.run.now < end and not self.run.broken:
            self.run.stage.world.run(min(self.run.now + EVERY, end))
            self._look()

    def _versions(self) -> dict[str, tuple[int, ...]]:
        return {query: decision.starts for query, decision in self.run.stage.layout.versions.items()}

    def _look(self) -> None:
        run = self.run
        self.oracle.grow(run.trees, run.moments)
        if (versions := self._versions()) != self.versions:
            self.versions = versions
            run.expected = run.scenario.expected(run.stage.layout.versions)
        for name, judging in self.judging.items():
            for words in judging:
                if words is None:
                    break
                run.broken.append(f"{name}: {words}")


def usual(scenario: Scenario) -> dict[str, float]:
    """How long after its end a bucket of each output comes, without failures."""
    calm, bucket = replace(scenario, seconds=CALM, faults=(), failing_jobs=0.0), scenario.settings.bucket
    found = dict.fromkeys(scenario.outputs, 0.0)

    awaited = set(scenario.outputs)

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Deliver) and effect.bucket * bucket >= FOUND:
            found[effect.stream] = max(found[effect.stream], now - (effect.bucket + 1) * bucket)
            if effect.stable and effect.bucket == calm.buckets - 1:
                awaited.discard(effect.stream)

    world = Stage(calm).world
    world.watchers.append(watch)
    # Nothing comes behind the last bucket.
    while awaited and world.now < CALM + LONGEST:
        world.run(world.now + bucket)
    return found


def same_again(scenario: Scenario) -> bool:
    """The same seed gives the same run."""
    return len({simulate(scenario).digest for _ in range(2)}) == 1


def _worst(run: Run) -> float:
    late = [late for stream in run.usual for late, excused in lateness(run, stream) if not excused]
    return max(late, default=0.0) / run.scenario.settings.bound


def _reconciliations(run: Run) -> tuple[float, ...]:
    found = []
    for stream, trees in run.trees.items():
        shown: set[int] = set()
        events = sorted([*((one.at, 0, one.bucket, one.stable) for one in run.deliveries.get(stream, []))])
        healed = iter(tree.stable_since for tree in trees if tree.stable_since is not None)
        times = sorted(set(healed))
        for at, _, bucket, stable in events:
            before = bool(shown)
            (shown.discard if stable else shown.add)(bucket)
            if before and not shown:
                since = max((time for time in times if time <= at), default=None)
                found += [] if since is None else [at - since]
    return tuple(found)


def shrunk(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """With the shortest schedule that still fails."""
    return replace(scenario, faults=shortened(scenario.faults, lambda faults: fails(replace(scenario, faults=faults))))
