"""Where the nodes of a picture go: layers from left to right, in a layer near what they are joined to.

Layers are longest paths from the inputs. An edge that spans several layers gets a bend in each, so that it
runs between the nodes there and not through them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 190, 56
_BEND_HEIGHT = 18
_SWEEPS = 8

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    key: str
    lines: tuple[str, ...] = ()
    kind: str = "box"
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class Room:
    """Left free between layers, between nodes of a layer, and around all."""

    across: int = 56
    down: int = 22
    margin: int = 12


USUAL = Room()


@dataclass(frozen=True, slots=True)
class Drawn:
    node: Node
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Layout:
    """`lines` are the points that each of the `edges` runs through."""

    width: int
    height: int
    nodes: tuple[Drawn, ...]
    edges: tuple[Edge, ...]
    lines: tuple[list[tuple[int, int]], ...]


Ports = Mapping[Edge, tuple[int, int]]
"""How far below the top of its two nodes an edge leaves and comes; without it, in the middle."""


def layout(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    *,
    room: Room = USUAL,
    ports: Ports | None = None,
    last: Collection[str] = (),
) -> Layout:
    """The nodes of `last` stand in the last layer, wherever their longest path ends."""
    distinct = [(a, b) for a, b in dict.fromkeys(edges) if a != b]
    layer_of = _layers([node.key for node in nodes], distinct)
    layer_of |= dict.fromkeys(last, max(layer_of.values(), default=0))
    paths = [_path(edge, layer_of) for edge in distinct]
    layers: list[list[str]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for key, number in layer_of.items():
        layers[number].append(key)
    by_key = {node.key: node for node in nodes}
    links = [
        link for path, edge in zip(paths, distinct, strict=True) for link in _links(path, edge, by_key, ports or {})
    ]
    _sort(layers, links, by_key)
    at, width, height = _positions(layers, links, by_key, room)
    drawn = tuple(Drawn(node, *at[node.key]) for node in nodes)
    anchors = {(link.a, link.b): link for link in links}
    sides = {key: side for layer, side in zip(layers, _sides(layers, by_key, room), strict=True) for key in layer}
    lines = tuple(_line(path, at, by_key, anchors, sides) for path in paths)
    return Layout(width, height, drawn, tuple(distinct), lines)


@dataclass(frozen=True, slots=True)
class _Link:
    """A piece of an edge from one layer to the next, and how far below the tops of both it leaves and comes."""

    a: str
    b: str
    leaves: int
    comes: int


def _links(path: Sequence[str], edge: Edge, by_key: Mapping[str, Node], ports: Ports) -> list[_Link]:
    leaves, comes = ports.get(edge, (by_key[edge[0]].height // 2, by_key[edge[1]].height // 2))
    ends = [leaves, *(_BEND_HEIGHT // 2 for _ in path[1:-1]), comes]
    return [_Link(a, b, down, up) for (a, b), (down, up) in zip(pairwise(path), pairwise(ends), strict=True)]


def _layers(keys: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The longest path to each node. Nodes of a loop, which only a wrong diagram has, end anywhere."""
    layer = dict.fromkeys(keys, 0)
    for _ in keys:
        moved = False
        for a, b in edges:
            if layer[b] <= layer[a] < len(keys):
                layer[b] = layer[a] + 1
                moved = True
        if not moved:
            return layer
    used = {number: rank for rank, number in enumerate(sorted(set(layer.values())))}
    return {key: used[number] for key, number in layer.items()}


def _path(edge: Edge, layer_of: dict[str, int]) -> list[str]:
    """The nodes of an edge with a bend in every layer between them, added to `layer_of`."""
    a, b = edge
    bends = [f"bend {n} {a} {b}" for n in range(layer_of[a] + 1, layer_of[b])]
    layer_of.update((bend, layer_of[a] + 1 + n) for n, bend in enumerate(bends))
    return [a, *bends, b]


def _sort(layers: list[list[str]], links: Sequence[_Link], by_key: Mapping[str, Node]) -> None:
    """Each layer by the mean place of its neighbours, to and fro."""
    before: dict[str, list[tuple[str, float]]] = {}
    after: dict[str, list[tuple[str, float]]] = {}
    for link in links:
        # Of two that join one node, the one whose port is higher comes first.
        before.setdefault(link.b, []).append((link.a, link.leaves / _height(link.a, by_key) - 0.5))
        after.setdefault(link.a, []).append((link.b, link.comes / _height(link.b, by_key) - 0.5))
    # Relative places, as layers differ in length.
    place = {key: (n + 0.5) / len(layer) for layer in layers for n, key in enumerate(layer)}
    slot = {key: 1 / len(layer) for layer in layers for key in layer}
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        neighbours = before if forwards else after
        for layer in layers if forwards else reversed(layers):
            means = {
                key: sum(place[other] + port * slot[other] for other, port in neighbours[key]) / len(neighbours[key])
                if key in neighbours
                else place[key]
                for key in layer
            }
            layer.sort(key=means.__getitem__)
            place.update((key, (n + 0.5) / len(layer)) for n, key in enumerate(layer))


