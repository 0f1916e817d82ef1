"""Which of three ways a message goes. Between two cores, messages of one way arrive in the order in which they were sent.

Across ways they may overtake one another, which the protocol was made for: what is tentative may be dropped at any time, a
confirmation of what was not received is answered with `Want`, and everything else about a stream is said with the number of its
subscription.
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
        case Stable() | Confirm() | Gap() | GiveState():
            return Way.CORRECT
        case _:
            return Way.CONTROL


def stream_of(message: Message) -> str:
    """What has a queue of its own: a stream, or nothing for control messages, which share one."""
    return message.stream if isinstance(message, Tentative | Stable | Confirm | Gap | GiveState) else ""
