"""Sorts of streams that never end: by a buffer of rows, and by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.base import MOVED_BY_ROWS, BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.row_windows import microseconds, timeout_is_fine
from auroral.model.stream import StreamType
from auroral.model.types import LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedBSort(TypedBox):
    """Of `slack` + 1 rows of a group that wait, the lowest by `order_on` goes on, with the stime of the row that came."""

    order_on: tuple[str, ...]
    slack: int
    group_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BSort:
    """Aurora's and Borealis' bounded sort: rows that are at most `slack` rows of their group out of order come out in order."""

    order_on: tuple[str, ...]
    slack: int
    group_by: tuple[str, ...] = ()

    type: ClassVar[str] = "bsort"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS,
        result_stime="that of the row that pushes it out",
        order_key="that of the row that pushes it out",
        state="slack rows per group",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "bsort", inputs, outputs, 1, 1):
            return None
        fine = order_is_fine(self.order_on, self.group_by, inputs[0], report)
        if self.slack < 0:
            report.add(
                f"slack is {self.slack}", allowed="0 or more rows", next_step="write how many rows of a group may wait"
            )
            return None
        if not fine:
            return None
        return TypedBSort(
            # A field that carried the stime carries the row's still, and not that of the row that pushed it out.
            outputs=(StreamType(inputs[0].schema, (), inputs[0].order),),
            box_class=BoxClass.FOLD,
            order_sensitive=True,
            order_on=self.order_on,
            slack=self.slack,
            group_by=self.group_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedWSort(TypedBox):
    """`timeout` microseconds after its stime a row goes on, with all of its group that sort before it; one that sorts before such a row is late."""

    counted: ClassVar[bool] = True

    order_on: tuple[str, ...]
    timeout: int
    group_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WSort:
    """Aurora's windowed sort: rows wait `timeout` seconds of stime for others that belong in front of them."""

    order_on: tuple[str, ...]
    timeout: float
    group_by: tuple[str, ...] = ()

    type: ClassVar[str] = "wsort"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS,
        closing_event="boundary past a row's stime + timeout",
        result_stime="that of the row that is waited for + timeout - 1 us",
        order_key="group key, position",
        state="rows of one timeout, and the last that went on, per group",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "wsort", inputs, outputs, 1, 1):
            return None
        stream = inputs[0]
        fine = order_is_fine(self.order_on, self.group_by, stream, report)
        if not timeout_is_fine(self.timeout, report) or not fine:
            return None
        timeout = microseconds(self.timeout) or 1
        groups = tuple(stream.schema[name] for name in self.group_by)
        return TypedWSort(
            outputs=(StreamType(stream.schema, (), (*groups, LONG)),),
            box_class=BoxClass.FOLD,
            order_sensitive=True,
            waits=timeout,
            order_on=self.order_on,
            timeout=timeout,
            group_by=self.group_by,
        )


def order_is_fine(order_on: tuple[str, ...], group_by: tuple[str, ...], stream: StreamType, report: Report) -> bool:
    if not order_on:
        report.add(
            "a sort needs a field to sort by",
            allowed="one field or more",
            next_step="name the fields that rows are to be in the order of",
        )
        return False
    known = [report.field(name, stream) for name in (*order_on, *group_by)]
    return all(known)
