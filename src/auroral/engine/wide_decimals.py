"""Sums of decimals that 38 digits may not hold, exact in any order: values are cut in two halves, which are summed apart.

With one column, a part of a sum that overflows would be NULL, and lost when parts are put together, even where the whole fits.
"""

from __future__ import annotations

from decimal import Decimal

from auroral.engine.sqltext import floor_div

ROOMY = 28
"""Digits up to which one column does: it takes 10^10 values of any magnitude."""

_DIGITS = 18
_HALF = 10**_DIGITS


def halves(x: str, scale: int) -> tuple[str, str]:
    """The upper and lower digits of x as DECIMAL(38,0)s of its sign: x = (high * 10^18 + low) * 10^-scale."""
    middle = _power_of_ten(_DIGITS - scale)
    rest = f"({x} % {middle})"
    # Of the difference Spark may cut the last digit, which is 0.
    high = f"CAST(({x} - {rest}) / {middle} AS DECIMAL(38,0))"
    return high, f"CAST({rest} DIV {_power_of_ten(-scale)} AS DECIMAL(38,0))"


def total(high: str, low: str, scale: int, kind: str) -> str:
    """The sum as a value of type `kind`; NULL where that is a decimal with too few digits.

    By way of a text: Spark's arithmetic would cut digits behind the point to make room before it.
    """
    text = f"IF({_carried(high, low)} < 0, concat('-', {_text(f'-{high}', f'-{low}')}), {_text(high, low)})"
    return f"CAST(concat({text}, 'E-{scale}') AS {kind})"


def _text(high: str, low: str) -> str:
    """The digits of a sum that is not negative."""
    lower = f"lpad(CAST(pmod({low}, {_HALF}L) AS STRING), {_DIGITS}, '0')"
    return f"concat(CAST({_carried(high, low)} AS STRING), {lower})"


def _carried(high: str, low: str) -> str:
    return f"({high} + {floor_div(low, _HALF)})"


def _power_of_ten(exponent: int) -> str:
    return f"{Decimal(1).scaleb(exponent):f}BD"
