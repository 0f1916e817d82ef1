"""Names that stay unique when several organisations work together: (participant, name)."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.model.errors import NOWHERE, Place, Problem

LOCAL = "local"


def unprintable(kind: str, name: str, place: Place = NOWHERE) -> list[Problem]:
    """A name with control characters is refused: nobody can read it in a message, and it is no name in SQL."""
    if not any(character < " " or character == "\x7f" for character in name):
        return []
    what = f"{kind} name {name!r} has control characters"
    return [Problem(what, place, "printable names", "leave these characters out of the name")]


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A name within a participant's name space; `local` is the participant of whoever does not say."""

    participant: str
    name: str

    def __str__(self) -> str:
        return self.name if self.participant == LOCAL else f"{self.participant}/{self.name}"
