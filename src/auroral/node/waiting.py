"""Which inputs hold a run back: those whose boundary is furthest behind."""

from __future__ import annotations

from collections.abc import Mapping

from auroral.node.ranges import SourceSpan, floor_to


def waited_for(spans: Mapping[str, SourceSpan], bucket: int) -> dict[str, int | None]:
    """The inputs that must go on before another bucket is closed, with their boundaries.

    An input that has not begun has no boundary, and nothing goes on before it has one.
    """
    open_ones = {stream: span.boundary for stream, span in spans.items() if not span.ended}
    silent: dict[str, int | None] = {stream: None for stream, boundary in open_ones.items() if boundary is None}
    if silent:
        return silent
    buckets = {s: floor_to(boundary, bucket) for s, boundary in open_ones.items() if boundary is not None}
    least = min(buckets.values(), default=None)
    return {stream: open_ones[stream] for stream, at in buckets.items() if at == least}
