"""Failures drawn from a seed: when, how long, and of what; the same for every protocol that is simulated."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from auroral.sim.faults import VERBS, Fault

QUIET = 30.0
"""Virtual seconds after the last fault in which everything must have healed."""
LENGTHS = (0.2, 1.0, 3.0, 8.0, 20.0)
"""Of failures: shorter than it takes to notice them, shorter than X, longer."""
MOST_TRIES = 1000
Draw = random.Random


class Places(Protocol):
    """Where something can fail, and until when."""

    @property
    def seconds(self) -> float: ...
    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def links(self) -> list[tuple[str, str]]: ...


Pairs = Iterator[tuple[Fault, Fault]]
Where = TypeVar("Where", bound=Places)


def drawn_faults(draw: Draw, scenario: Where, kinds: Sequence[Callable[[Draw, Where], Pairs]]) -> tuple[Fault, ...]:
    """Five to twenty, each with its end; the same thing does not happen twice at once. Fewer, where there are too few hosts for more."""
    wanted, found = draw.randint(5, 20), list[Fault]()
    busy: dict[tuple[str, str], float] = {}
    for _ in range(MOST_TRIES):
        if _count(found) >= wanted:
            break
        for begin, end in draw.choice(kinds)(draw, scenario):
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


def last_fault(scenario: Places) -> float:
    return scenario.seconds - QUIET


def pair_of(
    scenario: Places, begin: float, length: float, verb: str, *places: str, one_way: bool = False
) -> tuple[Fault, Fault]:
    begin, end = round(begin, 1), round(min(last_fault(scenario), begin + length), 1)
    ends_by = VERBS[verb].end or verb
    return Fault(begin, verb, places, one_way), Fault(end, ends_by, places, one_way)


def when(draw: Draw, scenario: Places) -> tuple[float, float]:
    return draw.uniform(2, last_fault(scenario) - 1), draw.choice(LENGTHS) * draw.uniform(0.5, 1.5)


def link(draw: Draw, scenario: Places) -> Pairs:
    verb = draw.choice(("cut", "cut", "cut", "slow", "reset"))
    one_way = verb == "cut" and draw.random() < 0.3
    places = draw.choice(scenario.links)
    if draw.random() < 0.5:
        places = places[::-1]
    yield pair_of(scenario, *when(draw, scenario), verb, *places, one_way=one_way)


def any_host(draw: Draw, scenario: Places) -> Pairs:
    yield pair_of(scenario, *when(draw, scenario), "cut", draw.choice(scenario.hosts))


def flapping(draw: Draw, scenario: Places) -> Pairs:
    places, (begin, _) = draw.choice(scenario.links), when(draw, scenario)
    for _ in range(draw.randint(3, 5)):
        yield pair_of(scenario, begin, draw.uniform(0.2, 1.5), "cut", *places)
        begin += draw.uniform(1.6, 3.0)