def _height(key: str, by_key: Mapping[str, Node]) -> int:
    return by_key[key].height if key in by_key else _BEND_HEIGHT


def _positions(
    layers: Sequence[Sequence[str]], links: Sequence[_Link], by_key: Mapping[str, Node], room: Room
) -> tuple[dict[str, tuple[int, int]], int, int]:
    """The upper left corner of everything, and the width and height of the whole."""
    tops = _tops(layers, links, by_key, room)
    highest = min(tops.values(), default=0)
    at, right = {}, room.margin
    for layer, (left, right) in zip(layers, _sides(layers, by_key, room), strict=True):
        for key in layer:
            free = right - left - by_key[key].width if key in by_key else 0
            at[key] = (left + free // 2, tops[key] - highest + room.margin)
    lowest = max((y + _height(key, by_key) for key, (_, y) in at.items()), default=room.margin)
    return at, right + room.margin, lowest + room.margin


def _sides(layers: Sequence[Sequence[str]], by_key: Mapping[str, Node], room: Room) -> list[tuple[int, int]]:
    """The left and the right of each layer."""
    found, x = [], room.margin
    for layer in layers:
        width = max((by_key[key].width for key in layer if key in by_key), default=0)
        found.append((x, x + width))
        x += width + room.across
    return found


def _tops(
    layers: Sequence[Sequence[str]], links: Sequence[_Link], by_key: Mapping[str, Node], room: Room
) -> dict[str, int]:
    """Each node as near as it can be to where its edges would be straight, in the order of its layer."""
    tops: dict[str, float] = {}
    for layer in layers:
        heights = [_height(key, by_key) + room.down for key in layer]
        tops |= {key: sum(heights[:n]) - sum(heights) / 2 for n, key in enumerate(layer)}
    before: dict[str, list[tuple[str, int]]] = {}
    after: dict[str, list[tuple[str, int]]] = {}
    for link in links:
        before.setdefault(link.b, []).append((link.a, link.leaves - link.comes))
        after.setdefault(link.a, []).append((link.b, link.comes - link.leaves))
    for sweep in range(_SWEEPS + 1):
        forwards = sweep % 2 == 0
        joined = before if forwards else after
        for layer in layers if forwards else reversed(layers):
            # Above one another, each with room for itself: what is left is to find numbers that do not fall.
            begins, high = [], 0
            for key in layer:
                begins.append(high)
                high += _height(key, by_key) + room.down
            wanted = [
                sum(tops[other] + below for other, below in joined[key]) / len(joined[key])
                if key in joined
                else tops[key]
                for key in layer
            ]
            levels = _not_falling([top - begin for top, begin in zip(wanted, begins, strict=True)])
            tops |= {key: level + begin for key, level, begin in zip(layer, levels, begins, strict=True)}
    return {key: round(top) for key, top in tops.items()}


def _not_falling(numbers: Sequence[float]) -> list[float]:
    """The numbers nearest to these, by squares, of which none is below the one before it (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for number in numbers:
        mean, count = number, 1
        while pools and pools[-1][0] > mean:
            other, size = pools.pop()
            mean, count = (mean * count + other * size) / (count + size), count + size
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]


def _line(
    path: Sequence[str],
    at: Mapping[str, tuple[int, int]],
    by_key: Mapping[str, Node],
    anchors: Mapping[Edge, _Link],
    sides: Mapping[str, tuple[int, int]],
) -> list[tuple[int, int]]:
    """From the right side of the first node to the left side of the last; level wherever there are nodes, so that it runs through none."""
    first, last = path[0], path[-1]
    y = at[first][1] + anchors[first, path[1]].leaves
    points = [(at[first][0] + by_key[first].width, y), (sides[first][1], y)]
    for key in path[1:-1]:
        left, right = sides[key]
        points += [(left, at[key][1] + _BEND_HEIGHT // 2), (right, at[key][1] + _BEND_HEIGHT // 2)]
    y = at[last][1] + anchors[path[-2], last].comes
    return list(dict.fromkeys([*points, (sides[last][0], y), (at[last][0], y)]))
