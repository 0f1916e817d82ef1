"""Who takes part in a study: random contracts, capacities and loads, all drawn from a seed (T 7.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from auroral.workload.distributions import Pareto

Ints = npt.NDArray[np.int64]
CAPACITY = 100
RANGE = 5
"""Tasks."""
SPREAD = (80, 120)
MOST = 300
"""Tasks that a participant begins with at most."""
LOADS = {50: 0.01, 75: -0.22, 125: -0.70, 150: -1.00}
"""By percent of the capacity: the shape of the distribution of initial loads."""


class Variant(StrEnum):
    UNIFORM_FIXED = "UF"
    UNIFORM_RANGE = "UR"
    HETEROGENEOUS_FIXED = "HF"
    HETEROGENEOUS_RANGE = "HR"

    @property
    def heterogeneous(self) -> bool:
        return self.startswith("H")

    @property
    def delta(self) -> int:
        return RANGE if self.endswith("R") else 0


@dataclass(frozen=True, slots=True)
class Population:
    """Contracts are bilateral: `partners` of each, in the order in which it asks them, filled up with -1; prices are load levels."""

    partners: Ints
    low: Ints
    high: Ints
    capacity: Ints
    load: Ints
    order: Ints
    """Who acts when in a second."""

    @property
    def contracts(self) -> Ints:
        return np.asarray((self.partners >= 0).sum(axis=1))

    @property
    def overloaded(self) -> bool:
        return int(self.load.sum()) > int(self.capacity.sum())


def topology(nodes: int, least: int, seed: int) -> list[list[int]]:
    """Each makes a contract with one that is connected already; then those with too few choose partners at random."""
    draw = np.random.default_rng([seed, least, nodes])
    partners: list[set[int]] = [set() for _ in range(nodes)]

    def connect(one: int, other: int) -> None:
        partners[one].add(other)
        partners[other].add(one)

    for node in range(1, nodes):
        connect(node, int(draw.integers(node)))
    for node in range(nodes):
        while len(partners[node]) < min(least, nodes - 1):
            other = int(draw.integers(nodes))
            if other != node and other not in partners[node]:
                connect(node, other)
    return [sorted(each) for each in partners]


def diameter(partners: list[list[int]]) -> int:
    """The longest way from one to another, in contracts; they are connected. Whom each reaches in so many steps is a row of bits."""
    nodes = len(partners)
    near = np.array(
        [[node, *others, *[node] * (max(map(len, partners)) - len(others))] for node, others in enumerate(partners)]
    )
    reached = np.packbits(np.eye(nodes, dtype=bool), axis=1)
    everybody = np.packbits(np.ones(nodes, dtype=bool))
    steps = 0
    while not (reached == everybody).all():
        reached = np.bitwise_or.reduce(reached[near], axis=1)
        steps += 1
    return steps


def population(partners: list[list[int]], variant: Variant, percent: int, seed: int) -> Population:
    nodes = len(partners)
    draw = np.random.default_rng([seed, percent, variant.heterogeneous])
    capacity = np.full(nodes, CAPACITY, dtype=np.int64)
    if variant.heterogeneous:
        capacity = draw.integers(SPREAD[0], SPREAD[1] + 1, nodes)
    load = np.rint(Pareto(LOADS[percent], 1, MOST).quantile(draw.random(nodes))).astype(np.int64)
    return with_loads(partners, capacity, load, variant.delta, draw.permutation(nodes))


def with_loads(partners: list[list[int]], capacity: Ints, load: Ints, delta: int, order: Ints) -> Population:
    """At the lower of two capacities, or up to `delta` below it; the cheapest are asked first."""
    most = max(map(len, partners))
    table = np.full((len(partners), most), -1, dtype=np.int64)
    high = np.zeros_like(table)
    for node, others in enumerate(partners):
        priced = sorted((min(int(capacity[node]), int(capacity[other])), other) for other in others)
        for place, (price, other) in enumerate(priced):
            table[node, place], high[node, place] = other, price
    return Population(table, high - delta, high, capacity, load, order)
