"""C7: how wide a range must be (Lemma 1), and where the market comes to rest (Theorem 2)."""

from __future__ import annotations

import numpy as np

from auroral.sim.experiments.values import Experiment, Statement
from auroral.sim.market.study.fast import settle
from auroral.sim.market.study.populations import CAPACITY, Population, diameter, topology, with_loads

LENGTHS = range(2, 11)
GRAPHS, NODES = 1_000, 20


def chain(hops: int, width: int) -> Population:
    """The first has too much, the last nothing, and those between exactly what they can."""
    nodes = hops + 1
    partners = [[other for other in (node - 1, node + 1) if 0 <= other < nodes] for node in range(nodes)]
    load = np.array([CAPACITY + 10, *[CAPACITY] * (nodes - 2), 0])
    return with_loads(partners, np.full(nodes, CAPACITY), load, width, np.arange(nodes))


def graphs(percent: int, seed: int) -> tuple[list[Population], list[int]]:
    """With ranges as wide as the lemma asks for, and their diameters; loads of so many percent of what fits at the lowest price, or of the
    capacity in overload."""
    found, hops = [], []
    for number in range(GRAPHS):
        draw = np.random.default_rng([seed, percent, number])
        partners = topology(NODES, int(draw.integers(1, 4)), number)
        across = diameter(partners)
        room = NODES * (CAPACITY - (across - 1) if percent < 100 else CAPACITY)
        load = draw.multinomial(room * percent // 100, draw.dirichlet(np.full(NODES, 0.5)))
        found.append(with_loads(partners, np.full(NODES, CAPACITY), load, across - 1, draw.permutation(NODES)))
        hops.append(across)
    return found, hops


def experiment() -> Experiment:
    wide = settle_each([chain(hops, hops - 1) for hops in LENGTHS])
    narrow = settle_each([chain(hops, hops - 2) for hops in LENGTHS])
    enough = [bool((load <= CAPACITY).all()) for load in wide]
    too_narrow = [bool((load <= CAPACITY).all()) for load in narrow]
    rows = [
        (f"chain, diameter {h}", "yes" if a else "no", "yes" if b else "no")
        for h, a, b in zip(LENGTHS, enough, too_narrow, strict=True)
    ]
    statements = [
        Statement(
            "Lemma 1: a range of delta_(M-1) brings an underloaded chain of diameter M to an acceptable allocation, and no narrower one does",
            f"{sum(enough)} of {len(enough)} with M-1 tasks, {sum(too_narrow)} with M-2 (M from 2 to 10)",
            all(enough) and not any(too_narrow),
        )
    ]
    for percent in (50, 90, 99):
        populations, _ = graphs(percent, 0)
        fine = sum(bool((load <= CAPACITY).all()) for load in settle_each(populations))
        rows.append((f"{GRAPHS} graphs at {percent} % of the lowest bound", f"{fine} acceptable", ""))
        statements.append(
            Statement(
                f"Theorem 2: random uniform graphs, underloaded ({percent} % of what fits at the lowest price): nobody above its capacity",
                f"{fine} of {GRAPHS}",
                fine == GRAPHS,
            )
        )
    for percent in (125, 150):
        populations, hops = graphs(percent, 1)
        ends = settle_each(populations)
        fine = sum(bool((load >= CAPACITY - (m - 1)).all()) for load, m in zip(ends, hops, strict=True))
        rows.append((f"{GRAPHS} graphs at {percent} %", f"{fine} nearly acceptable", ""))
        statements.append(
            Statement(
                f"Theorem 2: random uniform graphs, overloaded ({percent} %): nobody more than M-1 tasks below its capacity",
                f"{fine} of {GRAPHS}",
                fine == GRAPHS,
            )
        )
    return Experiment(
        "C7",
        "The width of ranges (Lemma 1, Theorem 2)",
        f"Chains of 3 to 11 participants; {GRAPHS} random graphs of {NODES} with one to three contracts at least.",
        ("case", "width M-1", "width M-2"),
        tuple(rows),
        tuple(statements),
        (),
    )


def settle_each(populations: list[Population]) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Side by side those of the same size."""
    by_size: dict[int, list[int]] = {}
    for place, one in enumerate(populations):
        by_size.setdefault(len(one.load), []).append(place)
    found = {}
    for places in by_size.values():
        for place, settled in zip(places, settle([populations[n] for n in places]), strict=True):
            found[place] = settled.load
    return [found[place] for place in range(len(populations))]
