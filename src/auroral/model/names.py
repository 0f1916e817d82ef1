"""Names that stay unique when several organisations work together: (participant, name)."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL = "local"


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A name within a participant's name space; `local` is the participant of whoever does not say."""

    participant: str
    name: str

    def __str__(self) -> str:
        return self.name if self.participant == LOCAL else f"{self.participant}/{self.name}"
