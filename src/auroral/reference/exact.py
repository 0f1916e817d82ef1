"""Numbers without rounding on the way: sums and variances that do not depend on the order of their terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

# Every finite double is a whole multiple of the smallest one, 2**-1074.
_UNIT = 2**1074


class ExactTotal:
    """A sum of doubles as a whole number of 2**-1074, with IEEE's rules for what is not finite."""

    def __init__(self) -> None:
        self.units = 0
        self.special: list[float] = []

    def add(self, value: float) -> None:
        if math.isfinite(value):
            numerator, denominator = value.as_integer_ratio()
            self.units += numerator * (_UNIT // denominator)
        else:
            self.special.append(value)

    def rounded(self) -> float:
        return special_sum(self.special) if self.special else ratio(self.units, _UNIT)


def special_sum(special: Sequence[float]) -> float:
    """The sum of infinities and NaNs, whatever finite values are beside them."""
    first = special[0]
    return first if all(value == first for value in special) else math.nan


def ratio(numerator: int, denominator: int) -> float:
    """The double nearest to the quotient; infinite beyond the largest."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if (numerator < 0) == (denominator < 0) else -math.inf


def sample_deviation(values: Sequence[Fraction]) -> float | None:
    """The square root of the exact sample variance rounded to a double; None below two values."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values, Fraction(0)) / n
    variance = sum(((value - mean) ** 2 for value in values), Fraction(0)) / (n - 1)
    return math.sqrt(ratio(variance.numerator, variance.denominator))


def wrapped(value: int, bits: int) -> int:
    """Two's complement arithmetic in `bits` bits."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half
