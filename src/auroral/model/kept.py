"""What options name that a diagram runs without: connection points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from auroral.model.diagram import ConnectionPointView, Diagram
from auroral.model.errors import Place, Problem, unknown_name
from auroral.model.history import why_not_ordered
from auroral.model.naming import placed, produced
from auroral.model.schema import Schema
from auroral.model.stream import StreamType
from auroral.model.types import Kind


def unknown_kept_fields(diagram: Diagram, streams: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Warnings: of a view that is wrong all is kept, so that a diagram runs all the same."""
    made = sorted(stream for stream, _ in produced(diagram))
    seen = set[str]()
    for view in diagram.views:
        place = placed(view.place, f"view {view.name!r}")
        if view.name in seen:
            what = f"view {view.name!r} is there twice: the first one is kept"
            yield Problem(what, place, "names of their own", "give it another name")
        seen.add(view.name)
        if view.stream not in made:
            problem = unknown_name("stream", view.stream, made, place)
            yield replace(problem, what=f"view {view.name!r} keeps nothing: {problem.what}")
        elif view.stream in streams:
            yield from _of_view(view, streams[view.stream].schema, place)
    yield from _of_other_streams(diagram)


def _of_other_streams(diagram: Diagram) -> Iterator[Problem]:
    """Ports that name a view of a stream which they do not read."""
    kept = {view.name: view.stream for view in reversed(diagram.views)}
    for box in diagram.boxes:
        for name, stream in zip(box.port_views, box.inputs, strict=False):
            if name is not None and kept.get(name, stream) != stream:
                what = f"box {box.name!r} reads {stream!r}, and names the view {name!r}, which is of {kept[name]!r}: it reads {stream!r}"
                yield Problem(what, box.place, f"views of {stream!r}", f"name another view, or read {kept[name]!r}")


def _of_view(view: ConnectionPointView, schema: Schema, place: Place) -> Iterator[Problem]:
    if (why := why_not_ordered(view, schema)) is not None:
        fields = [f.name for f in schema.fields if f.type.is_integer or f.type.kind is Kind.TIMESTAMP]
        what = f"view {view.name!r} cannot go by its order field: {why}; rows are kept in the order of the stream"
        if view.size is None and view.start is not None:
            what += ", and none is let go"
        yield Problem(what, place, ", ".join([*fields, "stime"]), "name one of these, or leave <order> out")
    if view.start is not None and view.end is not None and view.start > view.end:
        what = f"view {view.name!r} has a range that ends before it begins: {view.start} to {view.end}"
        yield Problem(what, place, "start at or below end", "what is kept begins at start, as if the end were not said")
