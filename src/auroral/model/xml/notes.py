"""What is wrong with a file, or odd in it, collected so that all of it can be said at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.xml.read import Element

MAX_NAME_LENGTH = 255
# A file with more problems than this has one problem, and the rest follows from it.
MAX_NOTES = 500

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?")
_FLAGS = {
    "0": False,
    "1": True,
    "false": False,
    "true": True,
    "no": False,
    "yes": True,
    "off": False,
    "on": True,
}


class Notes:
    """Errors and warnings of one file, each with the place of the element that it is about."""

    def __init__(self, file: str | None, part: str = "attribute"):
        """`part` is what the file calls a value of an element."""
        self.file, self.part = file, part
        self.exact = False
        """Whether names and expressions count as they are written."""
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def place(self, element: Element) -> Place:
        return Place(element.file or self.file, element.line, element.label)

    def error(self, element: Element, what: str, allowed: str, next_step: str) -> None:
        self.add(Problem(what, self.place(element), allowed, next_step))

    def add(self, problem: Problem) -> None:
        self.errors.append(problem)
        if len(self.errors) > MAX_NOTES:
            self.errors.append(
                Problem(
                    f"there are more than {MAX_NOTES} problems; the rest is left out",
                    Place(self.file),
                    allowed=f"{MAX_NOTES} problems at once",
                    next_step="mend the first ones, and check again",
                )
            )
            raise self.failure()

    def unknown(self, element: Element, kind: str, name: str, known: Sequence[str]) -> None:
        self.add(unknown_name(kind, name, known, self.place(element)))

    def warn(self, element: Element, what: str, allowed: str | None = None, next_step: str | None = None) -> None:
        if not self.full:
            self.warnings.append(Problem(what, self.place(element), allowed, next_step))

    @property
    def full(self) -> bool:
        """Further warnings are left out: no need to work on them."""
        return len(self.warnings) >= MAX_NOTES

    def failure(self) -> DiagramError:
        return DiagramError(_by_line(self.errors), _by_line(self.warnings))

    def name(self, element: Element, attribute: str = "name", *, fold: bool = True) -> str | None:
        """A name in an attribute; None where there is none (reported by `check_words` if one is needed).

        Rule 2: names of boxes, streams, fields, tables and views are lower-cased, but in files that say otherwise.
        """
        text = element.attributes.get(attribute)
        if text is None:
            return None
        if not self.exact:
            text = text.strip()
        if not text.strip() or len(text) > MAX_NAME_LENGTH:
            length = "is empty" if not text.strip() else f"has {len(text)} characters"
            self.error(
                element,
                f"{self.part} {attribute!r} {length}",
                f"a name of 1 to {MAX_NAME_LENGTH} characters",
                next_step=f"give {attribute!r} a name",
            )
            return None
        return text.lower() if fold and not self.exact else text

    def word(self, element: Element, attribute: str) -> str | None:
        """A name that the language has, not the user: case never counts in it."""
        found = self.name(element, attribute)
        return None if found is None else found.strip().lower()

    def folded(self, text: str) -> str:
        """A user's name as the file means it."""
        return text if self.exact else text.strip().lower()

    def whole(self, element: Element, what: str, text: str, low: int, high: int) -> int | None:
        """`text` as a whole number from `low` to `high`; else an error about `what`, and None."""
        value = int(text) if _WHOLE.fullmatch(text.strip()) else None
        if value is None or not low <= value <= high:
            self.error(element, f"{what} is {text[:60]!r}", f"a whole number from {low} to {high}", "mend the number")
            return None
        return value

    def number(self, element: Element, what: str, text: str, low: float, high: float, allowed: str) -> float | None:
        """`text` as a number from `low` to `high`: an int where it is written as one."""
        text = text.strip()
        value: float | None = None
        if _WHOLE.fullmatch(text):
            value = int(text)
        elif _NUMBER.fullmatch(text):
            value = float(text)
        if value is None or not low <= value <= high:
            self.error(element, f"{what} is {text[:60]!r}", allowed, "mend the number")
            return None
        return value

    def flag(self, element: Element, what: str, text: str) -> bool | None:
        value = _FLAGS.get(text.strip().lower())
        if value is None:
            self.error(element, f"{what} is {text[:60]!r}", "0 or 1 (or false, true)", "write 1 for yes, 0 for no")
        return value


def _by_line(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.place.line or 0)
