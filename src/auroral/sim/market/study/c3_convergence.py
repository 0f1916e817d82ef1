"""C3: how fast the market comes to rest (Fig. 7-4 and 7-5), and what asking too much costs."""

from __future__ import annotations

import numpy as np

from auroral.sim.experiments.values import Experiment, Plot, Series, Statement
from auroral.sim.market.study.grid import CONTRACTS, Grid, Settled
from auroral.sim.market.study.populations import LOADS, Variant

UF, UR, HF, HR = Variant
OVER_PRICED = (1, 2)
"""Tasks."""


def when_done(one: Settled, share: float) -> float:
    """In which part of its time that share of the improvement was reached."""
    gained = one.profile[0] - one.profile
    return int(np.argmax(gained >= share * gained[-1])) / max(one.rounds, 1)


def mean_rounds(grid: Grid, variant: Variant, percent: int, least: int) -> float:
    return float(np.mean([one.rounds for one in grid.of(variant, percent, least)]))


def experiment(grid: Grid, dearer: dict[int, Grid]) -> Experiment:
    """With the same uniform ranges where sellers ask for more at first, by so many tasks."""
    slowest = max(one.rounds for p in LOADS for least in CONTRACTS for one in grid.of(UF, p, least))
    early = [
        when_done(one, 0.95) for v in (UR, HR) for p in LOADS for least in range(2, 11) for one in grid.of(v, p, least)
    ]
    uniform = [np.mean([mean_rounds(grid, UR, p, least) for p in LOADS]) for least in CONTRACTS]
    fixed = [float(np.mean([mean_rounds(grid, HF, p, least) for p in LOADS])) for least in CONTRACTS[1:]]
    mixed = [float(np.mean([mean_rounds(grid, HR, p, least) for p in LOADS])) for least in CONTRACTS]
    quality = max(
        abs(other.mean(UR, p, least) - grid.mean(UR, p, least))
        for other in dearer.values()
        for p in LOADS
        for least in range(3, 11)
    )
    rates = [
        mean_rounds(other, UR, p, least) / max(mean_rounds(grid, UR, p, least), 1)
        for other in dearer.values()
        for p in LOADS
        for least in range(3, 11)
    ]
    statements = (
        Statement(
            "uniform fixed: always at rest within 5 s",
            f"within {slowest} s",
            slowest <= 5,
            "a few need some seconds more",
        ),
        Statement(
            "ranges: 95 % of the benefit within the first 15 % of the time",
            f"on average within {np.mean(early):.0%} of it, at most {max(early):.0%}",
            float(np.mean(early)) <= 0.15,
            "with many contracts all is over within seconds, of which the first is a large part",
        ),
        Statement(
            "uniform: the time falls quickly with the number of contracts",
            f"from {uniform[0]:.0f} s with one to {uniform[4]:.0f} s with five and {uniform[-1]:.0f} s with ten",
            bool(uniform[0] > uniform[4] > uniform[-1]),
        ),
        Statement(
            "heterogeneous fixed: the time hardly depends on the number of contracts",
            f"{min(fixed):.0f} to {max(fixed):.0f} s with two or more",
            max(fixed) < 3 * min(fixed),
        ),
        Statement(
            "heterogeneous range: the time falls with the first few contracts, then it is flat",
            f"{mixed[0]:.0f} s with one, {mixed[3]:.0f} s with four, {mixed[-1]:.0f} s with ten",
            mixed[3] < mixed[0],
            "a second contract lets load go further, which takes longer than it saves",
        ),
        Statement(
            "asking 1 or 2 tasks too much at first changes nothing with 3 contracts or more",
            f"the final allocation differs by at most {quality:.2f} %, the time is {min(rates):.2f} to {max(rates):.2f} times as long",
            quality < 0.1 and float(np.mean(rates)) < 1.2,
            "the allocation is the same; where the whole takes a few seconds, one more try is a large part of it",
        ),
    )
    rows = tuple(
        (variant, f"{percent} %", *(f"{mean_rounds(grid, variant, percent, least):.0f}" for least in CONTRACTS))
        for variant in Variant
        for percent in LOADS
    )
    example = tuple(
        Series(v, tuple((float(second), float(left)) for second, left in enumerate(grid.of(v, 75, 3)[0].profile)))
        for v in Variant
    )
    times = tuple(
        Series(
            v,
            tuple(
                (float(least), float(np.mean([mean_rounds(grid, v, p, least) for p in LOADS]))) for least in CONTRACTS
            ),
        )
        for v in Variant
    )
    return Experiment(
        "C3",
        "Speed of convergence (Fig. 7-4 and 7-5)",
        "Mean seconds until the last movement, each participant trying once a second; messages take no time.",
        ("variant", "load", *(f"{least}" for least in CONTRACTS)),
        rows,
        statements,
        (
            Plot("Tasks above capacity over time at 75 percent", "time [s]", "tasks", example),
            Plot("Time to the last movement", "least number of contracts", "time [s]", times),
        ),
    )
