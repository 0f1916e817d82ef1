"""What was guessed right is not computed again (early cut-off)."""

from __future__ import annotations

from collections import defaultdict

import pytest

from auroral.dpc.events import Effect, Evaluate, Report
from auroral.dpc.settings import Settings
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import simulate
from auroral.sim.standin import Kind, Query, content
from sim.scenarios import scheduled

pytestmark = pytest.mark.slow

SECONDS, BUCKET = 30, 0.5


def scenario(last: Kind, rows: bool) -> Scenario:
    """Two sources, united, and a window or a fold of that on a second node. t is silent for a while, and has rows or none."""
    buckets = range(int(SECONDS / BUCKET))
    queries = (Query("u", Kind.UNION, ("s", "t")), Query("w", last, ("u.out",), 3 if last is Kind.WINDOW else 1))
    settings, replicas = Settings(bucket=BUCKET, bound=3.0), {"u": 1, "w": 1}
    given = {
        "s": tuple(content((2 * b,)) for b in buckets),
        "t": tuple(content((2 * b + 1,) if rows else ()) for b in buckets),
    }
    found = Scenario(7, ("s", "t"), queries, replicas, settings, SECONDS, rows=given)
    return scheduled(found, "at 8s silence t; at 15s resume t")


@pytest.mark.parametrize("last", [Kind.WINDOW, Kind.FOLD])
@pytest.mark.parametrize("rows", [False, True])
def test_a_second_node_behind_one_that_confirms_computes_nothing_again(last: Kind, rows: bool):
    guessed: dict[str, set[int]] = defaultdict(set)
    again: dict[str, set[int]] = defaultdict(set)
    right: dict[str, int] = defaultdict(int)

    def watch(_: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Evaluate):
            buckets = set(range(effect.begin, effect.end))
            if effect.tentative:
                guessed[core] |= buckets
            else:
                again[core] |= buckets & guessed[core]
        elif isinstance(effect, Report) and effect.kind == "guessed right":
            right[core] += effect.count

    outcome = simulate(scenario(last, rows), watch)
    assert not outcome.violations, str(outcome)
    first, second = "u@ua", "w@wa"
    assert len(guessed[first]) > 5 and len(guessed[second]) > 5
    assert again[first] == guessed[first], "an input was missing"
    if rows:
        assert again[second] == guessed[second] and not right[second]
    else:
        assert not again[second] and right[second] == len(guessed[second])
