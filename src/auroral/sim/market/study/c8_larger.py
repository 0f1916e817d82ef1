"""C8: the same with 1,000 and with 10,000 participants."""

from __future__ import annotations

from auroral.sim.experiments.values import Experiment, Statement
from auroral.sim.market.study.grid import NODES, grid
from auroral.sim.market.study.populations import LOADS, Variant

SIZES = (NODES, 1_000, 10_000)
LEAST = 5


def experiment() -> Experiment:
    grids = {nodes: grid([0], nodes, (LEAST,)) for nodes in SIZES}
    rows = tuple(
        (
            variant,
            f"{percent} %",
            *(
                f"{grids[n].worst(variant, percent, LEAST):.2f} / {grids[n].of(variant, percent, LEAST)[0].rounds} s"
                for n in SIZES
            ),
        )
        for variant in Variant
        for percent in LOADS
    )
    worst = {nodes: max(one.worst(v, p, LEAST) for v in Variant for p in LOADS) for nodes, one in grids.items()}
    apart = max(abs(grids[10_000].worst(v, p, LEAST) - grids[NODES].worst(v, p, LEAST)) for v in Variant for p in LOADS)
    statements = (
        Statement(
            "5 contracts: more than 95 % of the capacity used, or of the tasks placed (published for 995 participants)",
            ", ".join(f"{nodes:,}: {left:.2f} % left" for nodes, left in worst.items()),
            max(worst.values()) < 5,
        ),
        Statement(
            "the number of participants does not matter (not published: an expectation)",
            f"10,000 leave at most {apart:.2f} points more or less than {NODES}",
            apart < 2,
        ),
    )
    return Experiment(
        "C8",
        "Larger markets",
        f"One topology with at least {LEAST} contracts each: what is left in percent, and seconds until the last movement.",
        ("variant", "load", *(f"{nodes:,} participants" for nodes in SIZES)),
        rows,
        statements,
        (),
    )
