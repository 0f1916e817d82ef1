"""Times and lengths of time in words, and the ticks of an axis of time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_MOST_TICKS = 9
_DAY = 86_400


def moment(at: float | None) -> str:
    """With its day, in UTC."""
    return "-" if at is None else _date(at).strftime("%Y-%m-%d %H:%M:%S")


def of_day(at: float) -> str:
    return _date(at).strftime("%H:%M:%S")


def length(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def ticks(begin: float, end: float) -> Iterator[tuple[float, str]]:
    """Round times between the two, with their words."""
    span = end - begin
    step = next((one for one in _STEPS if span / one <= _MOST_TICKS), 0.0)
    if not step:
        step = _DAY * -(-span // (_DAY * _MOST_TICKS))
    # A day's name stands where it begins, on an axis that has several.
    form = "%H:%M:%S" if step < 60 else "%H:%M" if span <= 2 * _DAY else "%m-%d %H:%M"
    for number in range(math.ceil(begin / step), math.floor(end / step) + 1):
        # A tenth of a second is no round number to a computer, and what is just below a second is not the second before.
        at = round(number * step, 1)
        yield at, _date(at).strftime(form) + (f"{at % 1:.1f}"[1:] if step < 1 else "")


def _date(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
