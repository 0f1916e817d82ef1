"""The same populations as in `fast`, by the participants' own cores and their messages."""

from __future__ import annotations

import numpy as np

from auroral.sim.market.exchange import Exchange
from auroral.sim.market.study.fast import Found
from auroral.sim.market.study.populations import Population
from auroral.workload.bidding import above, valuation
from auroral.workload.contracts import Contract
from auroral.workload.costs import Costs, Quadratic
from auroral.workload.events import Started
from auroral.workload.records import Added, Agreed, Lent
from auroral.workload.settings import Settings
from auroral.workload.values import Load, Task
from auroral.workload.worth import Worth

FOR_EVER = 10**9
"""Seconds."""
ONE = Load({"cpu": 1})
APART = 2**-12
"""Seconds between two that act."""


def settle_by_messages(population: Population, over_pricing: int = 0) -> Found:
    """Until nothing moves any more."""
    market, nodes = Exchange(), len(population.load)
    costs = Costs({"cpu": Quadratic()})
    settings = Settings(Worth(costs), retry_after=1.0, bid=above(over_pricing) if over_pricing else valuation)
    names = [f"n{node:05}" for node in range(nodes)]
    # Its own offers, and those of its partners.
    contracts = [
        (node, int(other), Contract(names[node], names[other], int(high), int(high - low), FOR_EVER, 1))
        for node in range(nodes)
        for other, low, high in zip(
            *(t[node] for t in (population.partners, population.low, population.high)), strict=True
        )
        if other >= 0
    ]
    for place, node in enumerate(map(int, population.order)):
        name = names[node]
        market.join(name, settings)
        tasks = [Added(Task(f"{name}.{number}", ONE, name)) for number in range(int(population.load[node]))]
        terms = [Agreed(contract) for buyer, seller, contract in contracts if node in (buyer, seller)]
        market.now = place * APART
        market.tell(name, Started((*tasks, *terms)))

    def loads() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([len(market.participants[name].books.held) for name in names], dtype=np.int64)

    def misplaced() -> int:
        over = loads() - population.capacity
        return int(np.maximum(-over if population.overloaded else over, 0).sum())

    history, moves, tasks_moved, last, number = [misplaced()], 0, 0, 0, 0
    while number <= last + 3:
        number += 1
        market.written.clear()
        market.run(number + 1 - APART / 2)
        lent = [write.record for _, write in market.written if isinstance(write.record, Lent)]
        moves, tasks_moved = moves + len(lent), tasks_moved + sum(len(one.tasks) for one in lent)
        last = number if lent else last
        history.append(misplaced())
    return Found(loads(), last, moves, tasks_moved, np.array(history[: last + 1], dtype=np.int64))
