"""Failures of every kind, drawn for a scenario."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from auroral.sim.faults import CATALOG_HOST, VERBS, Fault
from auroral.sim.scenario import CLIENT_HOST, Scenario, host

QUIET = 30.0
"""Virtual seconds after the last fault in which everything must have healed."""
LENGTHS = (0.2, 1.0, 3.0, 8.0, 20.0)
"""Of failures: shorter than it takes to notice them, shorter than X, longer."""
MOST_TRIES = 1000
Draw = random.Random
Pairs = Iterator[tuple[Fault, Fault]]


def random_faults(draw: Draw, scenario: Scenario) -> tuple[Fault, ...]:
    """Five to twenty, each with its end; the same thing does not happen twice at once. Fewer, where there are too few hosts for more."""
    wanted, found = draw.randint(5, 20), list[Fault]()
    busy: dict[tuple[str, str], float] = {}
    for _ in range(MOST_TRIES):
        if _count(found) >= wanted:
            break
        for begin, end in draw.choice(KINDS)(draw, scenario):
            free = all(busy.get(_what(begin, place), -1.0) < begin.at for place in begin.places)
            if free and begin.at < end.at:
                busy |= {_what(begin, place): end.at for place in begin.places}
                found += [begin] if VERBS[begin.verb].end is None else [begin, end]
    return tuple(sorted(found))


def _count(faults: list[Fault]) -> int:
    return sum(not fault.ends for fault in faults)


def _what(fault: Fault, place: str) -> tuple[str, str]:
    """One host does not crash and get unplugged at once, nor is one link cut twice."""
    end = VERBS[fault.verb].end or fault.verb
    return end, place if len(fault.places) == 1 or end in ("restart", "rejoin") else "-".join(sorted(fault.places))


def last_fault(scenario: Scenario) -> float:
    return scenario.seconds - QUIET


def pair_of(
    scenario: Scenario, begin: float, length: float, verb: str, *places: str, one_way: bool = False
) -> tuple[Fault, Fault]:
    begin, end = round(begin, 1), round(min(last_fault(scenario), begin + length), 1)
    last = VERBS[verb].end or verb
    return Fault(begin, verb, places, one_way), Fault(end, last, places, one_way)


def _when(draw: Draw, scenario: Scenario) -> tuple[float, float]:
    return draw.uniform(2, last_fault(scenario) - 1), draw.choice(LENGTHS) * draw.uniform(0.5, 1.5)


def _link(draw: Draw, scenario: Scenario) -> Pairs:
    verb = draw.choice(("cut", "cut", "cut", "slow", "reset"))
    one_way = verb == "cut" and draw.random() < 0.3
    places = draw.choice(scenario.links)
    if draw.random() < 0.5:
        places = places[::-1]
    yield pair_of(scenario, *_when(draw, scenario), verb, *places, one_way=one_way)


def _host(draw: Draw, scenario: Scenario) -> Pairs:
    yield pair_of(scenario, *_when(draw, scenario), "cut", draw.choice(scenario.hosts))


def _node(draw: Draw, scenario: Scenario) -> Pairs:
    nodes = [h for h in scenario.hosts if h not in scenario.sources and h != CLIENT_HOST]
    yield pair_of(scenario, *_when(draw, scenario), draw.choice(("crash", "crash", "unplug")), draw.choice(nodes))


def _edge(draw: Draw, scenario: Scenario) -> Pairs:
    """A source's proxy, or the client's, is down."""
    yield pair_of(
        scenario,
        *_when(draw, scenario),
        draw.choice(("crash", "unplug")),
        draw.choice((*scenario.sources, CLIENT_HOST)),
    )


def _silence(draw: Draw, scenario: Scenario) -> Pairs:
    yield pair_of(scenario, *_when(draw, scenario), "silence", draw.choice(scenario.sources))


def _open(draw: Draw, scenario: Scenario) -> Pairs:
    """Rows come, and no bucket is closed."""
    yield pair_of(scenario, *_when(draw, scenario), "open", draw.choice(scenario.sources))


def _move(draw: Draw, scenario: Scenario) -> Pairs:
    """A replica to another host, or back to one that it left; often one that this concerns crashes meanwhile."""
    query, (begin, _) = draw.choice(scenario.queries), _when(draw, scenario)
    hosts = [host(name) for name in scenario.members(query)]
    leaves = draw.choice(hosts)
    comes = draw.choice([found for letter in "abxyz" if (found := f"{query.name}{letter}") != leaves])
    yield pair_of(scenario, begin, 1.0, "move", leaves, comes)
    if draw.random() < 0.7:
        concerned = draw.choice((*hosts, comes, CATALOG_HOST))
        yield pair_of(scenario, begin + draw.uniform(0, 3), draw.uniform(0.5, 5.0), "crash", concerned)


def _change(draw: Draw, scenario: Scenario) -> Pairs:
    """A query gets another version; often one that this concerns crashes meanwhile."""
    query, (begin, _) = draw.choice(scenario.queries), _when(draw, scenario)
    yield pair_of(scenario, begin, 1.0, "change", query.name)
    if draw.random() < 0.7:
        concerned = draw.choice((*(host(name) for name in scenario.members(query)), CATALOG_HOST))
        yield pair_of(scenario, begin + draw.uniform(0, 3), draw.uniform(0.5, 5.0), "crash", concerned)


def _flapping(draw: Draw, scenario: Scenario) -> Pairs:
    places, (begin, _) = draw.choice(scenario.links), _when(draw, scenario)
    for _ in range(draw.randint(3, 5)):
        yield pair_of(scenario, begin, draw.uniform(0.2, 1.5), "cut", *places)
        begin += draw.uniform(1.6, 3.0)


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
        yield pair_of(scenario, *_when(draw, scenario), "isolate", *sorted(island))


def _all_replicas(draw: Draw, scenario: Scenario) -> Pairs:
    """Of one query, at once."""
    hosts = [host(name) for name in scenario.replica_names(draw.choice(scenario.queries))]
    begin, length = _when(draw, scenario)
    yield pair_of(scenario, begin, min(length, 8.0), "crash", *hosts)


def _depths(draw: Draw, scenario: Scenario) -> Pairs:
    """One after the other: a source, and then replicas that are ever nearer to the client."""
    begin, length = _when(draw, scenario)
    yield pair_of(scenario, begin, length, "silence", draw.choice(scenario.sources))
    for query in draw.sample(scenario.queries, min(2, len(scenario.queries))):
        begin += draw.uniform(0.3, 3.0)
        where = host(draw.choice(scenario.replica_names(query)))
        yield pair_of(scenario, begin, length, draw.choice(("cut", "crash")), where)


KINDS: tuple[Callable[[Draw, Scenario], Pairs], ...] = (
    _link,
    _link,
    _link,
    _host,
    _node,
    _node,
    _edge,
    _silence,
    _silence,
    _open,
    _move,
    _change,
    _flapping,
    _rotation,
    _partition,
    _all_replicas,
    _depths,
)
