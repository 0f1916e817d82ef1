"""Lengths of time, in microseconds inside and as '3s', '500ms' or a timedelta outside."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_TEXT = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$")

Duration = str | timedelta


def microseconds(value: Duration) -> int:
    """'3s', '1.5 min' or a timedelta as a whole number of microseconds."""
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    match = _TEXT.match(value) if isinstance(value, str) else None  # type: ignore[redundant-expr]  # users err
    if match is None or match[2].lower() not in UNITS:
        raise ValueError(
            f"{value!r} is not a length of time; write a number and a unit of {', '.join(UNITS)}, such as '500ms'"
        )
    # Not float: 1.001 * 1_000_000 is no whole number there.
    scaled = Fraction(match[1]) * UNITS[match[2].lower()]
    if scaled.denominator != 1:
        raise ValueError(f"{value!r} is not a whole number of microseconds")
    return int(scaled)


def spell(us: int) -> str:
    """The shortest exact spelling: 1500000 -> '1500ms'."""
    for unit in ("d", "h", "min", "s", "ms"):
        if us and us % UNITS[unit] == 0:
            return f"{us // UNITS[unit]}{unit}"
    return f"{us}us"
