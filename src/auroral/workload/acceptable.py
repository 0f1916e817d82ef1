"""Which allocations the market is to reach (L7), and how wide a range of prices lets it (L32)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from auroral.workload.costs import Costs
from auroral.workload.values import Load

Holding = tuple[Costs, Load, Load]
"""Of a participant: its costs, its load, and the load above which it calls itself overloaded."""


def overloaded(holdings: Sequence[Holding]) -> bool:
    """Whether there is more load than all together can bear, in some resource."""
    resources = {name for _, load, most in holdings for name in {**load.amounts, **most.amounts}}
    return any(sum(load[r] for _, load, _ in holdings) > sum(most[r] for _, _, most in holdings) for r in resources)


def acceptable(holdings: Sequence[Holding]) -> bool:
    """Nobody is above its capacity; or, where there is too much load, nobody is below it (definition 9)."""
    over = overloaded(holdings)
    return all(
        costs.cost(load) >= costs.cost(most) if over else costs.cost(load) <= costs.cost(most)
        for costs, load, most in holdings
    )


def nearly_acceptable(holdings: Sequence[Holding], task: Load, diameter: int) -> bool:
    """Nobody is below its capacity by as many tasks as the contracts' graph is wide, or more (definition 13)."""
    return all(costs.cost(load) > costs.cost(most - task * diameter) for costs, load, most in holdings)


def most_at(costs: Costs, task: Load, price: Fraction) -> int:
    """taskset^F: how many such tasks one takes at a price per task, each of which costs no more than that."""
    count = 0
    while costs.marginal(task, task * count) <= price:
        count += 1
    return count


def price_fall(costs: Costs, task: Load, count: int, fewer: int) -> Fraction:
    """delta_k (equation 6.15): by how much the cost of one more such task falls when k of `count` leave; of a task, not of a unit."""
    return costs.marginal(task, task * (count - 1)) - costs.marginal(task, task * (count - 1 - fewer))


def least_range(costs: Costs, task: Load, count: int, diameter: int) -> Fraction:
    """Lemma 1: the range that lets load cross a graph of contracts, below the price at which `count` tasks are a participant's capacity."""
    return price_fall(costs, task, count, diameter - 1)
