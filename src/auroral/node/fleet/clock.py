"""The clock that cores live by."""

from __future__ import annotations

import time


class Clock:
    """Seconds since 1970, as they were when this process began, and steady from then on: setting the time does not move it. Between the
    lives of a process it goes on as the time does."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._ahead

    def monotonic(self, shows: float) -> float:
        """The moment, as `time.monotonic` counts, at which it shows that much."""
        return shows - self._ahead
