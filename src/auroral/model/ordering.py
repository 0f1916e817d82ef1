"""Boxes after the boxes that they read from, and the loops for which there is no such order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from auroral.model.diagram import Box


@dataclass(frozen=True, slots=True)
class Loop:
    """`at` reads from a box that reads from it; `names` goes once around."""

    at: Box
    names: tuple[str, ...]


def ordered(boxes: Iterable[Box], inputs: Iterable[str]) -> tuple[list[Box], list[Loop]]:
    """All boxes in topological order, but for the loops."""
    boxes, given = list(boxes), set(inputs)
    # A name that an input has too is a problem already; with the box as its producer it might be a loop.
    made_by = {stream: box for box in boxes for stream in box.outputs if stream not in given}
    found: list[Box] = []
    loops: list[Loop] = []
    # By identity: two boxes of one name are a problem already, and each is still judged.
    state: dict[int, int] = {}
    for root in boxes:
        # An explicit stack: diagrams may be deeper than Python's.
        stack: list[tuple[Box, int]] = [(root, 0)]
        while stack:
            box, port = stack.pop()
            if port == 0:
                if state.get(id(box)):
                    continue
                state[id(box)] = 1
            if port == len(box.inputs):
                state[id(box)] = 2
                found.append(box)
                continue
            stack.append((box, port + 1))
            upstream = made_by.get(box.inputs[port])
            if upstream is None:
                continue
            if state.get(id(upstream)) == 1:
                around = [b for b, _ in stack]
                first = next(n for n, b in enumerate(around) if b is upstream)
                loops.append(Loop(box, tuple(b.name for b in (*around[first:], upstream))))
            elif id(upstream) not in state:
                stack.append((upstream, 0))
    return found, loops
