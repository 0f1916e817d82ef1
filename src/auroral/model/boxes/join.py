"""Joins of two streams within a window of stime."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, NotStime, Report, Source, TypedBox, expect_ports
from auroral.model.boxes.later import FIELD_JOINS, JOIN_TIMEOUTS, TUPLE_JOINS, TypedLater, later
from auroral.model.boxes.stateless import schema_of
from auroral.model.boxes.window_sizes import step
from auroral.model.expression import Scope, Typed
from auroral.model.stream import StreamType
from auroral.model.types import BOOL


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
    """`left` and `right` are buffer sizes; `columns` the output fields, none for all of both sides.

    Of a name that both sides have, the left one's keeps it, as a box behind it in a Borealis file expects; with `sides_named`, both
    get their side in front.
    """

    predicate: Source
    left: JoinBuffer
    right: JoinBuffer
    columns: tuple[tuple[str, Source], ...] = ()
    kind: JoinKind = JoinKind.INNER
    unmatched_when_missing: bool = False
    sides_named: bool = False
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
        sizes = [self._size(side, inputs, report) for side in (0, 1)]
        scope = Scope.named(left=left.schema, right=right.schema)
        predicate = report.predicate(self.predicate, scope, "predicate")
        written = self.columns or _concatenation(left, right, self.sides_named)
        typed = [(name, report.expression(source, scope, f"field {name!r}")) for name, source in written]
        columns = tuple((name, t) for name, t in typed if t is not None)
        schema = schema_of(((name, BOOL if t is None else t.type) for name, t in typed), report)
        left_size, right_size = sizes
        if predicate is None or len(columns) < len(typed) or schema is None or left_size is None or right_size is None:
            return None
        output = StreamType(schema, (), (*left.order, *right.order))
        if (not_yet := self._not_yet(inputs, output)) is not None:
            return not_yet
        return TypedJoin(
            outputs=(output,),
            box_class=BoxClass.WINDOW,
            past=left_size + right_size,
            required=self._required(),
            predicate=predicate,
            columns=columns,
            left_size=left_size,
            right_size=right_size,
            kind=self.kind,
        )

    def _size(self, side: int, inputs: Sequence[StreamType], report: Report) -> int | None:
        """A buffer's size in microseconds; None where it is wrong. Of a buffer that does not run yet it means nothing."""
        buffer = (self.left, self.right)[side]
        if buffer.field is not None and not report.field(buffer.field, inputs[side]):
            return None
        if not (math.isfinite(buffer.size) and buffer.size >= 0):
            report.add(
                f"the {('left', 'right')[side]} buffer size is {buffer.size}",
                allowed="0 or more",
                next_step="write how long rows of that side wait for partners",
            )
            return None
        clock = inputs[side].clock(buffer.field) if buffer.field is not None else None
        return round(buffer.size * (step(clock, inputs[side]) if clock is not None else 1))

    def _not_yet(self, inputs: Sequence[StreamType], output: StreamType) -> TypedLater | None:
        if self.left.tuples or self.right.tuples:
            return later(TUPLE_JOINS, (output,))
        if self.timeout is not None:
            return later(JOIN_TIMEOUTS, (output,))
        fields = enumerate((self.left.field, self.right.field))
        lost = [NotStime(port, f) for port, f in fields if f is not None and inputs[port].clock(f) is None]
        return later(FIELD_JOINS, (output,), *lost) if lost else None

    def _required(self) -> tuple[bool, bool]:
        if not self.unmatched_when_missing:
            return (True, True)
        return (self.kind is not JoinKind.RIGHT, self.kind is not JoinKind.LEFT)


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
