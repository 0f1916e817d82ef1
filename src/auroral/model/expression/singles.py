"""Values of the type single (IEEE 754 binary32), held in Python floats."""

from __future__ import annotations

import math
import struct

_BITS = 24  # of precision


def nearest_single(value: float | int) -> float:
    """The single nearest to `value`, ties to even; infinite beyond the largest."""
    if isinstance(value, int) and abs(value) >> 53:
        # By way of a double it would be rounded twice.
        value = _cut_integer(value)
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _cut_integer(value: int) -> float:
    size = abs(value)
    shift = size.bit_length() - _BITS
    kept, rest, half = size >> shift, size & ((1 << shift) - 1), 1 << (shift - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    return math.copysign(float(kept << shift), value)


def shortest_single(value: float) -> str:
    """The shortest decimal text that reads back as the single `value`."""
    return next(text for digits in range(1, 18) if nearest_single(float(text := f"{value:.{digits}g}")) == value)
