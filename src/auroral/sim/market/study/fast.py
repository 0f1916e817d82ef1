"""Many populations at once, as arrays of loads, with exactly the movements that the participants' own cores make.

All tasks are one unit and costs are half the square of the load, so that a task on top of n costs n + 1/2: who has more than a price offers
the difference, who has less takes up to it, and in between one task goes for the next whole price (T 7.1.1). Messages take no time, and
everybody acts once a second, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from auroral.sim.market.study.populations import Ints, Population

MOST_ROUNDS = 100_000


@dataclass(frozen=True, slots=True)
class Found:
    """Of one population."""

    load: Ints
    rounds: int
    """Seconds until the last movement."""
    movements: int
    tasks: int
    """That moved."""
    misplaced: Ints
    """After each round: tasks above the capacity, or, in an overloaded one, capacity that is not used."""


class Batch:
    """Populations of the same number of participants, side by side."""

    def __init__(self, populations: Sequence[Population], over_pricing: int = 0) -> None:
        most = max(one.partners.shape[1] for one in populations)
        # The larger part of what there is in memory.
        self.partners = np.stack([_wider(one.partners, most, -1) for one in populations]).astype(np.int32)
        self.low = np.stack([_wider(one.low, most, 0) for one in populations]).astype(np.int32)
        self.high = np.stack([_wider(one.high, most, 0) for one in populations]).astype(np.int32)
        self.load = np.stack([one.load for one in populations]).astype(np.int64)
        self.capacity = np.stack([one.capacity for one in populations])
        self.order = np.stack([one.order for one in populations])
        self.overloaded = np.array([one.overloaded for one in populations])
        self.over_pricing = over_pricing
        self.lost = np.zeros(self.partners.shape if over_pricing else (0, 0, 0), dtype=bool)
        """Of each contract, whether the seller lost what it asked too much for."""
        self.awake = np.ones(self.load.shape, dtype=bool)
        """Whose turn may bring something: itself or a partner changed since it last tried in vain."""
        self.moves = np.zeros(len(populations), dtype=np.int64)
        self.tasks = np.zeros(len(populations), dtype=np.int64)

    def misplaced(self) -> Ints:
        above = np.maximum(self.load - self.capacity, 0).sum(axis=1)
        unused = np.maximum(self.capacity - self.load, 0).sum(axis=1)
        return np.asarray(np.where(self.overloaded, unused, above))

    def run(self) -> list[Found]:
        history, last = [self.misplaced()], np.zeros(len(self.load), dtype=np.int64)
        for number in range(1, MOST_ROUNDS):
            before = self.moves.copy()
            self.round()
            moved = self.moves > before
            last[moved] = number
            history.append(self.misplaced())
            if not self.awake.any():
                break
        profile = np.stack(history, axis=1)
        return [
            Found(self.load[n], int(last[n]), int(self.moves[n]), int(self.tasks[n]), profile[n, : last[n] + 1])
            for n in range(len(self.load))
        ]

    def round(self) -> None:
        """Everybody acts once."""
        for place in range(self.order.shape[1]):
            node = self.order[:, place]
            acting = np.nonzero(self.awake[np.arange(len(node)), node])[0]
            if len(acting):
                self._act(acting, node[acting])

    def _act(self, runs: Ints, buyers: Ints) -> None:
        """One cycle of each of these participants, each in a population of its own."""
        partners, low, high = (table[runs, buyers] for table in (self.partners, self.low, self.high))
        mine = self.load[runs, buyers][:, None]
        theirs = self.load[runs[:, None], partners]
        offered = np.where(partners >= 0, mine - low, 0)
        asked = offered > 0
        takes = asked & (theirs < low)
        first, taken = takes.argmax(axis=1), np.asarray(takes.any(axis=1))
        rows = np.arange(len(runs))
        amount = np.where(taken, np.minimum(offered, low - theirs)[rows, first], 0)
        counters = asked & (theirs >= low) & (theirs < high)
        # Who takes at the lowest price ends the cycle: those behind it are not asked.
        counters &= ~taken.reshape(-1, 1) | (np.arange(partners.shape[1]) < first.reshape(-1, 1))
        won = np.where(taken, first, -1)
        self.awake[runs, buyers] = taken
        some = counters.any(axis=1)
        if some.any():
            price = theirs + 1
            if self.over_pricing:
                dearer = np.minimum(price + self.over_pricing, high)
                price = np.where(self.lost[runs, buyers], price, np.maximum(price, dearer))
            count = np.where(price >= high, np.minimum(offered, high - theirs), 1)
            asking = np.where(counters, price, np.iinfo(np.int64).max)
            best = asking.argmin(axis=1)
            worth = np.minimum(count[rows, best], mine[:, 0] - asking[rows, best])
            bought = some & ~taken & (worth > 0)
            amount = np.where(bought, worth, amount)
            won = np.where(bought, best, won)
            self._lose(runs, buyers, counters, won)
        moving = amount > 0
        if moving.any():
            self._move(runs[moving], buyers[moving], partners[rows, won][moving].astype(np.int64), amount[moving])
            if self.over_pricing:
                self.lost[runs[moving], buyers[moving], won[moving]] = False

    def _lose(
        self, runs: Ints, buyers: Ints, counters: np.ndarray[tuple[int, int], np.dtype[np.bool_]], won: Ints
    ) -> None:
        """Those that asked for more and did not get the task ask for less the next time: it is worth another try."""
        if self.over_pricing:
            losing = counters & (np.arange(counters.shape[1]) != won[:, None])
            anew = (losing & ~self.lost[runs, buyers]).any(axis=1)
            self.lost[runs, buyers] |= losing
            self.awake[runs[anew], buyers[anew]] = True

    def _move(self, runs: Ints, buyers: Ints, sellers: Ints, amount: Ints) -> None:
        self.load[runs, buyers] -= amount
        self.load[runs, sellers] += amount
        self.moves[runs] += 1
        self.tasks[runs] += amount
        for nodes in (buyers, sellers):
            near = self.partners[runs, nodes]
            # What fills the table up is the last participant: to wake it for nothing does no harm.
            self.awake[runs[:, None], near] = True
            self.awake[runs, nodes] = True


def _wider(table: Ints, most: int, filled: int) -> Ints:
    return np.pad(table, ((0, 0), (0, most - table.shape[1])), constant_values=filled)


def settle(populations: Sequence[Population], over_pricing: int = 0) -> list[Found]:
    """Until nothing moves any more."""
    return Batch(populations, over_pricing).run()
