"""Aggregates over rows that may be revised: windows of stime alone can be computed again from a kept history."""

from __future__ import annotations

from dataclasses import replace

from auroral.model.boxes.aggregate_typed import TypedRevisedAggregate, TypedStimeAggregate
from auroral.model.boxes.base import BoxClass, TypedBox
from auroral.model.boxes.resolving import Resolving
from auroral.model.boxes.stateless import schema_of
from auroral.model.revisions import REVISED, whole_buckets
from auroral.model.stream import StreamType
from auroral.model.types import STRING
from auroral.model.windows import Alignment, FieldWindow, Window


def aligned(window: Window, given: Resolving) -> Window:
    """The window; where files leave it open with what windows of time begin, one that does not depend on which row is a group's first."""
    if not isinstance(window, FieldWindow) or window.alignment is not Alignment.FIRST or window.by_values:
        return window
    if given.stream.clock(window.field) is None:
        return window
    given.report.warn(
        f"windows begin at multiples of {window.advance:g}: which row is the first of its group may be revised",
        allowed="independent-window-alignment 1 over rows that may be revised",
        next_step="set independent-window-alignment to 1, to say so",
    )
    return replace(window, alignment=Alignment.INDEPENDENT)


def revised(typed: TypedBox, given: Resolving) -> TypedBox | None:
    """The aggregate `typed` over a stream whose rows may be revised; None where it is said why there is none."""
    stream, report = given.stream, given.report
    assert stream.kept is not None, "it is the caller who knows"
    if not isinstance(typed, TypedStimeAggregate):
        report.add(
            "rows of its input may be revised, and which rows these windows hold depends on all of the past",
            allowed="windows of stime with independent alignment",
            next_step="give it such a window, or put .settled(...) before it",
        )
        return None
    users = [f.name for f in typed.functions if f.user is not None]
    if users or REVISED in typed.group_by:
        what = f"{users[0]!r} is a function of your own" if users else f"{REVISED!r} is what groups are told apart by"
        report.add(
            f"rows of its input may be revised, and {what}",
            allowed="built-in aggregate functions, grouped by fields of the row",
            next_step="choose others, or put .settled(...) before it",
        )
        return None
    output = typed.outputs[0]
    schema = schema_of([*((f.name, f.type) for f in output.schema.fields), (REVISED, STRING)], report)
    if schema is None:
        return None
    return TypedRevisedAggregate(
        outputs=(StreamType(schema, output.clocks, (), stream.kept),),
        box_class=BoxClass.WINDOW,
        past=whole_buckets(stream.kept + typed.size, report.bucket),
        functions=typed.functions,
        group_by=typed.group_by,
        start=typed.start,
        size=typed.size,
        advance=typed.advance,
        phase=typed.phase,
        kept=stream.kept,
        bucket=report.bucket,
    )
