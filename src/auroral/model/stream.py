"""What is known of a stream besides its rows: schema, fields that carry its stime, processing order."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.model.schema import Schema
from auroral.model.types import FieldType


@dataclass(frozen=True, slots=True)
class ClockField:
    """A field that carries the row's stime: `stime = value * unit + offset`, in microseconds.

    A source stamps rows from such a field; a window on it is a window on stime.
    """

    name: str
    unit: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class StreamType:
    """A stream's schema, its clock fields, and the types of the columns that order rows of equal stime.

    `order` is the part of the order key after stime: (stime, *order) orders all distinguishable rows. Where rows may be revised (see
    `revisions`), `kept` is for how many microseconds after its stime each may be; no box asks for the order of such rows.
    """

    schema: Schema
    clocks: tuple[ClockField, ...] = ()
    order: tuple[FieldType, ...] = ()
    kept: int | None = None

    def clock(self, field: str) -> ClockField | None:
        return next((clock for clock in self.clocks if clock.name == field), None)


CONTROL = StreamType(Schema(()))
