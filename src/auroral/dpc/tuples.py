"""The tuple view: versions of buckets as the thesis' streams have them, with UNDO and REC_DONE (D46, D53-D56)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class TupleType(StrEnum):
    INSERTION = "insertion"
    TENTATIVE = "tentative"
    BOUNDARY = "boundary"
    UNDO = "undo"
    REC_DONE = "rec_done"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Tuple:
    """A boundary's and an UNDO's position is a bucket: all before it has come, or stays. What is tentative before a GAP's position is
    never corrected."""

    type: TupleType
    position: int
    row: Any = None


@dataclass(slots=True)
class TupleView:
    """One stream, as a client sees it. What is tentative stands behind all that is stable, until UNDO takes it away."""

    frontier: int = 0
    shown: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Tentative buckets that the client sees now."""
    undone: set[int] = field(default_factory=set)
    """Tentative buckets that were taken away and are still to be corrected."""

    @property
    def correcting(self) -> bool:
        """Between UNDO and REC_DONE."""
        return bool(self.undone)

    def tentative(self, bucket: int, rows: tuple[Any, ...]) -> Iterator[Tuple]:
        assert bucket >= self.frontier, "what is stable stays"
        if bucket in self.shown and self.shown[bucket] == rows:
            return
        behind = {b: shown for b, shown in self.shown.items() if b >= bucket}
        if behind:
            # A newer version, or one that comes late: a stream is undone from its end.
            yield Tuple(TupleType.UNDO, self.frontier)
            again = {**self.shown, bucket: rows}
            self.shown = {}
        else:
            again = {bucket: rows}
        for number, given in sorted(again.items()):
            self.shown[number] = given
            yield from (Tuple(TupleType.TENTATIVE, number, row) for row in given)

    def stable(self, bucket: int, rows: tuple[Any, ...]) -> Iterator[Tuple]:
        assert bucket == self.frontier, "what is stable comes in order, once"
        if self.shown:
            yield Tuple(TupleType.UNDO, self.frontier)
            self.undone |= set(self.shown)
            self.shown = {}
        self.frontier = bucket + 1
        yield from (Tuple(TupleType.INSERTION, bucket, row) for row in rows)
        yield Tuple(TupleType.BOUNDARY, self.frontier)
        corrected = self.correcting
        self.undone = {b for b in self.undone if b >= self.frontier}
        if corrected and not self.correcting:
            yield Tuple(TupleType.REC_DONE, self.frontier)

    def gap(self, end: int) -> Iterator[Tuple]:
        self.frontier = end
        self.shown = {bucket: rows for bucket, rows in self.shown.items() if bucket >= end}
        corrected = self.correcting
        self.undone = {bucket for bucket in self.undone if bucket >= end}
        yield Tuple(TupleType.GAP, end)
        if corrected and not self.correcting:
            yield Tuple(TupleType.REC_DONE, end)

    def interrupted(self) -> Iterator[Tuple]:
        """D56: a failure during the correction; what follows it is of another failure."""
        if self.correcting:
            self.undone.clear()
            yield Tuple(TupleType.REC_DONE, self.frontier)
