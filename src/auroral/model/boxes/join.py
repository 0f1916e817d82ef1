"""Joins of two streams: within a window of stime, or with what buffers hold."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, NotStime, Report, Source, TypedBox, expect_ports
from auroral.model.boxes.join_buffers import JoinBuffer, Kept, TypedBufferJoin
from auroral.model.boxes.row_windows import as_written, microseconds, ordering_field, timeout_is_fine, value_unit
from auroral.model.boxes.stateless import schema_of
from auroral.model.boxes.window_sizes import step
from auroral.model.expression import Scope, Typed
from auroral.model.revisions import REVISED, whole_buckets
from auroral.model.schema import Schema
from auroral.model.stream import StreamType
from auroral.model.types import BOOL, LONG, STRING, FieldType

__all__ = ["ALL", "Join", "JoinBuffer", "JoinKind", "Kept", "TypedBufferJoin", "TypedJoin", "TypedRevisedJoin"]


ALL = JoinBuffer(math.inf, tuples=True)
"""For a side all of whose rows are kept."""


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedJoin(TypedBox):
    """Pairs where `left.stime - right_size <= right.stime <= left.stime + left_size` and the predicate hold.

    A pair's stime is the later of the two; an unmatched row's is its own + its side's buffer size. A `left_size` of -1 is for left
    rows that no later row finds: those of equal stime come after them.
    """

    predicate: Typed
    columns: tuple[tuple[str, Typed], ...]
    left_size: int
    right_size: int
    kind: JoinKind

    def expressions(self) -> Iterator[Typed]:
        return iter((self.predicate, *(typed for _, typed in self.columns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRevisedJoin(TypedBox):
    """As a TypedJoin that is inner, over the stimes that rows belong to. Of a pair, one row may take away what the other added before."""

    predicate: Typed
    columns: tuple[tuple[str, Typed], ...]
    left_size: int
    right_size: int

    def expressions(self) -> Iterator[Typed]:
        return iter((self.predicate, *(typed for _, typed in self.columns)))


@dataclass(frozen=True, slots=True)
class Join:
    """`left` and `right` are buffer sizes; `columns` the output fields, none for all of both sides.

    Of a name that both sides have, the left one's keeps it, as a box behind it in a Borealis file expects; with `sides_named`, both
    get their side in front. `timeout` is how many seconds of stime a row waits at most; `looks` says of each side whether its
    arriving rows look for partners among those kept of the other.
    """

    predicate: Source
    left: JoinBuffer
    right: JoinBuffer
    columns: tuple[tuple[str, Source], ...] = ()
    kind: JoinKind = JoinKind.INNER
    unmatched_when_missing: bool = False
    sides_named: bool = False
    timeout: float | None = None
    looks: tuple[bool, bool] = (True, True)
    type_name: str = "join"

    type: ClassVar[str] = "join"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window; fold with buffers of rows or of values",
        ports="2 in (required), 1 out",
        closing_event="boundary; a row for folds",
        result_stime="the later of the pair; an unmatched row's own + its buffer size",
        order_key="stime and key of the left row, then of the right one",
        state="rows of one window on both sides; both buffers for folds",
        horizon="left + right buffer size",
        deterministic=True,
        convergent="yes; folds no",
        repeatable="yes; folds no",
        compiles_to="JOIN with a time slice as a further equality key; a scan in processing order for folds",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, self.type_name, inputs, outputs, 2, 1):
            return None
        left, right = inputs
        kept = [self._kept(side, inputs, report) for side in (0, 1)]
        fine = timeout_is_fine(self.timeout, report)
        scope = Scope.named(left=left.schema, right=right.schema)
        predicate = report.predicate(self.predicate, scope, "predicate")
        written = self.columns or _concatenation(_unmarked(left), _unmarked(right), self.sides_named)
        typed = [(name, report.expression(source, scope, f"field {name!r}")) for name, source in written]
        columns = tuple((name, t) for name, t in typed if t is not None)
        schema = schema_of(((name, BOOL if t is None else t.type) for name, t in typed), report)
        if predicate is None or len(columns) < len(typed) or schema is None or not fine or None in kept:
            return None
        buffers = (kept[0] or Kept(), kept[1] or Kept())
        revisable = [stream.kept for stream in inputs if stream.kept is not None]
        by_time = all(buffer.time is not None for buffer in buffers)
        if revisable and not (by_time and self.kind is JoinKind.INNER):
            report.add(
                "rows of its input may be revised, and this join could not take back what it made of them",
                allowed="inner joins whose rows wait for a length of time, on both sides",
                next_step="make it such a one, or put .settled(...) before it",
            )
            return None
        if not by_time:
            return self._by_rows(predicate, columns, StreamType(schema), inputs, buffers, report)
        left_size, right_size = self._sizes(buffers)
        if revisable:
            return self._revised(predicate, columns, left_size, right_size, max(revisable), report)
        return TypedJoin(
            outputs=(StreamType(schema, (), _pair_order(inputs)),),
            box_class=BoxClass.WINDOW,
            past=max(0, left_size) + right_size,
            required=self._required(),
            predicate=predicate,
            columns=columns,
            left_size=left_size,
            right_size=right_size,
            kind=self.kind,
        )

    def _revised(
        self,
        predicate: Typed,
        columns: tuple[tuple[str, Typed], ...],
        left_size: int,
        right_size: int,
        kept: int,
        report: Report,
    ) -> TypedBox | None:
        schema = schema_of([*((name, typed.type) for name, typed in columns), (REVISED, STRING)], report)
        if schema is None:
            return None
        return TypedRevisedJoin(
            outputs=(StreamType(schema, kept=kept),),
            box_class=BoxClass.WINDOW,
            past=whole_buckets(kept + max(0, left_size) + right_size, report.bucket),
            required=self._required(),
            predicate=predicate,
            columns=columns,
            left_size=left_size,
            right_size=right_size,
        )

    def _kept(self, side: int, inputs: Sequence[StreamType], report: Report) -> Kept | None:
        """What a side's buffer holds; None where it is wrong."""
        buffer, stream, name = (self.left, self.right)[side], inputs[side], ("left", "right")[side]
        if buffer.field is not None and not report.field(buffer.field, stream):
            return None
        if buffer == ALL:
            return Kept()
        if not (math.isfinite(buffer.size) and buffer.size >= 0) or (buffer.tuples and buffer.size % 1):
            report.add(
                f"the {name} buffer size is {buffer.size}",
                allowed="0 or more, and a whole number of rows",
                next_step="write how long, or how many, rows of that side wait for partners",
            )
            return None
        if buffer.tuples:
            return Kept(rows=int(buffer.size))
        if buffer.field is None:
            return Kept(time=round(buffer.size))
        clock = stream.clock(buffer.field)
        if clock is not None:
            return Kept(time=round(buffer.size * step(clock, stream)))
        if not ordering_field(buffer.field, stream, report):
            return None
        return Kept(field=buffer.field, size=as_written(buffer.size) * value_unit(stream.schema[buffer.field]))

    def _sizes(self, buffers: tuple[Kept, Kept]) -> tuple[int, int]:
        """How long rows wait where time alone decides: a timeout is a shorter wait, and a side that does not look is none for the other."""
        timeout = microseconds(self.timeout)
        left, right = (buffer.time if timeout is None else min(buffer.time or 0, timeout - 1) for buffer in buffers)
        # Of equal stimes the left row comes first: a right one finds it, and not the other way round.
        return (-1 if not self.looks[1] else left or 0, 0 if not self.looks[0] else right or 0)

    def _by_rows(
        self,
        predicate: Typed,
        columns: tuple[tuple[str, Typed], ...],
        output: StreamType,
        inputs: Sequence[StreamType],
        buffers: tuple[Kept, Kept],
        report: Report,
    ) -> TypedBox | None:
        if self.kind is not JoinKind.INNER:
            report.add(
                f"a {self.kind} join with a buffer of rows or values: when a row has found no partner is never known",
                allowed="outer joins whose rows wait for a length of time, on both sides",
                next_step="give both sides a length of time, or make it an inner join",
            )
            return None
        lost = [NotStime(port, buffer.field) for port, buffer in enumerate(buffers) if buffer.field is not None]
        return TypedBufferJoin(
            outputs=(StreamType(output.schema, (), _pair_order(inputs)),),
            box_class=BoxClass.FOLD,
            required=self._required(),
            order_sensitive=True,
            not_stime=tuple(lost),
            predicate=predicate,
            columns=columns,
            buffers=buffers,
            timeout=microseconds(self.timeout),
            looks=self.looks,
        )

    def _required(self) -> tuple[bool, bool]:
        if not self.unmatched_when_missing:
            return (True, True)
        return (self.kind is not JoinKind.RIGHT, self.kind is not JoinKind.LEFT)


