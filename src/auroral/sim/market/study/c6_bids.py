"""C6: what sellers ask for inside the range (Table 6.2)."""

from __future__ import annotations

from fractions import Fraction

from auroral.sim.experiments.values import Experiment, Plot, Series, Statement
from auroral.workload.bidding import best_of_uniform, low_is_best_below

COSTS = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
PUBLISHED = {
    1: (0.33, 0.50, 0.67, 0.83),
    3: (0.20, 0.40, 0.60, 0.80),
    5: (0.14, 0.36, 0.57, 0.79),
    7: (0.11, 0.33, 0.55, 0.78),
}


def experiment() -> Experiment:
    found = {competitors: [float(best_of_uniform(cost, competitors)) for cost in COSTS] for competitors in PUBLISHED}
    statements = [
        Statement(
            f"{competitors} competitor{'s' * (competitors > 1)}: {', '.join(f'{one:.2f}' for one in published)}",
            ", ".join(f"{one:.3f}" for one in found[competitors]),
            all(abs(a - b) <= 0.01 for a, b in zip(found[competitors], published, strict=True)),
        )
        for competitors, published in PUBLISHED.items()
    ]
    low = Fraction(3, 4)
    share = float(low_is_best_below(low, Fraction(4, 5), 5) / low)
    statements.append(
        Statement(
            "with prices of 0.75 to 0.8 and 5 sellers, a cost below 0.9997 of the lowest price is best offered at it",
            f"{share:.5f}",
            abs(share - 0.9997) < 1e-4,
        )
    )
    points = {
        competitors: tuple(
            (float(c), float(best_of_uniform(c, competitors))) for c in (Fraction(n, 20) for n in range(20))
        )
        for competitors in PUBLISHED
    }
    return Experiment(
        "C6",
        "Counter-offers (Table 6.2)",
        "The price that maximises the expected gain, with costs and the buyer's limit anywhere in [0, 1] alike.",
        ("competitors", *(f"cost {float(cost):g}" for cost in COSTS)),
        tuple((str(c), *(f"{one:.3f}" for one in row)) for c, row in found.items()),
        tuple(statements),
        (
            Plot(
                "Counter-offers",
                "own cost",
                "price",
                tuple(Series(f"{c} competitors", line) for c, line in points.items()),
            ),
        ),
    )
