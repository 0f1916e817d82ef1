"""How a step says what a join keeps of its sides."""

from __future__ import annotations

from enum import StrEnum

from auroral.model import arguments as given
from auroral.model.boxes.join import JoinBuffer
from auroral.model.duration import UNITS
from auroral.model.errors import Place


class Looking(StrEnum):
    BOTH = "both"
    LEFT = "left"
    RIGHT = "right"


def buffers(within: object, rows: object, place: Place) -> tuple[JoinBuffer, JoinBuffer]:
    """Each side has a length of time or a number of rows."""
    lengths, counts = _two("within", within, place), _two("rows", rows, place)
    found = []
    for side, length, count in zip(("left", "right"), lengths, counts, strict=True):
        if (length is None) == (count is None):
            given.refuse(
                f"the {side} side has {'neither' if length is None else 'both'} a length of time and a number of rows",
                place,
                "one of them for each side",
                next_step='write within="5s", or rows=100, or of two sides within=("5s", None), rows=(None, 100)',
            )
        if count is not None:
            found.append(JoinBuffer(given.count("rows", count, place), tuples=True))
        else:
            found.append(JoinBuffer(given.duration("within", length, place)))
    return found[0], found[1]


def seconds(what: str, length: object, place: Place) -> float | None:
    return None if length is None else given.duration(what, length, place) / UNITS["s"]


def _two(what: str, both: object, place: Place) -> tuple[object, object]:
    if not isinstance(both, tuple):
        return both, both
    if len(both) != 2:
        example = {"within": '"5s" or within=("5s", "0s")', "rows": "100 or rows=(100, 1)"}[what]
        given.refuse(
            f"{what}={both!r}", place, "one for both sides, or two: (left, right)", next_step=f"write {what}={example}"
        )
    return both
