"""What is on a disk goes with its replica: nobody may go over to one that lacks what it would need again after a crash."""

from __future__ import annotations

import pytest

from auroral.dpc.settings import Settings
from auroral.sim.faults import parse
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import simulate
from auroral.sim.stage import Stage
from auroral.sim.standin import Kind, Query

pytestmark = pytest.mark.slow

FIRST = Query("u", Kind.UNION, ("s",))
FILTER = Query("f", Kind.FILTER, ("u.out",))
WINDOW = Query("w", Kind.WINDOW, ("u.out",), 20)
FOLD = Query("g", Kind.FOLD, ("u.out",))
ALL_DOWN = "at {t}s crash {who}; at 22s restart {who}"


def durable(queries: tuple[Query, ...], replicas: int, schedule: str) -> Scenario:
    names = [query.name for query in queries]
    counts = dict.fromkeys(names, replicas)
    settings = Settings(bucket=0.5, bound=3.0)
    return Scenario(7, ("s",), queries, counts, settings, 60, durable=frozenset(names), faults=parse(schedule))


@pytest.mark.parametrize(
    ("queries", "replicas", "schedule"),
    [
        ((FIRST,), 1, "at 9s crash c; at 10s move ua-uc; at 20s restart c"),
        ((FIRST, FILTER), 1, "at 9s crash fa; at 10s move ua-uc; at 20s restart fa"),
        ((FIRST, WINDOW), 1, "at 15s move ua-uc; at 20s crash wa; at 22s restart wa"),
        ((FIRST, WINDOW), 2, "at 15s move ua-uc; at 17s move ub-ud; at 21s crash wa; at 22s restart wa"),
        ((FIRST, WINDOW), 2, "at 15s move ua-uc; at 20s crash wa-wb; at 22s restart wa-wb"),
        ((FIRST, WINDOW), 2, "at 15s move ua-uc; " + ALL_DOWN.format(t=20, who="ub-uc-wa-wb-c")),
        ((FIRST, WINDOW), 2, "at 15s move ub-ud; " + ALL_DOWN.format(t=20, who="ua-ud-wa-wb-c")),
        ((FIRST, WINDOW), 2, "at 15s move ua-uc; at 17s move ub-ud; " + ALL_DOWN.format(t=21, who="uc-ud-wa-wb-c")),
        ((FIRST, FOLD), 2, "at 15s move ua-uc; at 17s move ub-ud; " + ALL_DOWN.format(t=20, who="uc-ud-ga-gb-c")),
        ((FIRST, FOLD), 2, "at 15s move ua-uc; " + ALL_DOWN.format(t=20, who="uc-ub-ga-gb-c")),
        ((FIRST, FOLD), 1, "at 15s move ua-uc; at 18s crash ga; at 22s restart ga"),
    ],
)
def test_nothing_is_lost_with_the_disks_that_are_left(queries: tuple[Query, ...], replicas: int, schedule: str) -> None:
    outcome = simulate(durable(queries, replicas, schedule))
    assert not outcome.violations, str(outcome)


@pytest.mark.parametrize("lost", ["ua", "ub"])
def test_a_reader_begins_with_a_replica_that_has_what_it_needs(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One producer lost its disk, and began late; then the only reader comes back."""
    scenario = durable(
        (FIRST, WINDOW), 2, f"at 15s crash {lost}; at 16s restart {lost}; at 20s crash wa-wb; at 22s restart wa-wb"
    )
    come_back = Stage._come_back

    def without_disk(self: Stage, name: str) -> None:
        if name == f"u@{lost}":
            self.world.disks.lose(name)
        come_back(self, name)

    monkeypatch.setattr(Stage, "_come_back", without_disk)
    outcome = simulate(scenario)
    assert not outcome.violations, str(outcome)
