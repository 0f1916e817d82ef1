"""Scenarios run to their end and judged, and a failing schedule made as short as it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from auroral.dpc.events import Deliver, Effect
from auroral.model.errors import AuroralError
from auroral.sim.faults import text, with_their_ends
from auroral.sim.invariants import INVARIANTS
from auroral.sim.invariants.bounds import lateness
from auroral.sim.oracle import Oracle
from auroral.sim.record import EVERY, Recorder, Run
from auroral.sim.scenario import Scenario
from auroral.sim.stage import Stage
from auroral.sim.world import Watcher

AFTER = 10.0
"""Seconds that a run goes on after the last row at most."""
REST = 2.0
"""Seconds that it goes on when all has come: what was said last is heard, and nothing more may come."""
FOUND = 2.0
"""Seconds until all replicas have found one another, be it over some heartbeats: what comes before is late."""
CALM = FOUND + 4.0


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
    violations = tuple(f"{check.__name__}: {found}" for check in INVARIANTS for found in check(run))
    tentative = [one for given in run.deliveries.values() for one in given if not one.stable]
    world = run.stage.world
    rows = sum(one.content.count for one in tentative)
    return Outcome(
        run.scenario, violations, world.events, world.digest, len(tentative), rows, _worst(run), _reconciliations(run)
    )


def observed(scenario: Scenario, *watchers: Watcher) -> Run:
    """The scenario, run to its end."""
    run = Run(Stage(scenario), {}, usual(scenario))
    Recorder(run)
    run.stage.world.watchers.extend(watchers)
    _run_to_its_end(run.stage)
    run.expected = scenario.expected(run.stage.layout.versions)
    oracle = Oracle(scenario)
    run.trees = {stream: list(oracle.trees(run.moments, stream)) for stream in scenario.outputs}
    return run


def _run_to_its_end(stage: Stage) -> None:
    world, last = stage.world, stage.scenario.seconds
    world.run(last + REST)
    while world.now < last + AFTER - REST and not stage.rests:
        world.run(world.now + EVERY)
    world.run(world.now + REST)


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
    while awaited and world.now < CALM + 2:
        world.run(min(world.now + bucket, CALM + 2))
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
    """The shortest schedule that still fails, by leaving out faults (each with its end), halves first."""
    whole = with_their_ends(scenario.faults)
    size = len(whole)
    while size:
        at = 0
        while at < len(whole):
            left = whole[:at] + whole[at + size :]
            tried = replace(scenario, faults=tuple(sorted(fault for one in left for fault in one)))
            if fails(tried):
                whole, scenario = left, tried
            else:
                at += size
        size //= 2
    return scenario
