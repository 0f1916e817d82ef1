"""C2: how good the final allocation is (Fig. 7-1 to 7-3)."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.sim.experiments.values import Experiment, Plot, Series, Statement
from auroral.sim.market.study.grid import CONTRACTS, TOPOLOGIES, Grid
from auroral.sim.market.study.populations import LOADS, Variant

UF, UR, HF, HR = Variant
UNDER, OVER = (50, 75), (125, 150)
CLOSE = 0.05
"""Percent: the rest that an overloaded market may leave where the text says acceptable."""


def experiment(grid: Grid) -> Experiment:
    rows = tuple(
        (variant, f"{percent} %", *(f"{grid.worst(variant, percent, least):.2f}" for least in CONTRACTS))
        for variant in Variant
        for percent in LOADS
    )
    plots = tuple(
        Plot(
            f"{'Capacity not used' if percent > 100 else 'Tasks above capacity'} at {percent} percent",
            "least number of contracts",
            "percent, mean",
            tuple(
                Series(variant, tuple((float(least), grid.mean(variant, percent, least)) for least in CONTRACTS))
                for variant in Variant
            ),
        )
        for percent in LOADS
    )
    return Experiment(
        "C2",
        "Quality of the final allocation (Fig. 7-1 to 7-3)",
        f"{grid.nodes} participants, {TOPOLOGIES} topologies for each least number of contracts, static load. The table has what is left in the "
        "worst topology, in percent: tasks above the capacity (50 and 75 %), capacity that nobody uses (125 and 150 %).",
        ("variant", "load", *(f"{least}" for least in CONTRACTS)),
        rows,
        tuple(_statements(grid)),
        plots,
    )


def _statements(grid: Grid) -> Iterator[Statement]:
    def most(
        published: str, variant: Variant, percents: tuple[int, ...], contracts: range, limit: float, why: str = ""
    ) -> Statement:
        worst = max(grid.worst(variant, p, least) for p in percents for least in contracts)
        return Statement(published, f"at most {worst:.3f} % are left", worst <= limit, why)

    from_2, whole = range(2, 11), "in all topologies"
    yield most(f"uniform range: acceptable {whole} with 2 contracts or more, at 50 and 75 %", UR, UNDER, from_2, 0.0)
    yield most("uniform range: with 2 contracts 99.5 % of the capacity is used", UR, OVER, from_2, 0.5)
    yield most(
        f"uniform range: acceptable {whole} with 8 contracts at 150 %",
        UR,
        (150,),
        range(8, 11),
        0.0,
        f"some topologies keep a few units free, less than {CLOSE} %: an overloaded market is only ever nearly acceptable",
    )
    some = sum(one.acceptable for one in grid.of(UR, 125, 10))
    worst = grid.worst(UR, 125, 10)
    yield Statement(
        "uniform range: some topologies are acceptable with 10 contracts at 125 %",
        f"{some} of {TOPOLOGIES}; at most {worst:.3f} % are left",
        some > 0,
        f"all are within {CLOSE} % of it",
    )
    mean = grid.mean(UF, 50, 2)
    yield Statement(
        "uniform fixed: all but 5 % on average with 2 contracts at 50 %", f"{mean:.2f} % are left", mean <= 5.0
    )
    yield most(f"uniform fixed: all but 1 % {whole} with 5 contracts at 50 %", UF, (50,), range(5, 11), 1.0)
    yield most(f"uniform fixed: all but 2 % {whole} with 8 contracts at 75 %", UF, (75,), range(8, 11), 2.0)
    yield most("uniform fixed: more than 95 % of the capacity used with 4 contracts", UF, OVER, range(4, 11), 5.0)
    yield most("uniform fixed: more than 99 % used with 5 contracts at 150 %", UF, (150,), range(5, 11), 1.0)
    gains = [grid.mean(UF, p, least) - grid.mean(HF, p, least) for p in UNDER for least in range(2, 8)]
    yield Statement(
        "heterogeneous fixed: with up to 7 contracts up to 2 % more tasks are placed than with uniform ones",
        f"{min(gains):+.2f} to {max(gains):+.2f} % more",
        max(gains) > 0 and max(gains) <= 2.0,
    )
    later = [grid.mean(HF, p, least) - grid.mean(UF, p, least) for p in (75,) for least in (8, 9, 10)]
    yield Statement(
        "heterogeneous fixed: worse than uniform ones with more contracts",
        f"{min(later):+.2f} to {max(later):+.2f} % more left at 75 % with 8 to 10 contracts",
        max(later) > 0,
    )
    over = [grid.mean(HF, p, least) - grid.mean(UF, p, least) for p in OVER for least in range(4, 11)]
    yield Statement(
        "heterogeneous fixed: worse than uniform ones in overload from few contracts on, and comparable",
        f"{min(over):+.2f} to {max(over):+.2f} % more capacity unused with 4 contracts or more",
        min(over) >= 0 and max(over) < 5.0,
    )
    yield most("heterogeneous range: all but 5 % with 2 contracts", HR, UNDER, from_2, 5.0)
    yield most("heterogeneous range: always acceptable at light load from 6 contracts on", HR, (50,), range(6, 11), 0.0)
    yield most("heterogeneous range: more than 95 % of the capacity used with 2 contracts", HR, OVER, from_2, 5.0)
    every = max(grid.worst(variant, percent, 10) for variant in Variant for percent in LOADS)
    yield Statement(
        "about 10 contracts: nearly acceptable everywhere",
        f"at most {every:.2f} % are left in any topology",
        every < 2.0,
    )
    five = max(grid.worst(variant, percent, 5) for variant in (UF, HF) for percent in LOADS)
    yield Statement(
        "5 fixed-price contracts: more than 95 % of the capacity used, or of the tasks placed",
        f"at most {five:.2f} % are left",
        five < 5.0,
    )
    first = min(
        (grid.mean(v, p, 1) - grid.mean(v, p, 4)) / max(grid.mean(v, p, 1) - grid.mean(v, p, 10), 1e-9)
        for v in (UF, HF)
        for p in LOADS
    )
    yield Statement(
        "the first 2 to 4 contracts matter most", f"the first 4 bring at least {first:.0%} of what 10 do", first > 0.5
    )
