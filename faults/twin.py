"""The twin of a real run: the same rows and the same failures, at the times at which they really happened, in the simulator.

What of a run is chance is how long messages and jobs take, and how soon a failure tells: a process that is told to cut off another does so
a little later. So the twin is run several times, with jobs of several lengths, also of different ones in one run, and failures that begin and end
a little later: what it does in each of these the real run must have done as well, and what it does in none, the real run must not have done.

Of a state that lasts no longer than a heartbeat is chance, besides, whether anybody hears of it: a replica whose upstream has corrected everything
before it asks again how that is goes from UP_FAILURE to STABLE at once, and otherwise corrects in between. So the real run may pass over a state that
is so short in some run of the twin, and need not be in it; and where it is in one for so short, as in FAILURE until the first of two heartbeats
that came together is read, it counts as having passed it over, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import median
from typing import Any

from faults.deployment import SITES
from faults.watching import Delivered

from auroral.dpc.events import Effect, Evaluate, Evaluated, Event, Failed, Started
from auroral.dpc.replica import Replica
from auroral.dpc.transitions import RECOVERING, UNBORN, Transitions
from auroral.dpc.values import Content
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ, STIME
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.processes import Fleet
from auroral.node.runfolder import RunFolder
from auroral.reference.rows import Row
from auroral.sim.diagrams import Trial
from auroral.sim.faults import Fault, with_their_ends
from auroral.sim.invariants.bounds import Lateness
from auroral.sim.network import SLOWER
from auroral.sim.record import Delivery, Run
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import observed
from auroral.sim.stage import Stage

Changes = dict[str, set[tuple[str, str, str]]]
"""By node: from which state, by what, to which."""
JOBS = (0.05, 0.2, 0.5, 1.2)
"""Seconds that a job takes: on a machine that has other things to do, any of these."""
SEEDS = (0, 1, 2)
LATER = 1.0
"""Seconds by which a failure may tell later than it was made."""
OUTSIDE, JOB, BEGINNING = "outside", "job", "beginning"
Path = list[tuple[float, str, str]]
"""When an output came into which state, and by what."""


def cause(event: str) -> str:
    """What kind of event brought a state about: a job of its own, its beginning, or something outside. Of this, whether it was that somebody
    said something, or was silent for too long, or that the connection broke, is chance: whichever is noticed first."""
    if event in (Evaluated.__name__, Failed.__name__):
        return JOB
    return BEGINNING if event == Started.__name__ else OUTSIDE


@dataclass(frozen=True, slots=True)
class Twin:
    trial: Trial
    scenario: Scenario
    began: float
    """The clock, when the twin's first bucket began."""

    @classmethod
    def of(cls, fleet: Fleet, trial: Trial, happened: Sequence[Fault]) -> Twin:
        """Of a run that has ended."""
        rows = {site: _logged(fleet, site) for site in SITES}
        began = trial.first(rows) * trial.interval / 1e6
        faults = tuple(sorted(replace(fault, at=max(0.0, fault.at - began)) for fault in happened))
        return cls(trial, trial.scenario(rows, faults), began)

    def may_and_must(self) -> tuple[Changes, Changes]:
        """The changes of state that some way of it goes through, and those that all do."""
        each = list(self._ways())
        nodes = {node for one in each for node in one}
        lasting = [{node: self.lasting(one.get(node, [])) for node in nodes} for one in each]
        may = {
            node: set[tuple[str, str, str]]().union(
                *(changes(one.get(node, [])) | of[node] for one, of in zip(each, lasting, strict=True))
            )
            for node in nodes
        }
        return may, {node: set.intersection(*(one[node] for one in lasting)) for node in nodes}

    def lasting(self, paths: list[Path]) -> set[tuple[str, str, str]]:
        """The changes of state, where those that lasted too short to be heard of are passed over."""
        return changes([self._lasting(path) for path in paths])

    def _ways(self) -> Iterator[dict[str, list[Path]]]:
        for seed in SEEDS:
            for jobs in (*((job,) for job in JOBS), JOBS):
                draw = Random(f"{seed} {jobs}")
                scenario = replace(self.scenario, seed=seed, job=max(jobs), faults=_shaken(self.scenario.faults, draw))
                yield _paths(scenario, lambda _, draw=draw, jobs=jobs: draw.choice(jobs))

    def _lasting(self, path: Path) -> Path:
        """Without the states that lasted too short to be heard of."""
        shortest = self.scenario.settings.ping_every + self.scenario.settings.hop
        found: Path = []
        for number, (at, by, state) in enumerate(path):
            ends = path[number + 1][0] if number + 1 < len(path) else float("inf")
            begins = by == BEGINNING
            if not begins and state != RECOVERING and ends - at < shortest:
                continue
            if not found or begins or found[-1][2] != state:
                found.append((at, by, state))
        return found

    def run(self) -> Run:
        """With all rows."""
        return observed(self.scenario)

    def output(self, run: Run, stream: str) -> list[tuple[Any, ...]]:
        """What is stable in the end: the stime of each row, and its values."""
        stable = [row for one in run.deliveries[stream] if one.stable for row in one.content.rows]
        return sorted((row.stime, *row.values) for row in stable)

    def late(self, run: Run, stream: str, delivered: Sequence[Delivered], first: int) -> Iterator[str]:
        """What of the real run's answers came more than X later than usual, though there was a way for it, by the rule of the simulation.

        `first` is the number of the real run's first bucket since 1970."""
        settings = self.scenario.settings
        offset = first - round(self.began / settings.bucket)
        found = [
            Delivery(one.at - self.began, one.bucket + offset, Content(0, 0), one.kind != "tentative")
            for one in delivered
        ]
        usual = median(one.at - (one.bucket + 1) * settings.bucket for one in found if one.stable)
        judged = Lateness(replace(run, usual={**run.usual, stream: usual}), stream)
        judged.first = found[0].bucket
        slow = [fault.at for fault in self.scenario.faults if fault.verb == "slow"]
        # As within_the_bound has it: what slow links take longer comes on top.
        most = settings.bound + (SLOWER * 3 if slow else 0.0)
        for one in found:
            for bucket, by, _ in judged.came(one):
                if by >= most:
                    yield f"bucket {bucket} came {by:.2f} s late, at {one.at:.2f} s"


