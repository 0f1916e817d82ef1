"""Update queues: of the rows that a bucket brings, each key's newest counts, and where it stands depends on the kind of queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from auroral.model.boxes.base import BoxFacts, Report, TypedBox, expect_ports
from auroral.model.stream import StreamType
from auroral.model.types import LONG

SUPERSEDED = "superseded"


class Cuts(StrEnum):
    """Which keys get ahead of others."""

    NONE = "none"
    UPDATED = "updated"
    """Those with several rows in the bucket (UF)."""
    ONCE = "once"
    """Those with one row in the bucket (DF)."""
    ORDERED = "ordered"
    """All, in the order of their keys."""


@dataclass(frozen=True, slots=True)
class QueueKind:
    """`middle` is whether those that get ahead come to the middle of the bucket's rows, or to its first row."""

    cuts: Cuts
    middle: bool = False


FIFO = 0
KINDS = {
    1: QueueKind(Cuts.NONE),
    2: QueueKind(Cuts.UPDATED),
    3: QueueKind(Cuts.UPDATED, middle=True),
    4: QueueKind(Cuts.ONCE),
    5: QueueKind(Cuts.ONCE, middle=True),
    # The forms that Borealis drew no lots in; here none of them does.
    6: QueueKind(Cuts.UPDATED, middle=True),
    7: QueueKind(Cuts.ONCE, middle=True),
    8: QueueKind(Cuts.ORDERED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQueue(TypedBox):
    """Rows of a bucket by key, in processing order: the last one stays. Its place is that of the first one with its key; those that get ahead
    take the place of the bucket's first row, or of its middle one if that comes before their own. Rows ordered by key take the places of
    all, one after the other. A place is a stime; at equal ones, rows stand by that of the first with their key."""

    counted: ClassVar[bool] = True

    kind: QueueKind
    key: tuple[str, ...]
    bucket: int


@dataclass(frozen=True, slots=True)
class UpdateQueue:
    """Stands before the input of a box that has queue options. The system's own: files say it by update_queue, queue_type and key."""

    queue_type: int
    key: tuple[str, ...]

    type: ClassVar[str] = "update_queue"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="map, over the rows of a bucket",
        ports="1 in, 1 out",
        closing_event="end of the bucket",
        result_stime="that of the place in the bucket that the kind of queue gives it",
        order_key="place of the first row with its key",
        state="none",
        horizon="0",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to="row_number() over the rows of a bucket and key",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "update_queue", inputs, outputs, 1, 1):
            return None
        stream = inputs[0]
        known = [report.field(name, stream) for name in self.key]
        if not all(known):
            return None
        return TypedQueue(
            outputs=(StreamType(stream.schema, stream.clocks, (LONG,)),),
            order_sensitive=True,
            kind=KINDS[self.queue_type],
            key=self.key,
            bucket=report.bucket,
        )
