"""C5: how many contracts are worth having, and at what price (Fig. 6-8 to 6-11, Table 6.1)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from auroral.sim.experiments.running import straightness
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement
from auroral.workload.distributions import Floats, Pareto
from auroral.workload.offline import Overload, benefit, bought, overload, sold

RUNS = 500_000
SELLERS = {"light": -0.5, "uniform": -1.0, "heavy": -2.0}
SPIKES = {"a": (0.14, 10.0), "b": (0.5, 100.0)}
COUNTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
LEVELS = (0.25, 0.33, 0.5, 0.66, 0.75)
P_SPIKE = 0.05
P_EXTRA = 0.01
"""That a partner needs help at some moment."""


def samples(alpha: float, least: float, most: float, shape: tuple[int, ...], seed: int) -> Floats:
    return Pareto(alpha, least, most).quantile(np.random.default_rng(seed).random(shape))


def overloads(spikes: str, sellers: str) -> dict[int, Overload]:
    alpha, most = SPIKES[spikes]
    peaks = samples(alpha, 0.01, most, (RUNS,), 1)
    loads = samples(SELLERS[sellers], 0.01, 1.0, (RUNS, max(COUNTS)), 2)
    return {count: overload(peaks, loads[:, :count]) for count in COUNTS}


def purchases(sellers: str) -> dict[tuple[int, float], float]:
    own = samples(SELLERS[sellers], 0.01, 1.0, (RUNS,), 3)
    loads = samples(SELLERS[sellers], 0.01, 1.0, (RUNS, 10), 4)
    return {(count, level): bought(own, loads[:, :count], level) for count in (1, 2, 3, 5, 6, 10) for level in LEVELS}


def sales() -> dict[int, float]:
    """What one takes at the price of its capacity, by how many partners may have a spike at the same moment, each seldom."""
    own = samples(SELLERS["uniform"], 0.01, 1.0, (RUNS,), 5)
    extra = samples(*(0.14, 0.01, 10.0), (RUNS, max(COUNTS)), 6)
    rare = np.random.default_rng(7).random(extra.shape) < P_EXTRA
    above = np.where(rare, 1 + extra, 0.0)
    return {count: sold(own, above[:, :count], 1.0) for count in COUNTS}


def experiment() -> Experiment:
    found = {(spikes, sellers): overloads(spikes, sellers) for spikes in SPIKES for sellers in SELLERS}
    moved = {sellers: purchases(sellers) for sellers in SELLERS}
    rows = tuple(
        (f"({spikes}) {sellers}", *(f"{one[c].probability:.3f} / {one[c].expected:.3f}" for c in (1, 2, 3, 5, 10, 20)))
        for (spikes, sellers), one in found.items()
    )
    falls = all(one[a].probability > one[b].probability for one in found.values() for a, b in pairwise(COUNTS))
    first = min((1 - one[5].probability) / (1 - one[20].probability) for one in found.values())
    nothing = [one[0].expected for one in found.values()]
    gains = {key: [benefit(one[0], one[c], P_SPIKE) for c in COUNTS] for key, one in found.items()}
    straight = {
        s: straightness([(float(c), g) for c, g in zip(COUNTS, gains[s, "uniform"], strict=True) if c]) for s in SPIKES
    }
    left = {s: 1 - gains[s, "uniform"][COUNTS.index(10)] / gains[s, "uniform"][-1] for s in SPIKES}
    few = {s: _best(moved[s], 2) for s in SELLERS}
    many = _best(moved["uniform"], 10)
    medians = {s: Pareto(alpha, 0.01, 1.0).median for s, alpha in SELLERS.items()}
    taken = sales()
    line = straightness([(float(count), amount) for count, amount in taken.items()])
    enough = min(moved[s][6, few[s]] / moved[s][10, few[s]] for s in SELLERS)
    statements = (
        Statement(
            "every contract lowers the probability of overload",
            "it falls with each in all six cases" if falls else "not always",
            falls,
        ),
        Statement(
            "the first 3 to 5 contracts give most", f"five give at least {first:.0%} of what twenty do", first > 0.5
        ),
        Statement(
            "without contracts the expected overload is 1.0",
            f"{min(nothing):.3f} to {max(nothing):.3f}",
            all(abs(one - 1) < 0.02 for one in nothing),
        ),
        Statement(
            "with rare and very large spikes (b) the benefit grows almost linearly",
            f"r2 of a line is {straight['b']:.2f}; contracts 11 to 20 bring {left['b']:.0%} of the benefit of 20, with spikes (a) {left['a']:.0%}",
            straight["b"] > 0.9 and left["b"] > left["a"],
            "it bends at the first contracts",
        ),
        Statement(
            "as a seller, the benefit grows in proportion to the number of contracts (Table 6.1: many)",
            f"r2 of a line is {line:.3f} up to 20 contracts, each of which is used {P_EXTRA:.0%} of the time",
            line > 0.98,
            "the seller is busy more and more often",
        ),
        Statement(
            "with up to 3 contracts the price of the median load moves most",
            ", ".join(f"{s}: {few[s]:g} for a median of {medians[s]:.2f}" for s in SELLERS),
            all(abs(few[s] - medians[s]) < 0.1 for s in SELLERS),
        ),
        Statement(
            "with more contracts a price below the median is best for the buyer",
            f"{many:g} with ten, uniform loads",
            many < 0.5,
        ),
        Statement(
            "5 to 6 contracts at the median price suffice",
            f"six move at least {enough:.0%} of what ten do",
            enough > 0.8,
        ),
    )
    plots = []
    for s in SPIKES:
        likely = tuple(Series(k, tuple((float(c), o.probability) for c, o in found[s, k].items())) for k in SELLERS)
        large = tuple(Series(k, tuple((float(c), o.expected) for c, o in found[s, k].items())) for k in SELLERS)
        plots += [
            Plot(f"Probability of overload with spikes {s}", "contracts", "probability", likely),
            Plot(f"Expected overload with spikes {s}", "contracts", "in units of T", large),
        ]
    plots.append(
        Plot(
            "Benefit of contracts",
            "contracts",
            "benefit",
            tuple(
                Series(f"({s}) {k}", tuple((float(c), g) for c, g in zip(COUNTS, gains[s, k], strict=True)))
                for s in SPIKES
                for k in SELLERS
            ),
        )
    )
    plots.append(
        Plot(
            "Load moved by price",
            "load level of the price",
            "in units of T",
            tuple(
                Series(f"{c} contracts", tuple((lv, moved["uniform"][c, lv]) for lv in LEVELS)) for c in (1, 3, 5, 10)
            ),
        )
    )
    return Experiment(
        "C5",
        "What contracts are worth (Fig. 6-8 to 6-11, Table 6.1)",
        f"{RUNS:,} draws for each point; loads of sellers on [0.01, 1] T, spikes with a mean of T up to 10 T (a) or 100 T (b). Probability of "
        "overload / what is left of the spike, by the number of contracts.",
        ("spikes, sellers", "1", "2", "3", "5", "10", "20"),
        rows,
        statements,
        tuple(plots),
    )


def _best(moved: dict[tuple[int, float], float], count: int) -> float:
    """The level at which so many contracts move most."""
    return max((amount, level) for (contracts, level), amount in moved.items() if contracts == count)[1]
