"""Fields that options name which are kept and not yet in force: keys of update queues, orders of connection point views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from auroral.model.diagram import Box, Diagram
from auroral.model.errors import Place, Problem, unknown_name
from auroral.model.naming import placed
from auroral.model.stream import StreamType


def unknown_kept_fields(diagram: Diagram, streams: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Warnings: nothing reads these fields yet, so a diagram runs without them."""
    for box in diagram.boxes:
        yield from _keys(box, streams)
    for view in diagram.views:
        if view.order is not None:
            place = placed(view.place, f"view {view.name!r}")
            yield from _unknown("order field", view.order, streams.get(view.stream), place)


def _keys(box: Box, streams: Mapping[str, StreamType]) -> Iterator[Problem]:
    queues = box.port_queues or (box.queue,) * len(box.inputs)
    place = placed(box.place, f"box {box.name!r}")
    for stream, queue in zip(box.inputs, queues, strict=False):
        for key in (queue.key or "").split(","):
            if key.strip():
                yield from _unknown("key of an update queue", key.strip(), streams.get(stream), place)


def _unknown(kind: str, name: str, stream: StreamType | None, place: Place) -> Iterator[Problem]:
    if stream is not None and stream.schema.get(name) is None:
        problem = unknown_name(kind, name, stream.schema.names, place)
        yield replace(problem, what=f"{problem.what}: it is kept, and does nothing yet")
