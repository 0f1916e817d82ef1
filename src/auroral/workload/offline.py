"""What contracts are worth before they are made (L49, L50): from loads as they were, or as they are thought to be.

Loads are in shares of the load T above which a participant calls itself overloaded. Samples come from outside: rows of `sellers` are the loads
of as many partners as there are columns, at the moment of a spike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auroral.workload.distributions import Floats


@dataclass(frozen=True, slots=True)
class Overload:
    """Given a spike."""

    probability: float
    expected: float
    """What of the spike nobody takes, on average."""


def overload(spikes: Floats, sellers: Floats) -> Overload:
    """Of a participant at T that has a contract at T with each of the sellers (equations 6.11 to 6.13)."""
    room = np.maximum(1 - sellers, 0).sum(axis=1) if sellers.shape[1] else np.zeros(len(spikes))
    above = spikes - room
    return Overload(float((above > 0).mean()), float(np.maximum(above, 0).mean()))


def benefit(without: Overload, with_them: Overload, spike_probability: float) -> float:
    """Equation 6.14, where overload costs as much as it is."""
    return spike_probability * (without.expected - with_them.expected)


def bought(own: Floats, sellers: Floats, level: float) -> float:
    """What a participant moves away on average under contracts with the price of this load level."""
    offered = np.maximum(own - level, 0)
    room = np.maximum(level - sellers, 0).sum(axis=1)
    return float(np.minimum(offered, room).mean())


def sold(own: Floats, buyers: Floats, level: float) -> float:
    """What one takes of others at that price."""
    offered = np.maximum(buyers - level, 0).sum(axis=1)
    return float(np.minimum(offered, np.maximum(level - own, 0)).mean())