def _shaken(faults: Sequence[Fault], draw: Random) -> tuple[Fault, ...]:
    """Each a little later. One that is over by then has not been."""
    found: list[Fault] = []
    for one in with_their_ends(faults):
        later = [replace(fault, at=fault.at + draw.uniform(0.0, LATER)) for fault in one]
        if sorted(later) == later:
            found += later
    return tuple(sorted(found))


def real_paths(fleet: Fleet) -> dict[str, list[Path]]:
    """By node, of each of its outputs."""
    found: dict[tuple[str, str], Path] = defaultdict(list)
    for event in events_in(fleet.deployed.folder):
        if event["event"] == "state":
            found[event["process"], event["stream"]].append((event["at"], cause(event["by"]), event["state"]))
    return _by_node(found)


def _by_node(paths: dict[tuple[str, str], Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for (node, _), path in paths.items():
        found[node].append(path)
    return dict(found)


def changes(paths: list[Path]) -> set[tuple[str, str, str]]:
    return {step for path in paths for step in _steps(path)}


def _change(before: str, why: str, after: str) -> Iterator[tuple[str, str, str]]:
    """As it counts: one that comes back does not remember its state, and with the first beginning of all, nothing has happened yet."""
    if why == BEGINNING and after == RECOVERING:
        yield UNBORN, why, after
    elif why != BEGINNING and before != UNBORN:
        yield before, why, after


def _paths(scenario: Scenario, job_seconds: Callable[[Evaluate], float]) -> dict[str, list[Path]]:
    """By node, of each of its outputs."""
    stage, seen = Stage(scenario), Transitions()
    stage.world.job_seconds = job_seconds
    found: dict[tuple[str, str], Path] = defaultdict(list)

    def look(now: float, name: str, event: Event, effects: list[Effect]) -> None:
        core = stage.world.cores.get(name)
        if isinstance(core, Replica):
            for one in seen.of(name, core, event):
                found[name.rpartition("@")[2], one.stream].append((now, cause(one.by), one.after))

    stage.world.observers.append(look)
    stage.world.run(scenario.seconds)
    return _by_node(found)


def _steps(path: Path) -> Iterator[tuple[str, str, str]]:
    before = UNBORN
    for _, why, after in path:
        yield from _change(before, why, after)
        before = after


def _logged(fleet: Fleet, site: str) -> list[Row]:
    """The rows of a source, as it stamped them."""
    given = fleet.deployed.checked.diagram.input(site)
    assert given is not None
    with SourceLog.open(RunFolder.look(fleet.deployed.folder).source(site), given.schema, readonly=True) as log:
        rows = log.read().to_pylist()
    return [Row(row[STIME], tuple(row[name] for name in given.schema.names), (row[SEQ],)) for row in rows]
