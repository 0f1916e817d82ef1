"""What the outputs of a deployment come to when processes are away, links are cut or sources are silent.

By the rules of the protocol, in the order of the diagram: a replica reads each stream from the best of those that it reaches; it goes on
tentatively without what is missing, and stops where it cannot do without it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from auroral.dpc.assembly import CLIENT
from auroral.dpc.fragments import Fragment


class Level(IntEnum):
    """The lower the better, as readers choose."""

    STABLE = 0
    TENTATIVE = 1
    NOTHING = 2


@dataclass(frozen=True, slots=True)
class Given:
    """Of a stream, as one process gives it or gets it."""

    level: Level
    without: frozenset[str] = frozenset()
    """Sources that it is computed without."""
    giver: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """What runs where, and what is wrong with it."""

    sources: tuple[str, ...]
    queries: Sequence[tuple[Fragment, tuple[str, ...]]]
    """With the nodes that run them, those first that others read."""
    outputs: tuple[str, ...]
    dead: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    cut: frozenset[frozenset[str]] = frozenset()
    """Pairs between which nothing passes."""
    unbounded: frozenset[str] = frozenset()
    """Streams that wait for ever for what is missing: without a bound nothing is tentative."""

    def reach(self, one: str, other: str) -> bool:
        return not self.dead & {one, other} and frozenset((one, other)) not in self.cut


@dataclass(slots=True)
class Foreseen:
    replicas: dict[tuple[str, str], Given] = field(default_factory=dict)
    """By stream and who gives it."""
    outputs: dict[str, Given] = field(default_factory=dict)
    """As the client gets them."""


def foresee(world: World) -> Foreseen:
    found = Foreseen()
    for source in world.sources:
        gone = source in world.dead or source in world.silent
        found.replicas[source, source] = Given(Level.NOTHING if gone else Level.STABLE, frozenset(), source)
    for fragment, nodes in world.queries:
        for node in nodes:
            for output in fragment.outputs:
                got = {stream: _got(world, found, stream, node) for stream in output.reads}
                given = _given(node, got, output.required, node in world.dead)
                waits = given.level is Level.TENTATIVE and output.stream in world.unbounded
                found.replicas[output.stream, node] = replace(given, level=Level.NOTHING) if waits else given
    found.outputs = {stream: _got(world, found, stream, CLIENT) for stream in world.outputs}
    return found


def _got(world: World, found: Foreseen, stream: str, reader: str) -> Given:
    reached = [given for (one, giver), given in found.replicas.items() if one == stream and world.reach(giver, reader)]
    missing = frozenset({stream} & {*world.sources})
    best = min(reached, key=lambda given: (given.level, len(given.without)), default=Given(Level.NOTHING))
    return Given(best.level, best.without | missing) if best.level is Level.NOTHING else best


def _given(node: str, got: Mapping[str, Given], required: Collection[frozenset[str]], dead: bool) -> Given:
    gone = {stream for stream, one in got.items() if one.level is Level.NOTHING}
    without = frozenset[str]().union(*(one.without for one in got.values()))
    if dead or any(group <= gone for group in required):
        return Given(Level.NOTHING, without, node)
    tentative = any(one.level is not Level.STABLE for one in got.values())
    return Given(Level.TENTATIVE if tentative else Level.STABLE, without, node)
