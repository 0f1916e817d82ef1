"""Failures of every kind, drawn for a scenario."""

from __future__ import annotations

from collections.abc import Callable

from auroral.sim.faultkinds import Draw, Pairs, any_host, drawn_faults, flapping, last_fault, link, pair_of, when
from auroral.sim.faults import CATALOG_HOST, Fault
from auroral.sim.scenario import CLIENT_HOST, Scenario, host


def random_faults(draw: Draw, scenario: Scenario) -> tuple[Fault, ...]:
    return drawn_faults(draw, scenario, KINDS)


def _node(draw: Draw, scenario: Scenario) -> Pairs:
    nodes = [h for h in scenario.hosts if h not in scenario.sources and h != CLIENT_HOST]
    yield pair_of(scenario, *when(draw, scenario), draw.choice(("crash", "crash", "unplug")), draw.choice(nodes))


def _edge(draw: Draw, scenario: Scenario) -> Pairs:
    """A source's proxy, or the client's, is down."""
    yield pair_of(
        scenario,
        *when(draw, scenario),
        draw.choice(("crash", "unplug")),
        draw.choice((*scenario.sources, CLIENT_HOST)),
    )


def _silence(draw: Draw, scenario: Scenario) -> Pairs:
    yield pair_of(scenario, *when(draw, scenario), "silence", draw.choice(scenario.sources))


def _open(draw: Draw, scenario: Scenario) -> Pairs:
    """Rows come, and no bucket is closed."""
    yield pair_of(scenario, *when(draw, scenario), "open", draw.choice(scenario.sources))


def _move(draw: Draw, scenario: Scenario) -> Pairs:
    """A replica to another host, or back to one that it left; often one that this concerns crashes meanwhile."""
    query, (begin, _) = draw.choice(scenario.queries), when(draw, scenario)
    hosts = [host(name) for name in scenario.members(query)]
    leaves = draw.choice(hosts)
    comes = draw.choice([found for letter in "abxyz" if (found := f"{query.name}{letter}") != leaves])
    yield pair_of(scenario, begin, 1.0, "move", leaves, comes)
    if draw.random() < 0.7:
        concerned = draw.choice((*hosts, comes, CATALOG_HOST))
        yield pair_of(scenario, begin + draw.uniform(0, 3), draw.uniform(0.5, 5.0), "crash", concerned)


def _change(draw: Draw, scenario: Scenario) -> Pairs:
    """A query gets another version; often one that this concerns crashes meanwhile."""
    query, (begin, _) = draw.choice(scenario.queries), when(draw, scenario)
    yield pair_of(scenario, begin, 1.0, "change", query.name)
    if draw.random() < 0.7:
        concerned = draw.choice((*(host(name) for name in scenario.members(query)), CATALOG_HOST))
        yield pair_of(scenario, begin + draw.uniform(0, 3), draw.uniform(0.5, 5.0), "crash", concerned)


def _rotation(draw: Draw, scenario: Scenario) -> Pairs:
    """One source is always down, and another one is before it comes back."""
    begin, length = draw.uniform(2, last_fault(scenario) / 2), draw.uniform(3, 8)
    for turn in range(draw.randint(3, 5)):
        source = scenario.sources[turn % len(scenario.sources)]
        yield pair_of(scenario, begin, length, "silence", source)
        begin += length * draw.uniform(0.6, 0.9)


def _partition(draw: Draw, scenario: Scenario) -> Pairs:
    """Both sides live on: one replica of some queries, with some sources, apart from the rest."""
    island = [host(draw.choice(scenario.replica_names(q))) for q in scenario.queries if draw.random() < 0.7]
    island += [source for source in scenario.sources if draw.random() < 0.5]
    if island:
        yield pair_of(scenario, *when(draw, scenario), "isolate", *sorted(island))


def _all_replicas(draw: Draw, scenario: Scenario) -> Pairs:
    """Of one query, at once."""
    hosts = [host(name) for name in scenario.replica_names(draw.choice(scenario.queries))]
    begin, length = when(draw, scenario)
    yield pair_of(scenario, begin, min(length, 8.0), "crash", *hosts)


def _depths(draw: Draw, scenario: Scenario) -> Pairs:
    """One after the other: a source, and then replicas that are ever nearer to the client."""
    begin, length = when(draw, scenario)
    yield pair_of(scenario, begin, length, "silence", draw.choice(scenario.sources))
    for query in draw.sample(scenario.queries, min(2, len(scenario.queries))):
        begin += draw.uniform(0.3, 3.0)
        where = host(draw.choice(scenario.replica_names(query)))
        yield pair_of(scenario, begin, length, draw.choice(("cut", "crash")), where)


KINDS: tuple[Callable[[Draw, Scenario], Pairs], ...] = (
    link,
    link,
    link,
    any_host,
    _node,
    _node,
    _edge,
    _silence,
    _silence,
    _open,
    _move,
    _change,
    flapping,
    _rotation,
    _partition,
    _all_replicas,
    _depths,
)
