"""The changes of state that the outputs of replicas go through: from which, by what kind of event, to which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.dpc.events import Event, Received
from auroral.dpc.replica import Replica

RECOVERING = "RECOVERING"
"""It is mute until it is right, whatever state it would be in."""
UNBORN = ""


@dataclass(frozen=True, slots=True)
class Transition:
    stream: str
    before: str
    by: str
    after: str


@dataclass(slots=True)
class Transitions:
    """Shown every event that a replica has handled."""

    states: dict[tuple[str, str], str] = field(default_factory=dict)
    """By replica and stream."""

    def of(self, name: str, replica: Replica, event: Event) -> Iterator[Transition]:
        for stream, union in replica.unions.items():
            state = RECOVERING if replica.recovering else str(union.noted)
            before = self.states.get((name, stream), UNBORN)
            if state != before:
                self.states[name, stream] = state
                yield Transition(stream, before, _kind(event), state)


def _kind(event: Event) -> str:
    return type(event.message if isinstance(event, Received) else event).__name__
