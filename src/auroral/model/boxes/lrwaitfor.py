"""Rows that wait until another stream has come as far as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from auroral.model.boxes.base import MOVED_BY_ROWS, BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.row_windows import as_written, ordering_field, value_unit
from auroral.model.stream import StreamType
from auroral.model.types import LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLRWaitFor(TypedBox):
    """A row of input 0 goes on as soon as its key is not above that which its group has come to: the largest of input 1 so far, or `start`."""

    counted: ClassVar[bool] = True

    key: str
    group_by: tuple[str, ...]
    start: Fraction | None
    from_data: bool


@dataclass(frozen=True, slots=True)
class LRWaitFor:
    """`start` is how far each group is at first (None: nowhere); with `from_data`, the first row of input 0 says so instead."""

    key: str
    group_by: tuple[str, ...] = ()
    start: float | None = None
    from_data: bool = False

    type: ClassVar[str] = "lrwaitfor"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS,
        ports="2 in (required), 1 out",
        closing_event="a row of input 1, or none where its group has come that far",
        result_stime="that of the row of input 1; the row's own where it need not wait",
        order_key="stime and key of the row of input 0",
        state="how far a group has come, and the rows that wait, per group",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "lrwaitfor", inputs, outputs, 2, 1):
            return None
        known = [report.field(name, stream) for stream in inputs for name in (self.key, *self.group_by)]
        if self.start is not None and not math.isfinite(self.start):
            report.add(f"start-key-value is {self.start}", allowed="a number", next_step="mend it, or leave it out")
        if not all(known) or report.problems:
            return None
        fine = [ordering_field(self.key, stream, report) for stream in inputs]
        report.same_types(self.group_by, inputs)
        if not all(fine) or report.problems:
            return None
        unit = value_unit(inputs[0].schema[self.key])
        return TypedLRWaitFor(
            outputs=(StreamType(inputs[0].schema, (), (LONG, *inputs[0].order)),),
            box_class=BoxClass.FOLD,
            required=(True, True),
            order_sensitive=True,
            key=self.key,
            group_by=self.group_by,
            start=None if self.start is None else as_written(self.start) * unit,
            from_data=self.from_data,
        )
