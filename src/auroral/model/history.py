"""Connection points: streams whose history is kept.

A view names a stream, and how much of it is kept. What is kept is what boxes made, and stable: so a kept stream is an output like others,
but that what its views no longer show is let go. An input has its rows only in the log of its source; a step that leaves each row as it is
stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from auroral.model.boxes.stateless import Delay
from auroral.model.diagram import Box, ConnectionPointView, Diagram, Output, Query
from auroral.model.naming import placed, produced
from auroral.model.schema import Schema
from auroral.model.types import Kind

STIME_ORDER = "stime"
"""The order of a view that goes by the time of the stream, where no field has that name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A view, and the output that has its rows."""

    view: ConnectionPointView
    stream: str


@dataclass(frozen=True, slots=True)
class Retention:
    """What a view keeps, of rows in the order of their stream: the last `rows`, or those that are less than `span` behind the newest by
    `order`, which is a field, or None for the stime. Neither: all."""

    rows: int | None = None
    span: int | None = None
    order: str | None = None


def with_kept_streams(diagram: Diagram) -> Diagram:
    """With an output for each stream that is kept. Of a diagram that has them, itself."""
    made = {stream for stream, _ in produced(diagram)}
    for view in diagram.views:
        if view.stream not in made:
            continue
        stream = view.stream
        if diagram.input(stream) is not None:
            stream = _stands_for(diagram, view) or _free_name(diagram, view)
            if _stands_for(diagram, view) is None:
                diagram = _with_step(diagram, view, stream)
        if diagram.output(stream) is None:
            output = Output(stream, place=placed(view.place, f"view {view.name!r}"), kept=True)
            diagram = replace(diagram, outputs=(*diagram.outputs, output))
    return diagram


def kept_streams(diagram: Diagram) -> tuple[Kept, ...]:
    """The views of a diagram that was checked."""
    made = {stream for stream, _ in produced(diagram)}
    found = []
    for view in diagram.views:
        if view.stream in made:
            stream = view.stream if diagram.input(view.stream) is None else _stands_for(diagram, view)
            assert stream is not None, "a checked diagram has a step for each input that is kept"
            found.append(Kept(view, stream))
    return tuple(found)


def retention(view: ConnectionPointView, schema: Schema) -> Retention:
    """How much that is. What is wrong in a view lets nothing go: the checker warns of it."""
    if why_not_ordered(view, schema) is not None:
        return Retention(view.size + (view.radius or 0)) if view.size is not None else Retention()
    around = view.radius or 0
    if view.size is not None:
        return Retention(rows=view.size + around)
    if view.start is None:
        return Retention()
    span = max(0, -view.start) + around
    if view.order is None:
        return Retention(rows=span)
    return Retention(span=span, order=None if _is_stime(view.order, schema) else view.order)


def why_not_ordered(view: ConnectionPointView, schema: Schema) -> str | None:
    """Why rows cannot be kept by the order that the view names; None where they can."""
    if view.order is None or _is_stime(view.order, schema):
        return None
    found = schema.get(view.order)
    if found is None:
        return f"the stream has no field {view.order!r}"
    if not (found.is_integer or found.kind is Kind.TIMESTAMP):
        return f"{view.order!r} is a {found}, and not a timestamp or a whole number"
    return None


def _is_stime(order: str, schema: Schema) -> bool:
    return order == STIME_ORDER and schema.get(order) is None


def _stands_for(diagram: Diagram, view: ConnectionPointView) -> str | None:
    """The step that was put there for the view of an input."""
    for name in _names(view):
        box = next((box for box in diagram.boxes if box.name == name), None)
        if box is not None and box.inputs == (view.stream,) and box.outputs == (name,) and box.spec == Delay(0):
            return name
    return None


def _names(view: ConnectionPointView) -> Iterator[str]:
    yield view.name
    yield f"{view.name}.kept"


def _free_name(diagram: Diagram, view: ConnectionPointView) -> str:
    """Of the view itself, unless something else has it."""
    taken = {stream for stream, _ in produced(diagram)} | {box.name for box in diagram.boxes}
    return next((name for name in _names(view) if name not in taken), f"{view.name}.kept")


def _with_step(diagram: Diagram, view: ConnectionPointView, stream: str) -> Diagram:
    """In the query that reads the input, on the same nodes."""
    box = Box(stream, Delay(0), (view.stream,), (stream,), place=placed(view.place, f"view {view.name!r}"))
    for number, query in enumerate(diagram.queries):
        for reader in query.boxes:
            if view.stream in reader.inputs:
                there = replace(query, boxes=(*query.boxes, replace(box, node=reader.node)))
                queries = (*diagram.queries[:number], there, *diagram.queries[number + 1 :])
                return replace(diagram, queries=queries)
    return replace(diagram, queries=(*diagram.queries, Query(stream, (box,))))
