"""Windows that were shed before an aggregate: it leaves them out, lest its results be of half a window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from auroral.model.boxes.aggregate import TypedStimeAggregate
from auroral.model.boxes.aggregate_typed import (
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedTupleWindows,
    TypedValueWindows,
)
from auroral.model.boxes.base import TypedBox
from auroral.model.boxes.drop import TypedRandomDrop, TypedRowDrop, TypedWindowDrop
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.diagram import Box
from auroral.model.errors import Problem
from auroral.model.expression import bare_field
from auroral.model.windows import Alignment


@dataclass(frozen=True, slots=True)
class CheckedBox:
    box: Box
    typed: TypedBox


Drop = TypedWindowDrop | TypedRowDrop


@dataclass(frozen=True, slots=True)
class Upstream:
    """A window_drop on the way to a stream. `whole` is whether the stream has all rows that it let through, and no others."""

    box: str
    drop: Drop
    whole: bool = True


def with_window_samples(boxes: list[CheckedBox], warnings: list[Problem]) -> Iterable[CheckedBox]:
    """Tell each aggregate which windows a window_drop before it dropped."""
    drops: dict[str, tuple[Upstream, ...]] = {}
    for checked in boxes:
        box, typed = checked.box, checked.typed
        upstream = tuple(found for stream in box.inputs for found in drops.get(stream, ()))
        if isinstance(typed, TypedStimeAggregate | TypedValueWindows | TypedTupleWindows):
            # Of rows that are counted, a second window_drop counted those that the first one left.
            known = upstream if len(upstream) < 2 or not isinstance(typed, TypedTupleWindows) else ()
            same = [found for found in known if _same_windows(found, typed)]
            warnings += [
                _partial(box, typed, found.box)
                for found in upstream
                if found not in same and found.drop.sample.rate > 0
            ]
            samples = tuple(found.drop.sample for found in same)
            checked = CheckedBox(box, replace(typed, kept_windows=samples))
        elif isinstance(typed, TypedFirstAligned | TypedEventTimeAggregate):
            warnings += [_other_windows(box, typed, found.box) for found in upstream if found.drop.sample.rate > 0]
        passed = tuple(
            replace(found, whole=found.whole and _keeps_rows(typed))
            for found in upstream
            if _keeps_windows(typed, found.drop)
        )
        if isinstance(typed, Drop):
            passed = (*passed, Upstream(box.name, typed))
        for stream in box.outputs:
            drops[stream] = passed
        yield checked


def _same_windows(found: Upstream, typed: TypedBox) -> bool:
    drop = found.drop
    match drop, typed:
        case TypedWindowDrop(), TypedStimeAggregate():
            sizes = (drop.size, drop.advance, drop.phase) == (typed.size, typed.advance, typed.phase)
        case TypedRowDrop(field=str()), TypedValueWindows(alignment=Alignment.INDEPENDENT):
            sizes = (drop.field, drop.size, drop.advance) == (typed.field, typed.size, typed.advance)
        case TypedRowDrop(field=None), TypedTupleWindows(field=None, timeout=None) if found.whole:
            sizes = (drop.size, drop.advance) == (Fraction(typed.size), Fraction(typed.advance))
        case _:
            return False
    return sizes and drop.group_by == typed.group_by


def _partial(box: Box, typed: TypedBox, drop: str) -> Problem:
    allowed = "windows and groups of the window_drop before it"
    if isinstance(typed, TypedTupleWindows):
        allowed += ", in the order in which rows come, without a timeout, and nothing between them that leaves out rows or adds some"
    elif isinstance(typed, TypedValueWindows):
        allowed += ", from multiples of the advance on"
    return Problem(
        f"box {box.name!r} aggregates other windows or groups than window_drop {drop!r}"
        " before it keeps: its results will be partial",
        box.place,
        allowed=allowed,
        next_step="give both the same window and group-by",
    )


def _other_windows(box: Box, typed: TypedBox, drop: str) -> Problem:
    """Windows that a window_drop, which keeps no state and sees stimes, cannot know of."""
    if isinstance(typed, TypedFirstAligned):
        how, step = "by the first row of a group", "set independent-window-alignment to 1, or use aggregate in Python"
    else:
        how, step = "by event time", "aggregate over windows of stime, or drop rows with random_drop"
    return Problem(
        f"box {box.name!r} aligns its windows {how}, and window_drop {drop!r} before it drops others: its results will be partial",
        box.place,
        allowed="windows that begin at multiples of the advance in stime",
        next_step=step,
    )


def _keeps_windows(typed: TypedBox, drop: Drop) -> bool:
    """Whether rows leave the box with the fields by which they were dropped."""
    if isinstance(typed, TypedMap):
        copied = {name: bare_field(expression) for name, expression in typed.columns}
        fields = (*drop.group_by, *([drop.field] if isinstance(drop, TypedRowDrop) and drop.field else []))
        return all((ref := copied.get(name)) is not None and ref.name == name for name in fields)
    return isinstance(typed, TypedFilter | TypedUnion | TypedIdentity | TypedRandomDrop | Drop)


def _keeps_rows(typed: TypedBox) -> bool:
    """Whether the box gives a row for each that it reads."""
    return isinstance(typed, TypedMap | TypedIdentity) and not typed.leaves_out
