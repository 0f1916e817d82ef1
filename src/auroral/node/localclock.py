"""The machine's clock as an input: a row says how it stands when the other inputs have come to a stime.

There is one whenever they have come further, and else one in each bucket's length of time: so long a timeout by the clock may be late. Each is
logged before anything sees it, as rows of all inputs are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from auroral.model.boxes.local_clock import AT, CLOCK
from auroral.node.feeds import Clock, Feed
from auroral.node.source import Source

FED = "clock"
"""How it is written where an input's rows come from the clock."""
_LOOKS = 10
"""At the others, in a bucket's length of time."""
_TIME = pa.timestamp("us", tz="UTC")


class Reached(NamedTuple):
    """How far the other inputs have come, and whether all have ended."""

    boundary: int | None
    ended: bool = False


def clock_feed(source: Source, reached: Callable[[], Reached], clock: Clock, bucket: int) -> Feed:
    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        told_at: int | None = None
        told = 0
        while not source.state.ended:
            others, now = reached(), clock()
            if others.boundary is not None:
                # Behind its own boundary a row would be late.
                at = max(others.boundary, source.state.boundary or others.boundary)
                if at != told_at or not told <= now < told + bucket:
                    source.take(pa.table({AT: pa.array([at], _TIME), CLOCK: pa.array([now], _TIME)}), now)
                    told_at, told = at, now
                    woken()
            if others.ended:
                source.end()
                woken()
            elif stop.wait(min(0.05, bucket / 1e6 / _LOOKS)):
                return

    return Feed(source.input.stream, run)
