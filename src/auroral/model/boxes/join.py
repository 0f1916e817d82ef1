"""Joins of two streams within a window of stime."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, Source, TypedBox, expect_ports
from auroral.model.boxes.later import Later
from auroral.model.boxes.stateless import schema_of
from auroral.model.expression import Scope, Typed
from auroral.model.stream import StreamType


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class JoinBuffer:
    """How long rows of one side wait for the other: `size` microseconds of stime, or values of `field`.

    `tuples` counts rows instead, which is a fold of a later release.
    """

    size: float
    field: str | None = None
    tuples: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedJoin(TypedBox):
    """Pairs where `left.stime - right_size <= right.stime <= left.stime + left_size` and the predicate hold.

    A pair's stime is the later of the two; an unmatched row's is its own + its side's buffer size.
    """

    predicate: Typed
    columns: tuple[tuple[str, Typed], ...]
    left_size: int
    right_size: int
    kind: JoinKind

    def expressions(self) -> Iterator[Typed]:
        return iter((self.predicate, *(typed for _, typed in self.columns)))


@dataclass(frozen=True, slots=True)
class Join:
    """`left` and `right` are buffer sizes; `columns` the output fields, none for all of both sides."""

    predicate: Source
    left: JoinBuffer
    right: JoinBuffer
    columns: tuple[tuple[str, Source], ...] = ()
    kind: JoinKind = JoinKind.INNER
    unmatched_when_missing: bool = False
    timeout: float | None = None
    type_name: str = "join"

    type: ClassVar[str] = "join"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window",
        ports="2 in (required), 1 out",
        closing_event="boundary",
        result_stime="the later of the pair; an unmatched row's own + its buffer size",
        order_key="left key, right key",
        state="rows of one window on both sides",
        horizon="left + right buffer size",
        deterministic=True,
        convergent=True,
        repeatable=True,
        compiles_to="JOIN with a time slice as a further equality key",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, self.type_name, inputs, outputs, 2, 1):
            return None
        left, right = inputs
        if self.left.tuples or self.right.tuples:
            return Later.box("join buffers of a number of tuples are folds of a later release", outputs)
        if self.timeout is not None:
            return Later.box("timeouts of joins come in a later release", outputs)
        sizes = []
        for side, buffer, stream in (("left", self.left, left), ("right", self.right, right)):
            if buffer.field is not None and not report.field(buffer.field, stream):
                return None
            clock = stream.clock(buffer.field) if buffer.field is not None else None
            if buffer.field is not None and clock is None:
                return Later.box(
                    f"the {side} buffer is on {buffer.field!r}, which does not carry the stream's stime; "
                    f"if the source's stime is to be {buffer.field!r}, say so on the input",
                    outputs,
                )
            if not (math.isfinite(buffer.size) and buffer.size >= 0):
                report.add(f"the {side} buffer size is {buffer.size}", allowed="0 or more")
                return None
            sizes.append(round(buffer.size * (clock.unit if clock is not None else 1)))
        scope = Scope.named(left=left.schema, right=right.schema)
        predicate = report.predicate(self.predicate, scope, "predicate")
        written = self.columns or _concatenation(left, right)
        typed = [(name, report.expression(source, scope, f"field {name!r}")) for name, source in written]
        columns = tuple((name, t) for name, t in typed if t is not None)
        schema = schema_of(((name, t.type) for name, t in columns), report)
        if predicate is None or len(columns) < len(typed) or schema is None:
            return None
        order = (*left.order, *right.order)
        return TypedJoin(
            outputs=(StreamType(schema, (), order),),
            box_class=BoxClass.WINDOW,
            past=sum(sizes),
            required=self._required(),
            predicate=predicate,
            columns=columns,
            left_size=sizes[0],
            right_size=sizes[1],
            kind=self.kind,
        )

    def _required(self) -> tuple[bool, bool]:
        if not self.unmatched_when_missing:
            return (True, True)
        return (self.kind is not JoinKind.RIGHT, self.kind is not JoinKind.LEFT)


def _concatenation(left: StreamType, right: StreamType) -> tuple[tuple[str, str], ...]:
    """All fields of both sides; a name that both have gets its side in front."""
    columns = []
    for side, own, other in (("left", left, right), ("right", right, left)):
        for name in own.schema.names:
            columns.append(
                (f"{side}_{name}" if other.schema.get(name) is not None else name, f'{side}.field("{name}")')
            )
    return tuple(columns)
