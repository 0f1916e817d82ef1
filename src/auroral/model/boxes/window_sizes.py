"""Sizes of windows, and of what goes with them, that make sense whatever the stream is."""

from __future__ import annotations

import math

from auroral.model.boxes.base import Report
from auroral.model.duration import UNITS, spell
from auroral.model.stream import ClockField, StreamType
from auroral.model.types import Kind
from auroral.model.windows import (
    EventTimeWindow,
    FieldWindow,
    Landmark,
    LatePolicy,
    Runs,
    StimeWindow,
    TupleWindow,
    Window,
)

LARGEST = 2**62
"""Sizes stay below this: sums of a stime and a few sizes fit 64 bits."""


MOST_AT_ONCE = 100_000
"""Windows that one row may be in, where each is kept by itself: what it costs to add the row to all of them has to end."""


def step(clock: ClockField, stream: StreamType) -> int:
    """Microseconds in one step of a size that is written for a window or a buffer on this field.

    An integer's are what it counts. A timestamp is kept in microseconds, but a size beside it counts seconds: a window of 10
    is as long whichever of the two types a file declares.
    """
    return UNITS["s"] if stream.schema[clock.name].kind is Kind.TIMESTAMP else clock.unit


def _shown(window: Window, length: float) -> str:
    """A size as its user wrote it: a length of time, or a number in a file."""
    return spell(int(length)) if isinstance(window, StimeWindow | EventTimeWindow) else f"{length:g}"


def check_sizes(window: Window, report: Report) -> None:
    if isinstance(window, Landmark | Runs):
        return
    if not (0 < window.size < LARGEST and 0 < window.advance < LARGEST):
        # Written so that infinity and NaN, which XML numbers may be, fail too.
        report.add(
            f"windows of size {_shown(window, window.size)} that begin every {_shown(window, window.advance)}",
            allowed="a size and an advance above 0 that fit 64 bits",
            next_step="mend the one that is not",
        )
    elif window.advance > window.size:
        report.add(
            f"the advance {_shown(window, window.advance)} is larger than the window size {_shown(window, window.size)}",
            allowed="an advance of at most the window size",
            next_step="rows between windows would be lost: filter them out before instead",
        )
    if isinstance(window, FieldWindow | TupleWindow) and window.slack < 0:
        report.add(
            f"slack is {window.slack}",
            allowed="0 or more rows",
            next_step="write how many rows may come before one that belongs in front of them",
        )
    if isinstance(window, EventTimeWindow):
        if min(window.lateness, window.ahead, window.correct_for) < 0:
            report.add(
                "lateness, ahead and correct_for are lengths of time",
                allowed="0 or more",
                next_step="mend the one below 0",
            )
        if (window.late is LatePolicy.CORRECT) != (window.correct_for > 0):
            report.add(
                f"late={window.late.value!r} with correct_for {spell(window.correct_for)}",
                allowed="correct_for above 0 with late='correct', and only there",
                next_step='add correct_for=... to late="correct", or leave it out',
            )


def not_too_many(window: FieldWindow | TupleWindow | EventTimeWindow, report: Report) -> bool:
    """Whether a row can be added to every window that it is in; note why not."""
    at_once = math.ceil(window.size / window.advance)
    if at_once <= MOST_AT_ONCE:
        return True
    report.add(
        f"windows of size {_shown(window, window.size)} that begin every {_shown(window, window.advance)}: each row is in "
        f"{at_once:,} of them at once",
        allowed=f"an advance that puts a row into {MOST_AT_ONCE:,} windows at most",
        next_step="make the advance larger, or the windows smaller",
    )
    return False
