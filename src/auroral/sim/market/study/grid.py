"""All populations of the study of allocations: variants, loads, topologies and numbers of contracts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from auroral.sim.market.study.fast import settle
from auroral.sim.market.study.populations import LOADS, Ints, Variant, population, topology

CONTRACTS = tuple(range(1, 11))
TOPOLOGIES = 10
NODES = 995


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left in the end, in percent: of tasks above the capacity, or of capacity that nobody uses."""

    left: float
    rounds: int
    profile: Ints
    acceptable: bool


Key = tuple[Variant, int, int]
"""With the load in percent and the least number of contracts."""


@dataclass(slots=True)
class Grid:
    nodes: int
    found: dict[Key, list[Settled]] = field(default_factory=dict)

    def of(self, variant: Variant, percent: int, least: int) -> list[Settled]:
        return self.found[variant, percent, least]

    def worst(self, variant: Variant, percent: int, least: int) -> float:
        return max(one.left for one in self.of(variant, percent, least))

    def mean(self, variant: Variant, percent: int, least: int) -> float:
        return float(np.mean([one.left for one in self.of(variant, percent, least)]))

    def add(self, part: Grid) -> None:
        for key, settled in part.found.items():
            self.found.setdefault(key, []).extend(settled)


def grid(
    seeds: Iterable[int],
    nodes: int = NODES,
    contracts: Sequence[int] = CONTRACTS,
    variants: Sequence[Variant] = tuple(Variant),
    loads: Sequence[int] = tuple(LOADS),
    over_pricing: int = 0,
) -> Grid:
    """Side by side, for topologies of these seeds."""
    keys: list[Key] = []
    populations = []
    for seed in seeds:
        for least in contracts:
            partners = topology(nodes, least, seed)
            for variant in variants:
                for percent in loads:
                    keys.append((variant, percent, least))
                    populations.append(population(partners, variant, percent, seed))
    found = Grid(nodes)
    for key, one, settled in zip(keys, populations, settle(populations, over_pricing), strict=True):
        whole = int(one.capacity.sum() if one.overloaded else one.load.sum())
        left = 100 * int(settled.misplaced[-1]) / whole
        found.found.setdefault(key, []).append(
            Settled(left, settled.rounds, settled.misplaced, not settled.misplaced[-1])
        )
    return found
