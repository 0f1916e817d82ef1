"""Values of one stream at the times of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.base import MOVED_BY_ROWS, BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.stateless import schema_of
from auroral.model.boxes.window_sizes import LARGEST
from auroral.model.stream import StreamType
from auroral.model.types import DOUBLE, LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedResample(TypedBox):
    """Each row of input 0 gets the `fields` of input 1 at its stime: on the line between the last row of input 1 before it and the first from
    there on, at most `within` microseconds from it; where there is one of them only, that one's; else null."""

    fields: tuple[str, ...]
    within: int
    group_by: tuple[str, ...]

    @property
    def convergent(self) -> bool:
        """What it remembers is no older than `within`."""
        return True


@dataclass(frozen=True, slots=True)
class Resample:
    """Aurora's Resample. `fields` are (output field, field of input 1); rows meet those with the same `group_by` fields."""

    fields: tuple[tuple[str, str], ...]
    within: int
    group_by: tuple[str, ...] = ()

    type: ClassVar[str] = "resample"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS,
        ports="2 in (required), 1 out",
        closing_event="a row of input 1, or the boundary past the row's stime + within",
        result_stime="that of the row of input 1; without one, the row's + within",
        order_key="stime and key of the row of input 0",
        state="the last row of input 1, and rows of input 0 that wait, per group",
        convergent=True,
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "resample", inputs, outputs, 2, 1):
            return None
        points, samples = inputs
        known = [report.field(name, stream) for stream in inputs for name in self.group_by]
        known += [self._is_number(field, samples, report) for _, field in self.fields]
        if not self.fields:
            report.add(
                "a resample needs at least one field of its second input",
                allowed="fields that are numbers",
                next_step="name the fields whose values rows are to get",
            )
        if not 0 <= self.within < LARGEST:
            report.add(
                f"within is {self.within} us", allowed="0 or more", next_step="write how far a row may be from another"
            )
        if not all(known) or report.problems:
            return None
        report.same_types(self.group_by, inputs)
        fields = [(f.name, f.type) for f in points.schema.fields]
        schema = schema_of([*fields, *((name, DOUBLE) for name, _ in self.fields)], report)
        if schema is None or report.problems:
            return None
        return TypedResample(
            outputs=(StreamType(schema, (), (LONG, *points.order)),),
            box_class=BoxClass.FOLD,
            required=(True, True),
            order_sensitive=True,
            waits=self.within + 1,
            fields=tuple(field for _, field in self.fields),
            within=self.within,
            group_by=self.group_by,
        )

    @staticmethod
    def _is_number(field: str, samples: StreamType, report: Report) -> bool:
        if not report.field(field, samples):
            return False
        kind = samples.schema[field]
        if not kind.is_numeric:
            report.add(
                f"field {field!r} is a {kind}: there is nothing between two of them",
                allowed="numbers",
                next_step="leave it out, or join the two streams",
            )
        return kind.is_numeric
