"""What a seller whose costs lie inside the range asks for (L37-L39): a first-price sealed-bid reverse auction, with the buyer as its auctioneer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from auroral.workload.contracts import Contract
from auroral.workload.values import Exact

Bid = Callable[[Fraction, Contract, bool], Exact]
"""For the own cost of a unit, under these terms; whether an offer of this buyer came to nothing before, so that a lower price may win it."""


def valuation(cost: Fraction, terms: Contract, again: bool) -> Exact:
    """The next price above the cost."""
    price = terms.rounded(cost)
    return price if price > cost else price + terms.step


def above(steps: int) -> Bid:
    """So many steps more, and the valuation when the offer comes back."""

    def bid(cost: Fraction, terms: Contract, again: bool) -> Exact:
        price = valuation(cost, terms, again)
        return price if again else max(price, min(price + steps * terms.step, terms.high))

    return bid


def equilibrium(sellers: int, inside: Exact = 1) -> Bid:
    """Equation 6.18, with so many sellers, and the part of them whose costs are inside the range."""

    def bid(cost: Fraction, terms: Contract, again: bool) -> Exact:
        if again:
            return valuation(cost, terms, again)
        return max(
            valuation(cost, terms, again), min(terms.rounded(nash(cost, terms.high, sellers * inside)), terms.high)
        )

    return bid


def nash(cost: Exact, high: Exact, bidders: Exact) -> Fraction:
    """Equation 6.18."""
    return high - (Fraction(bidders) - 1) / bidders * (high - cost)


def best_of_uniform(cost: Exact, competitors: int) -> Fraction:
    """What maximises the expected gain (6.17) where costs and the buyer's limit are anywhere in [0, 1] alike. Its derivative is zero there."""
    sellers = competitors + 1
    return (1 + sellers * Fraction(cost)) / (sellers + 1)


def low_is_best_below(low: Exact, high: Exact, sellers: int) -> Fraction:
    """Equation 6.20: a seller whose cost is lower does best to take the lowest price at once."""
    nobody_else = (1 - Fraction(low)) ** (sellers - 1)
    return low * (1 - Fraction(high) / low * nobody_else) / (1 - nobody_else)
