"""A replica that computes something else than the others is found."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Effect, Evaluate, Evaluated, Report
from auroral.dpc.replica import Replica
from auroral.dpc.states import State
from auroral.sim.stage import Stage
from auroral.sim.standin import content
from sim.scenarios import chain

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("wrong", ["fa", "fb"])
def test_replicas_that_differ_both_fail_and_say_where(wrong):
    """The output fails wherever it goes, and what is stable goes on coming."""
    stage = Stage(chain("at 6s crash fb; at 9s restart fb", seconds=20))
    right = stage.world.evaluation

    def evaluate(name: str, job: Evaluate) -> Evaluated:
        made = right(name, job)
        if name != f"f@{wrong}":
            return made
        contents = enumerate(made.contents["f.out"], job.begin)
        return Evaluated(job.job, {"f.out": tuple(content((1,)) if bucket >= 25 else c for bucket, c in contents)})

    stage.world.evaluation = evaluate
    found: list[Report] = []

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Report) and effect.kind == "diverged":
            found.append(effect)

    stage.world.watchers.append(watch)
    stage.world.run(20.3)
    assert [(r.stream, r.detail) for r in found if r.stream == "f.out"] == [
        ("f.out", "f@fa and f@fb differ in bucket 25"),
        ("f.out", "f@fb and f@fa differ in bucket 25"),
    ]
    states = {name: core.unions[stream].noted for name, core in replicas(stage) for stream in core.unions}
    failed = {name for name, state in states.items() if state is State.FAILURE}
    assert failed == {"f@fa", "f@fb", "w@wa", "w@wb"}
    assert stage.world.cores["client"].ports["w.out"].frontier == 40


def replicas(stage: Stage) -> list[tuple[str, Replica]]:
    return [(name, core) for name, core in stage.world.cores.items() if isinstance(core, Replica)]
