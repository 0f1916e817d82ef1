"""The names in a diagram: every stream has one producer, every box and query a name of its own."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.model.diagram import Diagram
from auroral.model.errors import Place, Problem
from auroral.model.names import unprintable


def name_problems(diagram: Diagram) -> Iterator[Problem]:
    producers: dict[str, Place] = {}
    for stream, place in produced(diagram):
        if stream in producers:
            yield Problem(
                f"stream {stream!r} is produced twice, also by {producers[stream]}",
                place,
                allowed="one producer for each stream",
                next_step="give each stream one producer; merge with a union",
            )
        yield from _odd_name("stream", stream, place)
        producers.setdefault(stream, place)
    for kind, names in (
        ("box", [(b.name, b.place) for b in diagram.boxes]),
        ("query", [(q.name, Place()) for q in diagram.queries]),
    ):
        seen: set[str] = set()
        for name, place in names:
            yield from _odd_name(kind, name, place)
            if name in seen:
                yield Problem(
                    f"{kind} name {name!r} is used twice",
                    place,
                    allowed="names that are unique in a diagram",
                    next_step="give one of the two another name",
                )
            seen.add(name)


def produced(diagram: Diagram) -> Iterator[tuple[str, Place]]:
    """Every stream, with the place of what makes it."""
    for given in diagram.inputs:
        yield given.stream, placed(given.place, f"input {given.stream!r}")
    for box in diagram.boxes:
        for stream in box.outputs:
            yield stream, placed(box.place, f"box {box.name!r}")


def placed(place: Place, element: str) -> Place:
    """Where it stands; for a diagram made without places, at least which part of it."""
    return place if str(place) else Place(element=element)


def _odd_name(kind: str, name: str, place: Place) -> Iterator[Problem]:
    yield from unprintable(kind, name, place)
    if "@" in name and kind != "query":
        # Steps of a stream or box are called `x@past`, `x@slices` and the like.
        yield Problem(f"{kind} name {name!r} has an @", place, allowed="names without it", next_step="rename it")
