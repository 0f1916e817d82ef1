"""Errors of all calls in a Python file that is read for its diagrams: noted, so that the first hides none that come later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from auroral.model.errors import Place, Problem

_gathered: ContextVar[list[Problem] | None] = ContextVar("gathered", default=None)


@contextmanager
def gathering() -> Iterator[list[Problem]]:
    """Inside, steps that are refused are noted in the list, and do not raise their errors."""
    noted: list[Problem] = []
    token = _gathered.set(noted)
    try:
        yield noted
    finally:
        _gathered.reset(token)


def gathered() -> list[Problem] | None:
    """Where to note what is wrong; None where it is to be raised."""
    return _gathered.get()


@runtime_checkable
class Refusable(Protocol):
    """What has methods that give streams."""

    def refused(self, problems: Sequence[Problem], names: Sequence[str], place: Place) -> object:
        """Streams of which nothing is known, for a call that was refused: one alone, or a tuple."""


def streams_of(step: str, args: Sequence[object], kwargs: Mapping[str, object]) -> list[str]:
    """The names of the streams that a call would have given, as far as its arguments tell."""
    first = args[0] if args else kwargs.get("name", kwargs.get("stream"))
    name = first if isinstance(first, str) and first.strip() else ""
    if step == "split":
        predicates = args[1] if len(args) > 1 else kwargs.get("predicates")
        cases = len(predicates) if isinstance(predicates, Sized) and not isinstance(predicates, str) else 0
        return [f"{name}.{number}" for number in range(cases)] + [f"{name}.else"] * bool(kwargs.get("otherwise"))
    more = [f"{name}.else"] * bool(kwargs.get("otherwise")) + [f"{name}.sizes"] * bool(kwargs.get("sizes"))
    more += [f"{name}.late"] * (kwargs.get("late") == "side")
    return [name, *more]
