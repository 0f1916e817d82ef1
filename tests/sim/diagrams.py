"""Diagrams that directed simulations share."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.settings import Settings
from auroral.sim.faults import parse
from auroral.sim.scenario import Scenario
from auroral.sim.standin import Kind, Query


def folded(schedule: str, seconds: float = 50, durable: str = "", **settings: object) -> Scenario:
    """Two sources, united, filtered, and folded over all of the past, each on two nodes."""
    queries = (
        Query("u", Kind.UNION, ("s", "t")),
        Query("g", Kind.FOLD, ("u.out",)),
        Query("f", Kind.FILTER, ("g.out",)),
    )
    given = Settings(**{"bucket": 0.5, "bound": 3.0, "snapshot_every": 8, **settings})
    scenario = Scenario(7, ("s", "t"), queries, {"u": 2, "g": 2, "f": 2}, given, seconds, durable=frozenset(durable))
    return replace(scenario, faults=parse(schedule, scenario.hosts))


def chain(schedule: str, seconds: float = 50, durable: str = "", **settings: object) -> Scenario:
    """Two sources, united, filtered and put into windows, each on two nodes."""
    queries = (
        Query("u", Kind.UNION, ("s", "t")),
        Query("f", Kind.FILTER, ("u.out",)),
        Query("w", Kind.WINDOW, ("f.out",), 3),
    )
    given = Settings(**{"bucket": 0.5, "bound": 3.0, **settings})
    scenario = Scenario(7, ("s", "t"), queries, {"u": 2, "f": 2, "w": 2}, given, seconds, durable=frozenset(durable))
    return replace(scenario, faults=parse(schedule, scenario.hosts))
