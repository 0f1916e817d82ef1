"""A replica that computes something else than the others is found."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Effect, Evaluate, Evaluated, Report
from auroral.sim.scenario import Stage
from auroral.sim.standin import content
from sim.diagrams import chain

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("wrong", ["fa", "fb"])
def test_a_replica_that_computes_something_else_is_named_once(wrong):
    stage = Stage(chain("at 6s crash fb; at 9s restart fb", seconds=20))
    right = stage.world.evaluation[f"f@{wrong}"]

    def evaluate(job: Evaluate) -> Evaluated:
        made = right(job).contents["f.out"]
        return Evaluated(
            job.job, {"f.out": tuple(content((1,)) if b >= 25 else c for b, c in enumerate(made, job.begin))}
        )

    stage.world.evaluation = {**stage.world.evaluation, f"f@{wrong}": evaluate}
    found: list[Report] = []

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Report) and effect.kind == "diverged":
            found.append(effect)

    stage.world.watchers.append(watch)
    stage.world.run(25)
    assert [(r.stream, r.detail) for r in found if r.stream == "f.out"] == [
        ("f.out", "f@fa and f@fb differ in bucket 25")
    ]
