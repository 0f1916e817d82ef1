"""What the client was given of each output, a square for each bucket, corrected in place when corrections come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST = 600
"""Squares of an output that are remembered."""


class Kind(StrEnum):
    """As `auroral tail` has them."""

    STABLE = "stable"
    TENTATIVE = "tentative"
    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    MISSED = "missed"


@dataclass(slots=True)
class Square:
    bucket: int
    kind: Kind
    rows: int
    latency: float | None
    """From the end of the oldest bucket that was waited for, of what was new; corrections are not."""
    at: float
    coverage: Mapping[str, str] = field(default_factory=dict)
    """Of a tentative one, how much there was of each source."""
    undo: bool = False
    """The first of what was tentative that is replaced."""
    rec_done: bool = False
    """With it nothing was left to be corrected."""
    change: int = 0
    """Counts all changes of all squares."""

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"b": self.bucket, "k": self.kind, "n": self.rows, "at": round(self.at, 3)}
        if self.latency is not None:
            said["late"] = round(self.latency, 3)
        if self.coverage:
            said["cover"] = dict(self.coverage)
        return said | {name: True for name in ("undo", "rec_done") if getattr(self, name)}


@dataclass(slots=True)
class Strips:
    """Of all outputs. Readers ask for what changed since they last did."""

    changes: int = 0
    streams: dict[str, dict[int, Square]] = field(default_factory=dict)
    correcting: set[str] = field(default_factory=set)
    """Of which some tentative buckets were replaced, and others are still to be."""

    def add(self, deliveries: Iterable[Mapping[str, Any]]) -> None:
        for one in deliveries:
            stream = str(one["stream"])
            squares = self.streams.setdefault(stream, {})
            for bucket in range(one["bucket"], one.get("end", one["bucket"] + 1))[-MOST:]:
                self._put(stream, squares, bucket, one)
            while len(squares) > MOST:
                del squares[min(squares)]

    def _put(self, stream: str, squares: dict[int, Square], bucket: int, one: Mapping[str, Any]) -> None:
        kind, before = Kind(one["kind"]), squares.get(bucket)
        self.changes += 1
        square = Square(bucket, kind, one["count"], one.get("latency"), one["at"], one.get("coverage", {}))
        square.change = self.changes
        if before is not None:
            # How late it was is of what came first.
            square.latency = before.latency
            if kind is not Kind.TENTATIVE:
                square.coverage = before.coverage
        squares[bucket] = square
        if kind is not Kind.TENTATIVE and before is not None and before.kind is Kind.TENTATIVE:
            square.undo = stream not in self.correcting
            square.rec_done = not any(other.kind is Kind.TENTATIVE for other in squares.values())
            (self.correcting.discard if square.rec_done else self.correcting.add)(stream)

    def since(self, change: int) -> dict[str, list[dict[str, Any]]]:
        """Of each output, in the order of buckets."""
        found = {
            stream: [square.to_json() for _, square in sorted(squares.items()) if square.change > change]
            for stream, squares in self.streams.items()
        }
        return {stream: squares for stream, squares in found.items() if squares}
