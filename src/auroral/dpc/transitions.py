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


@dataclass(slots=True)
class StateTimes:
    """For how long each output was in which state, so far."""

    since: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)
    """By replica and stream, the state that it is in."""
    before: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)

    def turned(self, name: str, stream: str, state: str, now: float) -> None:
        self.before[name, stream] = self.of(name, stream, now)
        self.since[name, stream] = (state, now)

    def of(self, name: str, stream: str, now: float) -> dict[str, float]:
        found = dict(self.before.get((name, stream), {}))
        if (present := self.since.get((name, stream))) is not None:
            state, began = present
            found[state] = found.get(state, 0.0) + now - began
        return found


def _kind(event: Event) -> str:
    return type(event.message if isinstance(event, Received) else event).__name__
