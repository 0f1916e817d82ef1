"""What all kinds of windows need to become typed: the aggregate, its input, its functions, and where to say what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.aggregate_typed import WindowStart
from auroral.model.boxes.base import Report
from auroral.model.boxes.stateless import schema_of
from auroral.model.stream import ClockField, StreamType
from auroral.model.types import FieldType


@dataclass(frozen=True, slots=True)
class Resolving:
    """`start` is the name that the user gave to the field of the window's start, if any."""

    stream: StreamType
    functions: tuple[TypedAggregate, ...]
    group_by: tuple[str, ...]
    start: str | None
    report: Report

    @property
    def group_types(self) -> tuple[FieldType, ...]:
        return tuple(self.stream.schema[name] for name in self.group_by)

    @property
    def order_sensitive(self) -> bool:
        return any(f.order_sensitive for f in self.functions)

    def output(
        self,
        start: WindowStart | None,
        order: Sequence[FieldType],
        clocks: tuple[ClockField, ...] = (),
    ) -> StreamType | None:
        """Group fields, the window's start where it is named, one field a function; None where names collide."""
        fields = [(name, self.stream.schema[name]) for name in self.group_by]
        if start is not None:
            fields.append((start.field.name, start.field.type))
        fields += [(f.name, f.type) for f in self.functions]
        schema = schema_of(fields, self.report)
        return None if schema is None else StreamType(schema, clocks, tuple(order))
