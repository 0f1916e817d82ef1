"""Names that stay unique when several organisations work together: (participant, name)."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL = "local"


def has_control_characters(name: str) -> bool:
    """Such names are refused: nobody can read them in a message, and they are no names in SQL."""
    return any(character < " " or character == "\x7f" for character in name)


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A name within a participant's name space; `local` is the participant of whoever does not say."""

    participant: str
    name: str

    def __str__(self) -> str:
        return self.name if self.participant == LOCAL else f"{self.participant}/{self.name}"
