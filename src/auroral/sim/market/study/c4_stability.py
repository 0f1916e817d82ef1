"""C4: how much moves when loads vary all the time (Fig. 7-6)."""

from __future__ import annotations

import numpy as np

from auroral.sim.experiments.values import Experiment, Plot, Series, Statement
from auroral.sim.market.study.fast import Batch
from auroral.sim.market.study.populations import LOADS, Variant, population, topology

NODES, LEAST = 330, 10
PERIODS = ((50.0, 250), (10.0, 300), (1.0, 300))
"""Mean seconds between two arrivals at a participant, and between two departures; and for how long."""
VARIANTS = (Variant.UNIFORM_FIXED, Variant.UNIFORM_RANGE)
CASES = [(variant, percent) for variant in VARIANTS for percent in LOADS]


Shares = list[list[float]]
"""By period and case."""


def moved_share(equally: bool) -> Shares:
    """Moved tasks in percent of those that came or went. Either something goes at each participant as often as something comes, or each
    task is as likely to go as any other."""
    partners = topology(NODES, LEAST, 0)
    batch = Batch([population(partners, variant, percent, 0) for variant, percent in CASES])
    batch.run()
    draw = np.random.default_rng(0)
    shares: Shares = []
    for gap, seconds in PERIODS:
        before, varied = batch.tasks.copy(), np.zeros(len(CASES), dtype=np.int64)
        for _ in range(seconds):
            comes = draw.poisson(1 / gap, batch.load.shape)
            if equally:
                pairs = zip(batch.load, comes.sum(axis=1), strict=True)
                goes = np.stack(
                    [draw.multivariate_hypergeometric(load, min(load.sum(), count)) for load, count in pairs]
                )
            else:
                goes = np.minimum(draw.poisson(1 / gap, batch.load.shape), batch.load)
            batch.load += comes - goes
            varied += (comes + goes).sum(axis=1)
            # Who changed, and whoever has a contract with it, may find something to do; to ask the others as well changes nothing.
            batch.awake[:] = True
            batch.round()
        shares.append([float(share) for share in 100 * (batch.tasks - before) / varied])
    return shares


def experiment() -> Experiment:
    shares, other = moved_share(equally=False), moved_share(equally=True)
    rows = tuple(
        (variant, f"{percent} %", *(f"{shares[n][place]:.1f} / {other[n][place]:.1f}" for n in range(len(PERIODS))))
        for place, (variant, percent) in enumerate(CASES)
    )
    fast = shares[-1]
    apart, apart_other = (
        max(abs(a - b) for a, b in zip(one[-1][: len(LOADS)], one[-1][len(LOADS) :], strict=True))
        for one in (shares, other)
    )
    statements = (
        Statement(
            "one task comes and one goes at each participant every second: moved tasks are less than 6 % of that",
            f"{min(fast):.1f} to {max(fast):.1f} %; {min(other[-1]):.1f} to {max(other[-1]):.1f} % where each task is as likely to go as any other",
            max(fast) < 6,
            "which tasks go is not published. Where they go as often from a participant with few as from one with many, loads drift apart and "
            "more move; the figure lies between the two readings",
        ),
        Statement(
            "fixed prices and ranges behave alike",
            f"they differ by at most {apart:.1f} points, by the other reading by {apart_other:.1f}",
            apart < 2,
            "at 75 % more than that, by the reading in which loads drift apart",
        ),
        Statement(
            "most of the variation is absorbed without a movement, at all speeds",
            f"at most {max(map(max, shares)):.1f} % of it moves",
            max(map(max, shares)) < 50,
        ),
    )
    gaps = [gap for gap, _ in PERIODS]
    series = tuple(
        Series(f"{variant} {percent} %", tuple((gap, shares[n][place]) for n, gap in enumerate(gaps)))
        for place, (variant, percent) in enumerate(CASES)
    )
    return Experiment(
        "C4",
        "Stability under varying load (Fig. 7-6)",
        f"{NODES} participants with at least {LEAST} contracts, tasks that come and go at random; moved tasks in percent of those that came or went. "
        "What moves stays. Behind the stroke: each task is as likely to go as any other.",
        ("variant", "load", *(f"every {gap:g} s" for gap in gaps)),
        rows,
        statements,
        (Plot("Moved tasks by the time between two changes", "seconds", "percent of the variation", series),),
    )
