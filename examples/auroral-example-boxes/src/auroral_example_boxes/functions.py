"""A function and an aggregate, for expressions in any box."""

from __future__ import annotations

import math

from auroral.extend import aggregate, function


@function("double, double, double, double -> double")
def haversine(lat1: float | None, lon1: float | None, lat2: float | None, lon2: float | None) -> float | None:
    """The distance of two places on the earth, in kilometres."""
    if lat1 is None or lon1 is None or lat2 is None or lon2 is None:
        return None
    phi1, phi2 = math.radians(lat1), math.radians(lat2)
    half = math.sin((phi2 - phi1) / 2) ** 2
    half += math.cos(phi1) * math.cos(phi2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(min(1.0, half)))


def _start() -> tuple[int, float]:
    return 0, 0.0


def _add(state: tuple[int, float], value: float | None) -> tuple[int, float]:
    return state if value is None or value <= 0 else (state[0] + 1, state[1] + math.log(value))


def _mean(state: tuple[int, float]) -> float | None:
    return math.exp(state[1] / state[0]) if state[0] else None


geo_mean = aggregate(init=_start, incr=_add, final=_mean, returns="double")
"""The geometric mean of the values above 0."""
