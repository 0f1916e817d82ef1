"""The arguments of the Python API, checked where they are given, so that errors are at the user's line."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import wraps
from typing import Never, ParamSpec, TypeVar, cast

from auroral.model.boxes.base import Source
from auroral.model.duration import UNITS, Duration, microseconds
from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.expression import SqlExpression
from auroral.model.gathering import Refusable, gathered, streams_of
from auroral.model.on_error import OnError
from auroral.model.schema import Schema, SchemaLike, schema

E = TypeVar("E", bound=StrEnum)
P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def user_place(element: str) -> Place:
    """The file and line of the user's call: the first frame that is not Auroral's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno, element)


def refuse(what: str, place: Place, allowed: str, next_step: str) -> Never:
    raise DiagramError([Problem(what, place, allowed, next_step)])


def whole_call(step: Callable[P, R]) -> Callable[P, R]:
    """For methods that users call: an argument that is missing, or that nobody knows, is an error as every other is.

    While the errors of a file are gathered, a step that is refused gives streams of which nothing is known, and the program goes on.
    """
    signature = inspect.signature(step)
    plain = [part.replace(annotation=part.empty) for part in signature.parameters.values()]
    makes_streams = "Stream" in str(signature.return_annotation)

    @wraps(step)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            check_call(*args, **kwargs)
            return step(*args, **kwargs)
        except DiagramError as error:
            noted, owner = gathered(), args[0] if args else None
            if noted is None or not makes_streams or not isinstance(owner, Refusable):
                raise
            noted += error.problems
            names = streams_of(step.__name__, args[1:], kwargs)
            # The declared result is a stream, or a tuple of them.
            return cast(R, owner.refused(error.problems, names, user_place(step.__name__)))

    def check_call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            shown = str(inspect.Signature(plain)).replace("(self, ", "(", 1)
            refuse(
                f"{step.__name__}: {error}",
                user_place(step.__name__),
                allowed=f"{step.__name__}{shown}",
                next_step="give what is missing; the first argument is a name, and what stands behind the * goes by its name",
            )

    return called


def name_of(kind: str, given: object) -> str:
    """A name that the user chose for a step, a stream or a query."""
    if isinstance(given, str) and given.strip():
        return given
    return refuse(
        f"the {kind}'s name is {given!r}",
        user_place(kind),
        allowed="a string that is not empty",
        next_step=f"the first argument is the {kind}'s name",
    )


def text(what: str, given: object, place: Place, allowed: str = "a string") -> str:
    if isinstance(given, str):
        return given
    return refuse(f"{what} is {given!r}", place, allowed, next_step=f'write {what}="..."')


def optional_text(what: str, given: object, place: Place, allowed: str = "a string") -> str | None:
    return None if given is None else text(what, given, place, allowed)


def duration(what: str, given: object, place: Place) -> int:
    """A length of time in microseconds, 0 or more."""
    try:
        length = microseconds(given) if isinstance(given, str | timedelta) else None
    except ValueError:
        length = None
    if length is not None and length >= 0:
        return length
    return refuse(
        f"{what}={given!r} is not a length of time",
        place,
        allowed=f"a number with a unit of {', '.join(UNITS)}, or a timedelta",
        next_step="write for example '500ms' or '10s'",
    )


def optional_duration(what: str, given: Duration | None, place: Place) -> int | None:
    return None if given is None else duration(what, given, place)


def instant(what: str, given: object, place: Place) -> int | None:
    """A point of stime in microseconds: a datetime with a time zone, or the number itself."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    if isinstance(given, datetime) and given.tzinfo is not None:
        return (given - _EPOCH) // timedelta(microseconds=1)
    return refuse(
        f"{what}={given!r} is not a point in time",
        place,
        allowed="a datetime with a time zone, or microseconds since 1970 as an int",
        next_step="write for example datetime(2026, 1, 31, tzinfo=UTC)",
    )


def choice(what: str, given: object, options: type[E], place: Place) -> E:
    """The option of that name; `options` are strings to the user."""
    known = [option.value for option in options]
    if isinstance(given, str) and given in known:
        return options(given)
    problem = unknown_name(what, str(given), known, place)
    raise DiagramError([problem])


def stop_only(step: str, given: object, why: str, place: Place) -> None:
    """`on_error` of a step that cannot tell which row is at fault."""
    if choice("on_error", given, OnError, place) is not OnError.STOP:
        refuse(
            f"{step} cannot have on_error={given!r}: {why}",
            place,
            allowed="on_error='stop'",
            next_step="find such rows in a filter or map with on_error='reject' before it",
        )


def count(what: str, given: object, place: Place) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return refuse(f"{what}={given!r} is no number of things", place, "a whole number", f"write for example {what}=2")


def optional_count(what: str, given: object, place: Place) -> int | None:
    return None if given is None else count(what, given, place)


def fields(what: str, given: object, place: Place, kind: str = "field names") -> tuple[str, ...]:
    """Names; one name alone is a mistake that Python would read as its letters."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        names = tuple(given)
        if all(isinstance(name, str) for name in names):
            return names
    return refuse(
        f"{what}={given!r} is not a list of {kind}",
        place,
        allowed="a list of strings",
        next_step=f"write {what}=[{given!r}]" if isinstance(given, str) else f'write for example {what}=["host"]',
    )


def expression(what: str, given: object, place: Place) -> Source:
    if isinstance(given, str | SqlExpression):
        return given
    return refuse(
        f"{what} is {given!r}",
        place,
        allowed="an expression as a string, or Spark SQL as sql('...', 'type')",
        next_step='write it in quotes, for example "price > 10.0"',
    )


def columns(what: str, given: object, place: Place) -> tuple[tuple[str, Source], ...]:
    """A dict of output fields to expressions, as pairs."""
    if not isinstance(given, Mapping):
        return refuse(
            f"{what} are {given!r}",
            place,
            allowed="a dict of output fields to expressions",
            next_step="write for example {'kb': 'bytes / 1024'}",
        )
    return tuple(
        (text(f"a field of {what}", name, place), expression(f"{what}[{name!r}]", source, place))
        for name, source in given.items()
    )


def names(what: str, given: object, place: Place, of: str) -> tuple[tuple[str, str], ...]:
    """A dict of output fields to names, as pairs."""
    if isinstance(given, Mapping) and all(isinstance(part, str) for pair in given.items() for part in pair):
        return tuple(given.items())
    return refuse(
        f"{what} are {given!r}",
        place,
        allowed=f"a dict of output fields to {of}",
        next_step="write for example {'celsius': 'degrees'}",
    )


def calls(given: object, place: Place) -> tuple[tuple[str, str], ...]:
    """A dict of output fields to calls of aggregate functions, as pairs."""
    if not isinstance(given, Mapping):
        return refuse(
            f"functions are {given!r}",
            place,
            allowed="a dict of output fields to aggregate functions",
            next_step="write for example {'n': 'count()', 'kb': 'sum(kb)'}",
        )
    allowed = "a call such as 'sum(bytes)'"
    return tuple(
        (text("a field of functions", name, place), text(f"functions[{name!r}]", call, place, allowed))
        for name, call in given.items()
    )


def number(what: str, given: object, place: Place) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    return refuse(f"{what} is {given!r}", place, allowed="a number", next_step=f"write for example {what}=0.5")


def schema_of(given: SchemaLike, place: Place) -> Schema:
    """A schema, with the place of the call on everything that is wrong with it."""
    try:
        return schema(given)
    except DiagramError as error:
        raise DiagramError(replace(problem, place=place) for problem in error.problems) from None
