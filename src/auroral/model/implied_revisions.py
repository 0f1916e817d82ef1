"""Inputs of Borealis files whose rows may be revised, though no box says so: those with a field for it that a revision box reads.

Borealis' sources sent revisions as they liked. So such an input gets the box that says for how long its rows may be revised, in each
query that reads it on the way to a revision box: queries run on nodes of their own. No field is known to name its rows; their stime does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from auroral.model.boxes.revisable import Revisable, revised_name
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.diagram import Box, ConnectionPointView, Diagram, Input, Query
from auroral.model.duration import spell
from auroral.model.errors import Problem
from auroral.model.history import STIME_ORDER
from auroral.model.naming import placed, produced
from auroral.model.revisions import REVISED
from auroral.model.stamps import fields_of_inputs
from auroral.model.types import Kind

USUALLY_KEPT = 60_000_000
"""For how long rows may be revised where no view at an anchor says it, in microseconds."""

_ON_THE_WAY = (Filter, Map, Union, SUnion, SOutput, Delay, Revision)
"""Through these, a revision box reads the rows of an input."""


def with_implied_revisions(diagram: Diagram, known: Collection[str] = ()) -> tuple[Diagram, tuple[Problem, ...]]:
    """The diagram with a box for each such input, and warnings of what was made up. Of a diagram that has them, itself. `known` are inputs
    that are streams of another diagram: whether their rows may be revised was said there."""
    reading = _on_the_way(diagram)
    warnings: list[Problem] = []
    for given in diagram.inputs:
        mark = given.schema.get(REVISED)
        readers = {box.name for box in reading if given.stream in box.inputs}
        if given.stream in known or mark is None or mark.kind is not Kind.STRING or not readers:
            continue
        keep = _kept(diagram, given, reading)
        if keep is None:
            warnings.append(_usual(given))
        keep = keep or USUALLY_KEPT
        warnings += _read_as_they_are(diagram, given, readers)
        taken = {stream for stream, _ in produced(diagram)} | {box.name for box in diagram.boxes}
        queries = tuple(_with_box(query, given, keep, readers, taken) for query in diagram.queries)
        diagram = replace(diagram, queries=queries)
    return diagram, tuple(warnings)


def _on_the_way(diagram: Diagram) -> list[Box]:
    """Revision boxes, and the boxes that pass rows on to them."""
    makers = {stream: box for box in diagram.boxes for stream in box.outputs}
    found: dict[str, Box] = {}
    left = [box for box in diagram.boxes if isinstance(box.spec, Revision)]
    while left:
        box = left.pop()
        if box.name not in found:
            found[box.name] = box
            before = (makers[stream] for stream in box.inputs if stream in makers)
            left += [maker for maker in before if isinstance(maker.spec, _ON_THE_WAY)]
    return list(found.values())


def _kept(diagram: Diagram, given: Input, reading: Iterable[Box]) -> int | None:
    """The longest range of stime that a view at an anchor keeps of rows of the input."""
    named = {name for box in reading if isinstance(box.spec, Revision) for name in box.spec.anchors}
    spans = [_span(diagram, given, view) for view in diagram.views if view.name in named]
    return max((span for span in spans if span), default=None)


def _span(diagram: Diagram, given: Input, view: ConnectionPointView) -> int | None:
    """In microseconds; None of a view that goes by something else, or is not of this input's rows."""
    if view.order is None or view.start is None:
        return None
    length = max(0, -view.start) + (view.radius or 0)
    behind = fields_of_inputs(diagram, [(view.stream, view.order)])[given.stream]
    if view.order == STIME_ORDER and given.schema.get(STIME_ORDER) is None:
        return length if behind else None
    stamp = given.stamp
    return length * stamp.unit if stamp is not None and stamp.field in behind else None


def _with_box(query: Query, given: Input, keep: int, readers: Collection[str], taken: set[str]) -> Query:
    mine = [box for box in query.boxes if box.name in readers]
    if not mine:
        return query
    usual = revised_name(given.stream)
    name = next(n for n in (usual, f"{usual}.{query.name}", *_numbered(usual, len(taken))) if n not in taken)
    taken.add(name)
    place = placed(given.place, f"input {given.stream!r}")
    added = Box(name, Revisable(keep, ()), (given.stream,), (name,), mine[0].node, place=place)
    boxes = [_reading(box, given.stream, name) if box.name in readers else box for box in query.boxes]
    return replace(query, boxes=(added, *boxes))


def _numbered(name: str, most: int) -> Iterable[str]:
    return (f"{name}.{number}" for number in range(most + 1))


def _reading(box: Box, stream: str, instead: str) -> Box:
    return replace(box, inputs=tuple(instead if one == stream else one for one in box.inputs))


def _usual(given: Input) -> Problem:
    return Problem(
        f"rows of input {given.stream!r} may be revised for {spell(USUALLY_KEPT)} after their stime: nothing says for how long",
        placed(given.place, f"input {given.stream!r}"),
        allowed="a range on the stime in a connection_point_view that an anchor names; or a box of type revisable",
        next_step=f'put <order field="..."/><range start="-..." end="0"/> into a view of {given.stream!r}, and name it as an anchor',
    )


def _read_as_they_are(diagram: Diagram, given: Input, readers: Collection[str]) -> Iterable[Problem]:
    for box in diagram.boxes:
        if given.stream in box.inputs and box.name not in readers and not isinstance(box.spec, Revisable):
            yield Problem(
                f"box {box.name!r} leads to no revision box, and takes revisions of {given.stream!r} for rows like others",
                placed(box.place, f"box {box.name!r}"),
                allowed="boxes behind a revision box, or one of type revisable, to have rows corrected",
                next_step="put a revisionfilter before it that passes every row, or leave it so",
            )