def _pair_order(inputs: Sequence[StreamType]) -> tuple[FieldType, ...]:
    """Stime and order key of both rows: the pair's own stime does not tell that of the earlier one."""
    return tuple(part for stream in inputs for part in (LONG, *stream.order))


def _unmarked(stream: StreamType) -> StreamType:
    """Without the mark of revised rows, which the pair has of its own."""
    if stream.kept is None:
        return stream
    return StreamType(Schema(tuple(field for field in stream.schema.fields if field.name != REVISED)))


def _concatenation(left: StreamType, right: StreamType, sides_named: bool) -> tuple[tuple[str, str], ...]:
    """All fields of both sides; of a name that both have, the right one gets its side in front, or both do."""
    shared = {name for name in left.schema.names if right.schema.get(name) is not None}
    taken = {*left.schema.names, *right.schema.names}
    columns = [
        (f"left_{name}" if sides_named and name in shared else name, f'left.field("{name}")')
        for name in left.schema.names
    ]
    for name in right.schema.names:
        columns.append((_second_name(name, taken) if name in shared else name, f'right.field("{name}")'))
    return tuple(columns)


def _second_name(name: str, taken: Container[str]) -> str:
    """What the right side's field is called where the left side has one of its `name`."""
    shown = f"right_{name}"
    while shown in taken:
        # The left side is the result of a join itself.
        shown = f"right_{shown}"
    return shown
