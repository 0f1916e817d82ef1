"""The diagram of a deployment as the page draws it: boxes within their queries, streams between them, and where all of it stands.

Each query is laid out by itself, with ports at its sides for what it reads and gives; then queries and streams are, with the queries as
large nodes. So no stream between queries runs through a box, and no name covers another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auroral.dpc.fragments import Fragment
from auroral.model.diagram import Box
from auroral.model.layout import Edge, Layout, Node, Room, layout
from auroral.model.picture import curve
from auroral.model.summary import summary

BOX = (176, 50)
STREAM = (172, 44)
HEAD = 58
"""Above the boxes of a query: its name, and a sign for each of its replicas."""
_PAD, _CHARACTER, _SIGN = 16, 7, 32
_WITHIN = Room(across=40, down=16, margin=0)
_BETWEEN = Room(across=44, down=26, margin=16)
_PORT = STREAM[1] + _BETWEEN.down - _WITHIN.down
"""As far from one another as streams are: then they come straight."""


@dataclass(frozen=True, slots=True)
class DrawnBox:
    name: str
    type: str
    summary: str
    query: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Of a query, or of several that run on the same nodes, what is drawn."""

    name: str
    queries: tuple[str, ...]
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    streams: tuple[str, ...]
    boxes: tuple[DrawnBox, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A query, or several that run on the same nodes."""

    fragment: Fragment
    nodes: tuple[str, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(query.name for query in self.fragment.checked.diagram.queries if query.boxes)

    @property
    def boxes(self) -> list[Box]:
        return list(self.fragment.checked.diagram.boxes)

    @property
    def drawn(self) -> Drawn:
        queries = {box.name: query.name for query in self.fragment.checked.diagram.queries for box in query.boxes}
        boxes = tuple(
            DrawnBox(
                box.name,
                getattr(box.spec, "type_name", box.spec.type),
                summary(box.spec),
                queries[box.name],
                box.inputs,
                box.outputs,
            )
            for box in self.boxes
        )
        fragment = self.fragment
        return Drawn(fragment.name, self.queries, self.nodes, fragment.inputs, fragment.streams, boxes)


def picture(
    name: str, bucket: int, groups: Sequence[Drawn], outputs: Iterable[str], sources: Iterable[str] = ()
) -> dict[str, Any]:
    """As JSON; `id` is another one whenever anything of it is. `sources` are there also where nobody reads them."""
    made = {stream: group.name for group in groups for stream in group.streams}
    read = {*sources, *(stream for group in groups for stream in group.inputs)}
    streams = dict.fromkeys((*sorted(read - made.keys()), *made))
    inner = {group.name: _within(group) for group in groups}
    nodes = [Node(f"stream {stream}", width=STREAM[0], height=STREAM[1]) for stream in streams]
    nodes += [Node(f"query {one.group.name}", width=one.width, height=one.height) for one in inner.values()]
    edges: list[Edge] = []
    ports: dict[Edge, tuple[int, int]] = {}
    for name_, one in inner.items():
        for stream in one.group.inputs:
            edges.append((f"stream {stream}", f"query {name_}"))
            ports[edges[-1]] = (STREAM[1] // 2, one.port(f"in {stream}"))
        for stream in one.group.streams:
            edges.append((f"query {name_}", f"stream {stream}"))
            ports[edges[-1]] = (one.port(f"out {stream}"), STREAM[1] // 2)
    outer = layout(nodes, edges, room=_BETWEEN, ports=ports)
    at = {drawn.node.key: (drawn.x, drawn.y) for drawn in outer.nodes}
    client = set(outputs)
    found: dict[str, Any] = {
        "name": name,
        "bucket": bucket / 1e6,
        "width": outer.width,
        "height": outer.height,
        "streams": [_stream(stream, at[f"stream {stream}"], stream in made, stream in client) for stream in streams],
        "groups": [],
        "boxes": [],
        "lines": [_line(edge, points) for edge, points in zip(outer.edges, outer.lines, strict=True)],
    }
    for name_, one in inner.items():
        one.draw(*at[f"query {name_}"], into=found)
    found["id"] = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]
    return found


@dataclass(frozen=True, slots=True)
class _Within:
    group: Drawn
    layout: Layout
    streams: Mapping[Edge, str]
    """That each line is of."""

    @property
    def width(self) -> int:
        title = _PAD * 2 + _CHARACTER * len(", ".join(self.group.queries))
        signs = _PAD + sum(_SIGN + _CHARACTER * len(node) for node in self.group.nodes)
        return max(self.layout.width + 2 * _PAD, title, signs)

    @property
    def height(self) -> int:
        return HEAD + self.layout.height + _PAD

    @property
    def _left(self) -> int:
        return (self.width - self.layout.width) // 2

    def port(self, key: str) -> int:
        """How far below the top of the query."""
        return next(HEAD + drawn.y + _PORT // 2 for drawn in self.layout.nodes if drawn.node.key == key)

    def draw(self, x: int, y: int, into: dict[str, Any]) -> None:
        group = self.group
        into["groups"].append(
            {
                "name": group.name,
                "queries": list(group.queries),
                "nodes": list(group.nodes),
                **_place(x, y, self.width, self.height),
            }
        )
        at = {drawn.node.key: drawn for drawn in self.layout.nodes}
        for box in group.boxes:
            drawn = at[f"box {box.name}"]
            into["boxes"].append(
                {
                    "name": box.name,
                    "type": box.type,
                    "summary": box.summary,
                    "query": box.query,
                    "outputs": list(box.outputs),
                    "group": group.name,
                    **_place(x + self._left + drawn.x, y + HEAD + drawn.y, *BOX),
                }
            )
        for edge, points in zip(self.layout.edges, self.layout.lines, strict=True):
            moved = [(x + self._left + px, y + HEAD + py) for px, py in points]
            # From side to side of the query.
            if edge[0].startswith("in "):
                moved[0] = (x, moved[0][1])
            if edge[1].startswith("out "):
                moved[-1] = (x + self.width, moved[-1][1])
            line = {"stream": self.streams[edge], "group": group.name, "d": curve(moved)}
            into["lines"].append(line | ({} if edge[1].startswith("out ") else {"arrow": True}))


def _within(group: Drawn) -> _Within:
    boxes = group.boxes
    maker = {stream: f"in {stream}" for stream in group.inputs}
    maker |= {stream: f"box {box.name}" for box in boxes for stream in box.outputs}
    nodes = [Node(f"in {stream}", width=0, height=_PORT) for stream in group.inputs]
    nodes += [Node(f"box {box.name}", width=BOX[0], height=BOX[1]) for box in boxes]
    nodes += [Node(f"out {stream}", width=0, height=_PORT) for stream in group.streams]
    streams: dict[Edge, str] = {}
    for box in boxes:
        for stream in box.inputs:
            if stream in maker and maker[stream] != f"box {box.name}":
                streams.setdefault((maker[stream], f"box {box.name}"), stream)
    for stream in group.streams:
        streams[maker[stream], f"out {stream}"] = stream
    last = [f"out {stream}" for stream in group.streams]
    return _Within(group, layout(nodes, list(streams), room=_WITHIN, last=last), streams)


def _stream(stream: str, at: tuple[int, int], made: bool, output: bool) -> dict[str, Any]:
    role = "output" if output else "between" if made else "input"
    return {"name": stream, "role": role, **_place(*at, *STREAM)}


def _line(edge: Edge, points: list[tuple[int, int]]) -> dict[str, Any]:
    """Between a query and a stream; `into` is the query that reads it."""
    (kind, _, name), (_, _, end) = edge[0].partition(" "), edge[1].partition(" ")
    if kind == "stream":
        return {"stream": name, "into": end, "d": curve(points)}
    return {"stream": end, "arrow": True, "d": curve(points)}


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}
