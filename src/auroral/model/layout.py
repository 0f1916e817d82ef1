"""Where the nodes of a picture go: layers from left to right, in a layer near what they are joined to.

Layers are longest paths from the inputs. An edge that spans several layers gets a bend in each, so that it
runs between the nodes there and not through them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 190, 56
_GAP_X, _GAP_Y, _MARGIN = 56, 22, 12
_BEND_HEIGHT = 18
_SWEEPS = 8

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    key: str
    lines: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Drawn:
    node: Node
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Layout:
    """`lines` are the points that each edge runs through."""

    width: int
    height: int
    nodes: tuple[Drawn, ...]
    lines: tuple[list[tuple[int, int]], ...]


def layout(nodes: Sequence[Node], edges: Sequence[Edge]) -> Layout:
    distinct = [(a, b) for a, b in dict.fromkeys(edges) if a != b]
    layer_of = _layers([node.key for node in nodes], distinct)
    paths = [_path(edge, layer_of) for edge in distinct]
    layers: list[list[str]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for key, number in layer_of.items():
        layers[number].append(key)
    links = [link for path in paths for link in pairwise(path)]
    _sort(layers, links)
    by_key = {node.key: node for node in nodes}
    at, height = _positions(layers, by_key)
    drawn = tuple(Drawn(node, at[node.key][0], at[node.key][1]) for node in nodes)
    lines = tuple(_line(path, at, by_key) for path in paths)
    width = 2 * _MARGIN + len(layers) * WIDTH + max(0, len(layers) - 1) * _GAP_X
    return Layout(width, height, drawn, lines)


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


def _sort(layers: list[list[str]], links: Sequence[Edge]) -> None:
    """Each layer by the mean place of its neighbours, to and fro."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for a, b in links:
        before.setdefault(b, []).append(a)
        after.setdefault(a, []).append(b)
    # Relative places, as layers differ in length.
    place = {key: (n + 0.5) / len(layer) for layer in layers for n, key in enumerate(layer)}
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        neighbours = before if forwards else after
        for layer in layers if forwards else reversed(layers):
            means = {
                key: sum(place[other] for other in neighbours[key]) / len(neighbours[key])
                if key in neighbours
                else place[key]
                for key in layer
            }
            layer.sort(key=means.__getitem__)
            place.update((key, (n + 0.5) / len(layer)) for n, key in enumerate(layer))


def _positions(layers: Sequence[Sequence[str]], by_key: Mapping[str, Node]) -> tuple[dict[str, tuple[int, int]], int]:
    """The upper left corner of everything, each layer centred, and the height of the whole."""
    heights = [sum((HEIGHT if key in by_key else _BEND_HEIGHT) + _GAP_Y for key in layer) - _GAP_Y for layer in layers]
    tallest = max(heights, default=0)
    at = {}
    for number, layer in enumerate(layers):
        y = _MARGIN + (tallest - heights[number]) // 2
        for key in layer:
            at[key] = (_MARGIN + number * (WIDTH + _GAP_X), y)
            y += (HEIGHT if key in by_key else _BEND_HEIGHT) + _GAP_Y
    return at, tallest + 2 * _MARGIN


def _line(path: Sequence[str], at: Mapping[str, tuple[int, int]], by_key: Mapping[str, Node]) -> list[tuple[int, int]]:
    points = []
    for n, key in enumerate(path):
        x, y = at[key]
        if key in by_key:
            points.append((x + WIDTH if n == 0 else x, y + HEIGHT // 2))
        else:
            middle = y + _BEND_HEIGHT // 2
            points += [(x, middle), (x + WIDTH, middle)]
    return points
