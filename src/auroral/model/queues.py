"""Queue options of boxes: before which inputs an update queue stands, and where one that is asked for does nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from auroral.model.boxes.queue import FIFO, UpdateQueue
from auroral.model.boxes.revisable import Revisable
from auroral.model.diagram import Box, QueueOptions
from auroral.model.errors import Problem
from auroral.model.naming import placed
from auroral.model.stream import StreamType

IN_PLACE = 1


def queue_name(box: Box, port: int) -> str:
    """Of the queue before an input of a box, and of the stream that it makes."""
    return f"{box.name}.queue.{port}"


def queues_of(box: Box, streams: Mapping[str, StreamType]) -> Iterator[tuple[int, UpdateQueue]]:
    """The ports before which a queue stands."""
    for port, stream, options in _asked_for(box):
        key = _key(options)
        if _why_not(box, streams[stream], key) is None:
            yield port, UpdateQueue(_kind(options), key)


def idle_queues(box: Box, streams: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Warnings: queues that a box is to have and that do nothing."""
    for _, stream, options in _asked_for(box):
        why = _why_not(box, streams[stream], _key(options)) if stream in streams else None
        if why is not None:
            yield Problem(
                f"the update queue before {stream!r} does nothing, and every row is taken: {why}",
                placed(box.place, f"box {box.name!r}"),
                allowed="a key of fields that the stream has, before boxes that share no table, and rows that are never revised",
                next_step="mend its key, or set update_queue to 0",
            )


def behind_queues(box: Box, ports: list[int]) -> Box:
    """The box, reading what its queues give."""
    read = [queue_name(box, port) if port in ports else stream for port, stream in enumerate(box.inputs)]
    return replace(box, inputs=tuple(read))


def _asked_for(box: Box) -> Iterator[tuple[int, str, QueueOptions]]:
    options = box.port_queues or (box.queue,) * len(box.inputs)
    for port, (stream, one) in enumerate(zip(box.inputs, options, strict=False)):
        if one.update_queue and _kind(one) != FIFO:
            yield port, stream, one


def _kind(options: QueueOptions) -> int:
    return IN_PLACE if options.queue_type is None else options.queue_type


def _key(options: QueueOptions) -> tuple[str, ...]:
    return tuple(name.strip() for name in (options.key or "").split(",") if name.strip())


def _why_not(box: Box, stream: StreamType, key: tuple[str, ...]) -> str | None:
    if not key:
        return "it has no key"
    unknown = [name for name in key if stream.schema.get(name) is None]
    if unknown:
        return f"there is no field {unknown[0]!r}"
    if box.shares:
        return "the box shares a table or a lockset with others"
    revised = stream.kept is not None or isinstance(box.spec, Revisable)
    return "rows may be revised" if revised else None
