"""What is worth offering, and what is worth taking: costs over the time of a movement against what is paid for it (L15-L17, L26-L28)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from auroral.workload.contracts import Contract
from auroral.workload.costs import Costs
from auroral.workload.values import NOTHING, Exact, Load, Task

Forecast = Callable[[float, Exact], tuple[tuple[Fraction, Fraction], ...]]
"""For a time and so many seconds from it: parts of these, which add up to 1, and what all loads are then, as multiples of now."""

ALL_THE_SAME = ((Fraction(1), Fraction(1)),)


def steady(now: float, seconds: Exact) -> tuple[tuple[Fraction, Fraction], ...]:
    """The load of now stays: right where movements are short against how it varies."""
    return ALL_THE_SAME


@dataclass(frozen=True, slots=True)
class Worth:
    costs: Costs
    margin: Exact = 0
    """Added to the price to offer, and taken off it to accept: statistics are not exact, and a load that jitters moves nothing."""
    forecast: Forecast = steady

    def expected(self, more: Load, base: Load, now: float, seconds: Exact) -> Fraction:
        """What `more` costs on top of `base` over that time (equations 6.6 and 6.7)."""
        parts = self.forecast(now, seconds)
        if parts is ALL_THE_SAME:
            return self.costs.marginal(more, base) * seconds
        return seconds * sum((part * self.costs.marginal(more * of, base * of) for part, of in parts), Fraction(0))

    def to_offer(
        self, tasks: Iterable[Task], base: Load, terms: Contract, price: Exact, seconds: Exact, now: float
    ) -> tuple[tuple[Task, ...], bool]:
        """Those of the tasks, which are part of `base`, that cost more here than at that price, strictly, and moving them there and back; and whether only
        all of them together do."""
        chosen, rest, in_vain = list[Task](), base, set[tuple[Load, Exact]]()
        group, group_load, group_migration = list[Task](), NOTHING, Fraction(0)
        for task in tasks:
            if (task.load, task.migration) in in_vain:
                continue
            owed = terms.payment(task.load, price + self.margin, seconds) + 2 * task.migration
            if self.expected(task.load, rest - task.load, now, seconds) > owed:
                chosen.append(task)
                rest -= task.load
            elif self.costs.convex:
                in_vain.add((task.load, task.migration))
            elif not chosen:
                # Where costs jump, one may save nothing, and some together the whole step.
                group.append(task)
                group_load += task.load
                group_migration += 2 * task.migration
                owed = terms.payment(group_load, price + self.margin, seconds) + group_migration
                if self.expected(group_load, base - group_load, now, seconds) > owed:
                    return tuple(group), True
        # Where costs jump, part of it may save nothing.
        return tuple(chosen), not self.costs.convex and len(chosen) > 1

    def to_take(
        self, tasks: Iterable[Task], base: Load, terms: Contract, price: Exact, now: float, whole: bool = False
    ) -> tuple[Task, ...]:
        """Those that cost less here than is paid for them, on top of `base` and one another, and leave it as quick as agreed."""
        seconds, chosen, load = terms.duration, list[Task](), base
        if whole:
            together = tuple(tasks)
            more = sum((task.load for task in together), NOTHING)
            return together if self._fits(more, load, terms, price, seconds, now) else ()
        in_vain = set[Load]()
        for task in tasks:
            if task.load in in_vain:
                continue
            if self._fits(task.load, load, terms, price, seconds, now):
                chosen.append(task)
                load += task.load
            elif self.costs.convex:
                in_vain.add(task.load)
        return tuple(chosen)

    def _fits(self, more: Load, load: Load, terms: Contract, price: Exact, seconds: Exact, now: float) -> bool:
        paid = terms.payment(more, price - self.margin, seconds)
        return terms.clauses.keep(load + more) and self.expected(more, load, now, seconds) < paid

    def unit(self, task: Task, base: Load, terms: Contract, now: float) -> Fraction:
        """What a unit of it costs on top of that, in a second."""
        seconds = terms.duration
        return self.expected(task.load, base, now, seconds) / (terms.load(task.load) * seconds) + self.margin
