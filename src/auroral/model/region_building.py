"""Finding the regions of a diagram: which boxes belong to one, and the box that stands in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from auroral.model.boxes.base import BoxClass
from auroral.model.boxes.changes import TypedChanges
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.diagram import Box, Diagram
from auroral.model.errors import Problem
from auroral.model.region_checks import led_back, region_problems
from auroral.model.regions import Region, TypedRegion, shared
from auroral.model.stream import StreamType
from auroral.model.window_samples import CheckedBox


def with_regions(
    diagram: Diagram, boxes: Sequence[CheckedBox], streams: Mapping[str, StreamType], problems: list[Problem]
) -> tuple[CheckedBox, ...]:
    """The boxes with each region as one, in topological order; what is wrong with a region is added to `problems`."""
    regions = [sorted(one) for one in _groups(boxes)]
    before = len(problems)
    for region in regions:
        problems += region_problems(diagram, boxes, region)
    if len(problems) > before or not regions:
        return tuple(boxes)
    places = {id(box): number for number, box in enumerate(diagram.boxes)}
    region_of = {number: at for at, region in enumerate(regions) for number in region}
    merged = [_region([boxes[n] for n in region], places, streams) for region in regions]
    found, left = _ordered([c for n, c in enumerate(boxes) if n not in region_of] + merged)
    problems += [led_back(c) for c in left if isinstance(c.typed, TypedRegion)][:1]
    return found


def _groups(boxes: Sequence[CheckedBox]) -> list[set[int]]:
    """Boxes by number: those that share something, with all that lies on a way between two of them."""
    made_by = {stream: n for n, c in enumerate(boxes) for stream in c.box.outputs}
    before = [{made_by[s] for s in c.box.inputs if s in made_by} for c in boxes]
    ancestors: list[set[int]] = []
    for n in range(len(boxes)):
        ancestors.append(set[int]().union(before[n], *(ancestors[b] for b in before[n])))
    sharing: dict[str, set[int]] = {}
    for n, c in enumerate(boxes):
        if (what := shared(c.typed)) is not None:
            sharing.setdefault(what, set()).add(n)
    groups = list(sharing.values())
    while True:
        groups = [_with_between(group, ancestors) for group in groups]
        joined = _joined(groups)
        if joined == groups:
            return groups
        groups = joined


def _with_between(group: set[int], ancestors: Sequence[set[int]]) -> set[int]:
    above = set[int]().union(*(ancestors[n] for n in group))
    return group | {n for n in above if ancestors[n] & group}


def _joined(groups: Iterable[set[int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for group in groups:
        apart = [one for one in found if not one & group]
        found = [*apart, group.union(*(one for one in found if one & group))]
    return found


def _region(members: list[CheckedBox], places: Mapping[int, int], streams: Mapping[str, StreamType]) -> CheckedBox:
    members = sorted(members, key=lambda c: places[id(c.box)])
    made = tuple(stream for c in members for stream in c.box.outputs)
    read = tuple(dict.fromkeys(s for c in members for s in c.box.inputs if s not in made))
    what = ", ".join(dict.fromkeys(what for c in members if (what := shared(c.typed)) is not None))
    first = members[0].box
    tables = {c.typed.table.name: c.typed.table for c in members if isinstance(c.typed, TypedTableBox | TypedChanges)}
    typed = TypedRegion(
        outputs=tuple(streams[stream] for stream in made),
        box_class=BoxClass.FOLD,
        # A table answers from what it has: with one input missing, the answer is tentative.
        required=(False,) * len(read),
        order_sensitive=True,
        members=tuple(members),
        entries=tuple((stream, streams[stream]) for stream in read),
        streams=made,
        tables=tuple(tables.values()),
    )
    names = tuple(c.box.name for c in members)
    return CheckedBox(
        Box(
            first.name,
            Region(names, f"region of {what}: {', '.join(names)}"),
            read,
            made,
            first.node,
            place=first.place,
        ),
        typed,
    )


def _ordered(boxes: list[CheckedBox]) -> tuple[tuple[CheckedBox, ...], list[CheckedBox]]:
    """Each behind those that it reads from; and those that read from one another in a loop, which only changes of tables can make."""
    made = {stream for c in boxes for stream in c.box.outputs}
    found, waiting = list[CheckedBox](), boxes
    while ready := [c for c in waiting if not made.intersection(c.box.inputs)]:
        found += ready
        made.difference_update(stream for c in ready for stream in c.box.outputs)
        waiting = [c for c in waiting if all(c is not one for one in ready)]
    return tuple(found), waiting
