"""What is wrong with a user's input, said so that it can be mended: what, where, what is allowed, next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

_MOST_COMPARED = 200
_LONGEST_COMPARED = 100
_MOST_LISTED = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the user's input something stands: a file and line, or the step of a Python diagram."""

    file: str | None = None
    line: int | None = None
    element: str | None = None

    def __str__(self) -> str:
        position = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ", ".join(part for part in (position, self.element) if part)


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: the sentence `what`, its place, what would be `allowed`, and the `next_step`."""

    what: str
    place: Place = NOWHERE
    allowed: str | None = None
    next_step: str | None = None

    def __str__(self) -> str:
        head = f"{self.place}: {self.what}" if str(self.place) else self.what
        rest = []
        if self.allowed:
            rest.append(f"allowed: {self.allowed}")
        if self.next_step:
            rest.append(f"next: {self.next_step}")
        return "\n    ".join([head, *rest])


class AuroralError(Exception):
    """Base of every error that is about the user's input or surroundings: shown without a traceback."""


class DiagramError(AuroralError):
    """All that is wrong with a diagram, a deployment or an expression, at once.

    `warnings` are what is odd besides, as a misspelt element that was passed over: often the cause of what is wrong.
    """

    def __init__(self, problems: Iterable[Problem], warnings: Iterable[Problem] = ()):
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        odd = [f"warning: {warning}" for warning in self.warnings]
        super().__init__("\n".join([*map(str, self.problems), *odd]))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be."""
    # Names come from untrusted files: comparing every long name with thousands of others would take for ever.
    candidates = [other for other in islice(known, _MOST_COMPARED) if len(other) <= _LONGEST_COMPARED]
    if len(name) > _LONGEST_COMPARED:
        return None
    # Another case is the slightest of misspellings.
    folded = {other.casefold(): other for other in reversed(candidates)}
    matches = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def unknown_name(kind: str, name: str, known: Sequence[str], place: Place = NOWHERE) -> Problem:
    """A name that is not among the known ones: lists them and suggests the nearest."""
    suggestion = nearest(name, known)
    otherwise = "choose one of these" if known else "make one first"
    more = f", and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    return Problem(
        f"unknown {kind} {name!r}",
        place,
        allowed=", ".join(known[:_MOST_LISTED]) + more if known else f"none: there is no {kind} here",
        next_step=f"did you mean {suggestion!r}?" if suggestion else otherwise,
    )
