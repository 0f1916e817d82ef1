"""C1: the random contract graphs of the studies (Table 7.1), and what they begin with (Tables 7.2 and 7.3)."""

from __future__ import annotations

import numpy as np

from auroral.sim.experiments.values import Experiment, Statement
from auroral.sim.market.study.grid import CONTRACTS, NODES, TOPOLOGIES
from auroral.sim.market.study.populations import LOADS, MOST, Variant, diameter, population, topology
from auroral.workload.distributions import Pareto

MOST_CONTRACTS = (13, 14, 15, 16, 16, 17, 18, 18, 18, 18)
DIAMETER = (20, 11, 8, 7, 6, 5, 5, 5, 4, 4)
BEGIN = {50: 30.0, 125: 26.0}
"""Percent of the tasks that have to move, or of the capacity that is not used, as published."""


def experiment() -> Experiment:
    rows, statements = [], []
    graphs = {least: [topology(NODES, least, seed) for seed in range(TOPOLOGIES)] for least in CONTRACTS}
    for least, most, across in zip(CONTRACTS, MOST_CONTRACTS, DIAMETER, strict=True):
        largest = max(len(each) for graph in graphs[least] for each in graph)
        found = [diameter(graph) for graph in graphs[least]]
        mean = float(np.mean(found))
        rows.append((str(least), str(largest), f"{mean:.1f}", str(min(found)), str(max(found)), str(most), str(across)))
        statements.append(
            Statement(
                f"at least {least} contracts: a diameter of {across} on average",
                f"{mean:.1f} ({min(found)} to {max(found)})",
                abs(mean - across) <= 1,
                "the way in which the first contracts were drawn is not published in full: a tree in which all that are "
                "connected are equally likely partners is deeper",
            )
        )
    for percent, alpha in LOADS.items():
        begun = [population(graphs[1][seed], Variant.UNIFORM_FIXED, percent, seed) for seed in range(TOPOLOGIES)]
        mean = float(np.mean([one.load.mean() for one in begun]))
        expected = Pareto(alpha, 1, MOST).mean
        statements.append(
            Statement(
                f"loads of {percent} % of the capacity on average",
                f"{mean:.1f} in ten populations; the distribution has a mean of {expected:.1f}",
                abs(mean - percent) < 5,
            )
        )
        if percent in BEGIN:
            shares = []
            for one in begun:
                over = one.load - one.capacity
                misplaced = (
                    -over[over < 0].sum() / one.capacity.sum()
                    if one.overloaded
                    else over[over > 0].sum() / one.load.sum()
                )
                shares.append(100 * float(misplaced))
            what = "of the capacity is not used" if percent > 100 else "of the tasks have to move"
            statements.append(
                Statement(
                    f"at {percent} % about {BEGIN[percent]:g} % {what} at the start",
                    f"{np.mean(shares):.1f} %",
                    abs(float(np.mean(shares)) - BEGIN[percent]) < 2,
                )
            )
    return Experiment(
        "C1",
        "Contract graphs and initial loads (Tables 7.1 to 7.3)",
        f"{NODES} participants, {TOPOLOGIES} random graphs for each least number of contracts.",
        ("least", "most contracts", "diameter", "smallest", "largest", "most, published", "diameter, published"),
        tuple(rows),
        tuple(statements),
        (),
    )
