"""What `keep` is given, as a connection point."""

from __future__ import annotations

from auroral.model import arguments as given
from auroral.model.diagram import ConnectionPointView
from auroral.model.duration import Duration
from auroral.model.errors import Place
from auroral.model.history import STIME_ORDER


def view_of(
    name: str,
    stream: str,
    rows: int | None,
    last: Duration | int | None,
    by: str | None,
    radius: Duration | int | None,
    place: Place,
) -> ConnectionPointView:
    if rows is not None and last is not None:
        given.refuse("both rows and last are given", place, "one of them, or neither to keep all", "leave one out")
    if by is not None and last is None:
        given.refuse("by is given without last", place, "by with last", "say how much is kept, or leave by out")
    order = given.optional_text("by", by, place, "the name of a field, or None for the stime")
    around = None if radius is None else _length("radius", radius, place, by_rows=last is None, by=by)
    if last is None:
        size = None if rows is None else _at_least("rows", given.count("rows", rows, place), 1, place)
        return ConnectionPointView(name, stream, None, size, radius=around, place=place)
    span = _length("last", last, place, by_rows=False, by=by)
    return ConnectionPointView(name, stream, order or STIME_ORDER, None, -span, 0, around, place=place)


def _length(what: str, value: Duration | int, place: Place, *, by_rows: bool, by: str | None) -> int:
    """A number of rows, or of what a field counts; or a length of time, in microseconds: of the stime that alone, as anywhere else."""
    if by_rows or (by is not None and isinstance(value, int) and not isinstance(value, bool)):
        return _at_least(what, given.count(what, value, place), 0, place)
    return given.duration(what, value, place)


def _at_least(what: str, value: int, least: int, place: Place) -> int:
    if value < least:
        given.refuse(f"{what}={value}", place, f"{least} or more", f"leave {what} out, or give a larger number")
    return value
