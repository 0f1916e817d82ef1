"""Where revisions of a source are understood, and where a stream of revised rows becomes an ordinary one again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.revisions import REVISED, whole_buckets
from auroral.model.schema import Field, Schema
from auroral.model.stream import ClockField, StreamType
from auroral.model.types import STRING, Kind


def with_mark(schema: Schema) -> Schema:
    """The fields of an input whose source may revise rows."""
    return schema if schema.get(REVISED) is not None else Schema((*schema.fields, Field(REVISED, STRING)))


def revised_name(stream: str) -> str:
    """The stream that has an input's rows with their revisions, and the box that makes it."""
    return f"{stream}.revised"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRevisable(TypedBox):
    """A revision that comes in the bucket with start b is about the last row with its key that still stands and has a stime of
    at least b - kept; and at its own time where the revision says one. What it changes leaves the box at the end of its bucket."""

    counted: ClassVar[bool] = True

    key: tuple[str, ...]
    kept: int
    bucket: int


@dataclass(frozen=True, slots=True)
class Revisable:
    """Rows of an input with what its source corrects of them within `keep` microseconds. `key` are the fields that name a row; without any,
    its stime does, and a revision that says none is about the last row that stands."""

    keep: int
    key: tuple[str, ...]

    type: ClassVar[str] = "revisable"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window",
        ports="1 in, 1 out",
        closing_event="end of the bucket, for revisions",
        result_stime="the row's; the bucket's end - 1 us for revisions",
        order_key="none: rows count by the stime that they belong to, then by their fields",
        state="rows of the kept history",
        horizon="keep",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to="aggregate() over the history of keys that are revised",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "revisable", inputs, outputs, 1, 1):
            return None
        (stream,) = inputs
        if stream.kept is not None:
            report.add(
                "rows of this stream can be revised already",
                allowed="one such box for each input",
                next_step="leave this one out",
            )
            return None
        found = stream.schema.get(REVISED)
        if found is None or found.kind is not Kind.STRING:
            report.add(
                f"there is no string field {REVISED!r}, in which a source says what a row revises",
                allowed=f"a field {REVISED} string",
                next_step="declare it in the input's schema",
            )
            return None
        names = Schema(tuple(field for field in stream.schema.fields if field.name != REVISED))
        known = [report.field(name, StreamType(names)) for name in self.key]
        if self.keep <= 0:
            report.add(
                f"rows are kept for {self.keep} us",
                allowed="above 0",
                next_step="say for how long after its stime a row may be revised",
            )
        if not all(known) or self.keep <= 0:
            return None
        return TypedRevisable(
            outputs=(StreamType(stream.schema, stream.clocks, (), self.keep),),
            box_class=BoxClass.WINDOW,
            past=whole_buckets(self.keep, report.bucket),
            order_sensitive=True,
            key=self.key,
            kept=self.keep,
            bucket=report.bucket,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSettled(TypedBox):
    kept: int
    bucket: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Each row once it can be revised no more, as it then is: at its stime + the time for which the input keeps rows."""

    type: ClassVar[str] = "settled"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window",
        ports="1 in, 1 out",
        closing_event="boundary",
        result_stime="the row's + the kept history",
        order_key="all columns",
        state="rows of the kept history",
        horizon="the kept history",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to="row_number() over equal rows, up to the sum of what was added and taken away",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "settled", inputs, outputs, 1, 1):
            return None
        (stream,) = inputs
        if stream.kept is None:
            report.add(
                "rows of this stream are never revised",
                allowed="streams that come from an input with revisions",
                next_step="leave this step out",
            )
            return None
        schema = Schema(tuple(field for field in stream.schema.fields if field.name != REVISED))
        clocks = tuple(ClockField(c.name, c.unit, c.offset + stream.kept) for c in stream.clocks)
        order = tuple(field.type for field in schema.fields)
        return TypedSettled(
            outputs=(StreamType(schema, clocks, order),),
            box_class=BoxClass.WINDOW,
            past=whole_buckets(stream.kept, report.bucket),
            waits=stream.kept,
            kept=stream.kept,
            bucket=report.bucket,
        )
