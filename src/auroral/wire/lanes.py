"""Which of three ways a message goes. Between two cores, messages of one way arrive in the order in which they were sent.

Across ways, control overtakes frames, and is never overtaken by a frame that was sent later. Streams overtake one another. So do the
two lanes of a stream, but only where a reader does not keep up with what is stable: then what is tentative does not wait for it. The
protocol allows for that (`tests/wire/test_overtaking.py` simulates it): a confirmation of what did not come is answered with `Want`, and
everything about a stream is said with the number of its subscription.
"""

from __future__ import annotations

from enum import StrEnum

from auroral.dpc.values import Confirm, Gap, GiveState, Message, Stable, Tentative


class Way(StrEnum):
    CONTROL = "control"
    """Heartbeats, subscriptions, moves: before everything else."""
    FRESH = "fresh"
    """Tentative frames. Never pushes back: the oldest are dropped, and counted."""
    CORRECT = "correct"
    """Stable frames, and what takes their place. Pushes back, loses nothing."""


WEIGHTS = {Way.FRESH: 3.0, Way.CORRECT: 1.0}
"""Shares of a connection while there is more to send than goes through (L66). What is new is small and worth something only now; what is
corrected can be much, and may take its time."""


def way_of(message: Message) -> Way:
    match message:
        case Tentative():
            return Way.FRESH
        case Stable(contents=()):
            # It tells a reader that lost everything where to begin: what is tentative is not understood before it.
            return Way.CONTROL
        case Stable() | Confirm() | Gap() | GiveState():
            return Way.CORRECT
        case _:
            return Way.CONTROL


def stream_of(message: Message) -> str:
    """What has a queue of its own: a stream, or nothing for control messages, which share one."""
    if way_of(message) is Way.CONTROL:
        return ""
    assert isinstance(message, Tentative | Stable | Confirm | Gap | GiveState)
    return message.stream
