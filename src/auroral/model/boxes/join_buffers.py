"""What a join keeps of each side for rows of the other to find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from auroral.model.boxes.base import TypedBox
from auroral.model.expression import Typed


@dataclass(frozen=True, slots=True)
class JoinBuffer:
    """How long rows of one side wait for the other, as a user says it: `size` microseconds of stime, or values of `field`.

    `tuples` counts rows instead; of an infinite number of them all are kept.
    """

    size: float
    field: str | None = None
    tuples: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What a buffer holds: the last `rows` rows of its side, the rows at most `time` microseconds of stime old, or those whose `field` is
    at most `size` below the largest that its side has had; all, where nothing is said."""

    rows: int | None = None
    time: int | None = None
    field: str | None = None
    size: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedBufferJoin(TypedBox):
    """An arriving row meets all rows that the other side's buffer holds, if its side `looks`, and is then put into its own.

    `timeout` microseconds after its stime a row is in no buffer any more. A pair's stime is that of the row that arrived last.
    """

    predicate: Typed
    columns: tuple[tuple[str, Typed], ...]
    buffers: tuple[Kept, Kept]
    timeout: int | None
    looks: tuple[bool, bool]

    def lifetime(self, side: int) -> int | None:
        """How long after its stime a row of that side is gone, whatever rows come."""
        time = self.buffers[side].time
        ends = [end for end in (None if time is None else time + 1, self.timeout) if end is not None]
        return min(ends, default=None)

    def expressions(self) -> Iterator[Typed]:
        return iter((self.predicate, *(typed for _, typed in self.columns)))
