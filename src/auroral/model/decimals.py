"""Decimals as whole numbers of their last digit."""

from __future__ import annotations

from decimal import Decimal

from auroral.model.types import FieldType


def unscaled(value: Decimal, scale: int) -> int:
    """The whole number that is `value` times 10**scale; a Decimal's own arithmetic might round it."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), f"{value} is no number"
    whole = int("".join(map(str, digits)) or "0")
    shift = exponent + scale
    if shift >= 0:
        whole *= int(10**shift)
    else:
        whole, rest = divmod(whole, int(10**-shift))
        assert not rest, f"{value} has more than {scale} digits after the point"
    return -whole if sign else whole


def scaled(whole: int, decimal: FieldType) -> Decimal | None:
    """The decimal with these digits; None where they are too many for its type."""
    precision, scale = digits_of(decimal)
    if abs(whole) >= 10**precision:
        return None
    return Decimal((whole < 0, tuple(map(int, str(abs(whole)))), -scale))


def digits_of(decimal: FieldType) -> tuple[int, int]:
    """Precision and scale of a decimal type."""
    if decimal.precision is None or decimal.scale is None:
        raise TypeError(f"{decimal} is no decimal")
    return decimal.precision, decimal.scale
