"""Windows that were shed before an aggregate: it leaves them out, lest its results be of half a window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from auroral.model.boxes.aggregate import TypedStimeAggregate, WindowSample
from auroral.model.boxes.aggregate_typed import TypedEventTimeAggregate, TypedFirstAligned
from auroral.model.boxes.base import TypedBox
from auroral.model.boxes.drop import TypedRandomDrop, TypedWindowDrop
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.diagram import Box
from auroral.model.errors import Problem
from auroral.model.expression import bare_field


@dataclass(frozen=True, slots=True)
class CheckedBox:
    box: Box
    typed: TypedBox


def with_window_samples(boxes: list[CheckedBox], warnings: list[Problem]) -> Iterable[CheckedBox]:
    """Tell each aggregate which windows a window_drop before it dropped."""
    drops: dict[str, tuple[tuple[str, TypedWindowDrop], ...]] = {}
    for checked in boxes:
        box, typed = checked.box, checked.typed
        upstream = tuple(drop for stream in box.inputs for drop in drops.get(stream, ()))
        if isinstance(typed, TypedStimeAggregate) and upstream:
            samples = []
            for name, drop in upstream:
                if (drop.size, drop.advance, drop.phase, drop.group_by) == (
                    typed.size,
                    typed.advance,
                    typed.phase,
                    typed.group_by,
                ):
                    samples.append(WindowSample(name, drop.rate, drop.batch))
                else:
                    warnings.append(
                        Problem(
                            f"box {box.name!r} aggregates other windows or groups than window_drop {name!r}"
                            " before it keeps: its results will be partial",
                            box.place,
                            allowed="windows and groups of the window_drop before it",
                            next_step="give both the same window and group-by",
                        )
                    )
            checked = CheckedBox(box, replace(typed, kept_windows=tuple(samples)))
        elif isinstance(typed, TypedFirstAligned | TypedEventTimeAggregate):
            warnings += [_other_windows(box, typed, name) for name, drop in upstream if drop.rate > 0]
        passed = tuple((name, drop) for name, drop in upstream if _keeps_groups(typed, drop.group_by))
        if isinstance(typed, TypedWindowDrop):
            passed = (*passed, (box.name, typed))
        for stream in box.outputs:
            drops[stream] = passed
        yield checked


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


def _keeps_groups(typed: TypedBox, group_by: tuple[str, ...]) -> bool:
    """Whether rows leave the box with the group-by fields that they came with."""
    if isinstance(typed, TypedMap):
        copied = {name: bare_field(expression) for name, expression in typed.columns}
        return all((ref := copied.get(name)) is not None and ref.name == name for name in group_by)
    return isinstance(typed, TypedFilter | TypedUnion | TypedIdentity | TypedRandomDrop | TypedWindowDrop)
