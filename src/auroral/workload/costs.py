"""What it costs to run a load, for each second of it: convex curves, one for each resource (L2-L5).

A price is a slope of the cost, so that it stands for a load level: who has more load than that gains by moving some away, who has less
gains by taking some.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from auroral.model.errors import AuroralError
from auroral.workload.values import Exact, Load

SATURATED = Fraction(999, 1000)
"""Of a queue's capacity. From there on its cost goes on by the tangent: no cost is infinite, and whoever is saturated offers what any price
below a million asks for, and takes nothing."""
SAMPLES = 1_000
ROUGHLY = Fraction(1, 10**9)
"""Slopes of a function of floats may be wrong by so much of the largest."""


class WrongCost(AuroralError):
    """A cost that the mechanism cannot work with."""


class Curve(Protocol):
    """Of one resource."""

    @property
    def convex(self) -> bool: ...
    def cost(self, load: Exact) -> Fraction: ...
    def slope(self, load: Exact) -> Fraction:
        """To the right."""
        ...


@dataclass(frozen=True, slots=True)
class Queue:
    """The mean number of jobs in an M/M/1 queue, rho/(1-rho) (equation 7.1); `shift` takes so much off rho, as in the study of prices."""

    capacity: Exact = 1
    shift: Exact = 0
    convex: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.capacity <= 0:
            raise WrongCost(f"the capacity of a queue is {self.capacity}\n    allowed: more than 0")

    def cost(self, load: Exact) -> Fraction:
        used = self._used(load)
        if used <= SATURATED:
            return used / (1 - used)
        return SATURATED / (1 - SATURATED) + (used - SATURATED) / (1 - SATURATED) ** 2

    def slope(self, load: Exact) -> Fraction:
        return 1 / (self.capacity * (1 - min(self._used(load), SATURATED)) ** 2)

    def _used(self, load: Exact) -> Fraction:
        return Fraction(load) / self.capacity - self.shift


@dataclass(frozen=True, slots=True)
class Quadratic:
    """`factor * load**2 / 2`: with a factor of 1 a price is the load level itself."""

    factor: Exact = 1
    convex: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.factor <= 0:
            raise WrongCost(f"the factor of a quadratic cost is {self.factor}\n    allowed: more than 0")

    def cost(self, load: Exact) -> Fraction:
        return Fraction(self.factor) * load * load / 2

    def slope(self, load: Exact) -> Fraction:
        return Fraction(self.factor) * load


class Points:
    """Straight lines between points, and on beyond the last as before it."""

    convex = True

    def __init__(self, points: Iterable[tuple[Exact, Exact]]) -> None:
        self.points = tuple(points)
        if len(self.points) < 2 or any(b[0] <= a[0] for a, b in pairwise(self.points)):
            raise WrongCost(
                f"{len(self.points)} points of a cost are no line\n    allowed: two or more, by increasing load\n"
                "    next: give pairs of load and cost"
            )
        self.slopes = [Fraction(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(self.points)]
        for number, slope in enumerate(self.slopes):
            if slope < 0:
                raise WrongCost(
                    f"a cost falls {_between(self.points, number)}\n    allowed: costs that rise with the load"
                )
            if number and slope < self.slopes[number - 1]:
                raise WrongCost(_concave(_between(self.points, number)))

    def cost(self, load: Exact) -> Fraction:
        number = self._number(load)
        x, y = self.points[number]
        return y + self.slopes[number] * (load - x)

    def slope(self, load: Exact) -> Fraction:
        return self.slopes[self._number(load)]

    def _number(self, load: Exact) -> int:
        return min(max(bisect_right(self.points, load, key=lambda point: point[0]) - 1, 0), len(self.slopes) - 1)


@dataclass(frozen=True, slots=True)
class Step:
    """Nothing up to a level, and `height` more for each beginning `width` above it, as memory that must be bought in pieces. Not convex:
    tasks are offered and taken in groups, and a range of prices is of no use."""

    level: Exact
    height: Exact
    width: Exact | None = None
    """One step only, if left out."""
    convex: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.height <= 0 or (self.width is not None and self.width <= 0):
            raise WrongCost(f"a step is {self.height} high and {self.width} wide\n    allowed: more than 0")

    def cost(self, load: Exact) -> Fraction:
        above = Fraction(load) - self.level
        if above <= 0:
            return Fraction(0)
        return Fraction(self.height) * (1 if self.width is None else -(-above // self.width))

    def slope(self, load: Exact) -> Fraction:
        return Fraction(0)


def sampled(function: Callable[[float], float], most: Exact, samples: int = SAMPLES) -> Points:
    """Any convex function of floats, as straight lines between so many of its points: what is exact stays exact."""
    xs = [Fraction(most) * number / samples for number in range(samples + 1)]
    ys = [Fraction(function(float(x))) for x in xs]
    slopes = [(ys[n + 1] - ys[n]) * samples / Fraction(most) for n in range(samples)]
    rounding = ROUGHLY * max(map(abs, slopes))
    points, steepest = [(xs[0], ys[0])], Fraction(0)
    for number, slope in enumerate(slopes):
        between = f"between loads of {float(xs[number]):g} and {float(xs[number + 1]):g}"
        if slope < -rounding:
            raise WrongCost(f"a cost falls {between}\n    allowed: costs that rise with the load")
        if slope < steepest - rounding:
            raise WrongCost(_concave(between))
        steepest = max(steepest, slope)
        points.append((xs[number + 1], points[-1][1] + steepest * Fraction(most) / samples))
    return Points(points)


def _between(points: tuple[tuple[Exact, Exact], ...], number: int) -> str:
    return f"between loads of {float(points[number][0]):g} and {float(points[number + 1][0]):g}"


def _concave(between: str) -> str:
    return (
        f"a cost rises more slowly {between} than before it\n    allowed: convex costs, whose slope never falls\n"
        "    next: for a cost that jumps, as memory does, use a step"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Of a participant: its own, told to nobody. The sum over its resources."""

    curves: Mapping[str, Curve]

    @property
    def convex(self) -> bool:
        return all(curve.convex for curve in self.curves.values())

    @lru_cache(maxsize=10_000)  # noqa: B019  few live, and as long as the program
    def cost(self, load: Load) -> Fraction:
        if unknown := load.amounts.keys() - self.curves.keys():
            raise WrongCost(
                f"there is no cost of {', '.join(sorted(unknown))}\n    allowed: {', '.join(sorted(self.curves))}\n"
                "    next: give the resource a cost"
            )
        return sum((curve.cost(load[name]) for name, curve in self.curves.items()), Fraction(0))

    def marginal(self, more: Load, load: Load) -> Fraction:
        """What `more` costs on top of a load."""
        return self.cost(load + more) - self.cost(load)

    def gradient(self, load: Load) -> dict[str, Fraction]:
        """For each resource, the price at this load level."""
        return {name: curve.slope(load[name]) for name, curve in self.curves.items()}


def level_at(curve: Curve, price: Exact, most: Exact) -> Fraction:
    """The load level that a price stands for: up to there a further unit costs less. Not above `most`; to one part in 10**12 of it where
    no simple fraction is right."""
    low, high = Fraction(0), Fraction(most)
    if curve.slope(high) < price:
        return high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if curve.slope(middle) < price else (low, middle)
    simple = high.limit_denominator(10**6)
    return simple if curve.slope(simple) == price else high
