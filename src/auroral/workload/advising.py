"""Which contracts to seek, from loads as they were recorded (L50; the question that the thesis leaves open in 7.4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from auroral.workload.contracts import Contract
from auroral.workload.costs import Curve, level_at
from auroral.workload.distributions import Floats
from auroral.workload.offline import Overload, bought, overload, sold

ENOUGH = 0.95
"""Of what as many contracts as one likes would bring, where they cost nothing."""
LEVELS = 20
"""Load levels that are tried as prices, up to the capacity."""


@dataclass(frozen=True, slots=True)
class Brings:
    """What so many contracts bring, for each second."""

    contracts: int
    overload: Overload
    """Given that the own load is above the capacity."""
    avoided: float
    """Load above the capacity that others take, on average over all of the time."""
    worth: float
    """At the price of load at the capacity."""
    net: float
    """Less what the contracts themselves cost."""


@dataclass(frozen=True, slots=True)
class Level:
    """A price below that of the capacity, which lowers ordinary costs."""

    level: float
    price: float
    bought: float
    sold: float
    """With as many contracts as are advised, in each direction."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A contract that there is."""

    contract: Contract
    level: float
    """The load level of its highest price."""
    advice: str


@dataclass(frozen=True, slots=True)
class Advice:
    capacity: float
    spike_probability: float
    expected_spike: float
    median: float
    price: float
    """At the capacity: the most that is worth paying."""
    brings: tuple[Brings, ...]
    seek: int
    levels: tuple[Level, ...]
    best_level: Level
    """That moves the most for a buyer."""
    existing: tuple[Judged, ...]


def advise(
    own: Floats,
    partners: Floats,
    capacity: float,
    curve: Curve,
    contract_cost: float = 0.0,
    existing: Sequence[Contract] = (),
) -> Advice:
    """From loads of one's own at random moments, and of as many possible partners as there are columns at moments of theirs."""
    above = own > capacity
    probability = float(above.mean())
    price = float(curve.slope(Fraction(capacity).limit_denominator(10**6)))
    spikes = (own[above] - capacity) / capacity
    brings = []
    for count in range(partners.shape[1] + 1):
        found = overload(spikes, partners[above][:, :count] / capacity) if above.any() else Overload(0.0, 0.0)
        whole = float(spikes.mean()) if above.any() else 0.0
        avoided = probability * (whole - found.expected) * capacity
        brings.append(Brings(count, found, avoided, avoided * price, avoided * price - count * contract_cost))
    seek = _how_many(brings, contract_cost)
    levels = []
    for number in range(1, LEVELS + 1):
        level = capacity * number / LEVELS
        at_price = float(curve.slope(Fraction(level).limit_denominator(10**6)))
        used = partners[:, : max(seek, 1)]
        levels.append(Level(level, at_price, bought(own, used, level), sold(own, used, level)))
    best = max(levels, key=lambda one: one.bought)
    judged = tuple(_judged(one, curve, capacity, price) for one in existing)
    median = float(np.median(own))
    return Advice(
        capacity,
        probability,
        float(spikes.mean() * capacity) if above.any() else 0.0,
        median,
        price,
        tuple(brings),
        seek,
        tuple(levels),
        best,
        judged,
    )


def _how_many(brings: list[Brings], contract_cost: float) -> int:
    if contract_cost > 0:
        return max(brings, key=lambda one: (one.net, -one.contracts)).contracts
    return next(one.contracts for one in brings if one.avoided >= ENOUGH * brings[-1].avoided)


def _judged(one: Contract, curve: Curve, capacity: float, price: float) -> Judged:
    level = float(level_at(curve, one.high, 2 * Fraction(capacity).limit_denominator(10**6)))
    if one.low > price:
        advice = "change: even its lowest price is above what load costs at the capacity, so that one is overloaded before anything moves"
    elif one.high > price:
        advice = (
            "change: its highest price is above what load costs at the capacity, and is never paid; lower it to that"
        )
    elif level < 0.9 * capacity:
        advice = "keep, to lower ordinary costs; in overload partners that have more load than its level do not take anything"
    else:
        advice = "keep: its price is just below what load costs at the capacity"
    return Judged(one, level, advice)
