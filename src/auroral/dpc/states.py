"""The states that a stream of a replica is advertised in."""

from __future__ import annotations

from enum import IntEnum


class State(IntEnum):
    """Better states come first: the worse of two is their maximum."""

    STABLE = 0
    """Its stable buckets are up to date."""
    UP_FAILURE = 1
    """Something before it failed: what is new is tentative."""
    STABILIZATION = 2
    """It corrects what was tentative."""
    FAILURE = 3
    """It is not reached, or blocked."""

    def __str__(self) -> str:
        return self.name
