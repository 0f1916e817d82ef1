"""Guarantees that are judged as a run goes: of what has come since they were last asked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Generic, TypeVar

from auroral.sim.seen import Delivery, Moment, Run

Item = TypeVar("Item")
Judging = Iterator[str | None]
"""Words for what is broken; None when all has been judged that has come so far, to be asked again later."""


class AsItGoes:
    """An invariant that needs nothing of what comes later: what it finds broken in the part of a run is broken in all of it."""

    __name__: str
    __doc__: str | None

    def __init__(self, begin: Callable[[Run], Judging]) -> None:
        self.begin = begin
        update_wrapper(self, begin)

    def __call__(self, run: Run) -> Iterator[str]:
        """All that has come, at once."""
        for words in self.begin(run):
            if words is None:
                return
            yield words


class News(Generic[Item]):
    """Of a list that grows: each time what is new."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.seen = 0

    def __iter__(self) -> Iterator[Item]:
        while self.seen < len(self.items):
            self.seen += 1
            yield self.items[self.seen - 1]


class Apart:
    """Each new moment, after the last one that lay so many seconds before it."""

    def __init__(self, moments: list[Moment], seconds: float) -> None:
        self.moments, self.seconds = moments, seconds
        self.new, self.times = News(moments), list[float]()

    def __iter__(self) -> Iterator[tuple[Moment, Moment]]:
        for moment in self.new:
            self.times.append(moment.at)
            before = self.moments[max(0, bisect_right(self.times, moment.at - self.seconds) - 1)]
            if before.at <= moment.at - self.seconds:
                yield before, moment


class Deliveries:
    """What is new at the client, with its stream."""

    def __init__(self, run: Run) -> None:
        self.new = {stream: News(given) for stream, given in run.deliveries.items()}

    def __iter__(self) -> Iterator[tuple[str, Delivery]]:
        for stream, given in self.new.items():
            for one in given:
                yield stream, one
