"""A replica that computes something else than the others is found."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Effect, Evaluate, Evaluated, Report
from auroral.sim.stage import Stage
from auroral.sim.standin import content
from sim.scenarios import chain

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("wrong", ["fa", "fb"])
def test_a_replica_that_computes_something_else_is_named_once(wrong):
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
    stage.world.run(25)
    assert [(r.stream, r.detail) for r in found if r.stream == "f.out"] == [
        ("f.out", "f@fa and f@fb differ in bucket 25")
    ]
