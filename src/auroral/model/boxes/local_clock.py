"""Timeouts by the clock of the machine, in the place of stime: the clock is an input, whose rows are logged as all others are.

A row of the clock says how it stood when the inputs had come to a stime. So what a timeout gives is a function of inputs, and a run can
be gone on with, corrected and verified as any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.aggregate import Aggregate, TypedTupleWindows, TypedValueWindows
from auroral.model.boxes.base import MOVED_BY_ROWS, BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.sorting import TypedWSort, WSort
from auroral.model.diagram import Diagram
from auroral.model.expression import Typed
from auroral.model.schema import Schema, schema
from auroral.model.stream import StreamType
from auroral.model.types import LONG

AT, CLOCK = "at", "clock"
CLOCK_SCHEMA: Schema = schema(f"{AT} timestamp, {CLOCK} timestamp")
"""The stime to which the inputs had come, and how the clock stood."""
LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOnLocalClock(TypedBox):
    """`inner` with the time that has passed on the clock, of input 1, since its first row, in the place of stime. What a row gives has that row's stime,
    what a timeout gives that of the clock's row. Results of a timeout at one row of the clock are numbered, group by group."""

    counted: ClassVar[bool] = True

    inner: TypedTupleWindows | TypedValueWindows | TypedWSort
    clock_order: int

    def expressions(self) -> Iterator[Typed]:
        return self.inner.expressions()


@dataclass(frozen=True, slots=True)
class OnLocalClock:
    """An aggregate or a sort whose `timeout` counts by the clock of the machine. Its second input is the clock."""

    inner: Aggregate | WSort

    type: ClassVar[str] = "on local clock"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS,
        ports="1 in and the clock (required), 1 out",
        closing_event="a row, or a row of the clock",
        result_stime="that of the row, or of the clock's row",
        order_key="as without the clock, and the clock's",
        state="that of all groups",
    )

    @property
    def type_name(self) -> str:
        return self.inner.type

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, f"{self.type_name} with a local clock", inputs, outputs, 2, 1):
            return None
        stream, clock = inputs
        if clock.schema != CLOCK_SCHEMA:
            report.add(
                f"the clock has the fields {clock.schema}",
                allowed=f"an input with the fields {CLOCK_SCHEMA}, stamped by {AT!r}, as its second one",
                next_step="in Python: local_clock() of the diagram",
            )
            return None
        inner = self.inner.resolve((stream,), outputs, replace(report, streams=report.streams[:1]))
        if inner is None:
            return None
        if not isinstance(inner, TypedTupleWindows | TypedValueWindows | TypedWSort) or inner.timeout is None:
            report.add(
                f"clock={LOCAL!r} without a timeout that closes anything",
                allowed="windows of rows or of values with a timeout, and wsort",
                next_step="give it a timeout, or leave the clock out: windows of stime are closed by the boundary",
            )
            return None
        (output,) = inner.outputs
        return TypedOnLocalClock(
            # A result comes when the clock says so: no field tells its stime.
            outputs=(StreamType(output.schema, (), (*output.order[:-1], *clock.order, LONG)),),
            box_class=BoxClass.FOLD,
            required=(True, True),
            order_sensitive=True,
            inner=inner,
            clock_order=len(clock.order),
        )


def local_clocks(diagram: Diagram) -> tuple[str, ...]:
    """The inputs of a diagram that are the machine's clock."""
    read = {box.inputs[1] for box in diagram.boxes if isinstance(box.spec, OnLocalClock) and len(box.inputs) > 1}
    return tuple(given.stream for given in diagram.inputs if given.stream in read)
