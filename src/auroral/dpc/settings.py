"""Times that the protocol goes by, in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from auroral.model.errors import AuroralError


class WrongSettings(AuroralError):
    """Settings that contradict one another."""


class Policy(StrEnum):
    """What is done with new buckets that are not stable (D41)."""

    SUSPEND = "suspend"
    """They wait until they are."""
    DELAY = "delay"
    """Each is held as long as the bound allows."""
    PROCESS = "process"
    """The first is held as long as the bound allows; those after it come at once."""


@dataclass(frozen=True, slots=True)
class Settings:
    bucket: float
    """B: how much stream time a bucket holds."""
    bound: float
    """X: how much later than without failures an output may come."""
    ping_every: float = 0.1
    """P2."""
    pings_unanswered: int = 3
    """P1: more than so many, and a replica counts as failed."""
    hop: float = 0.02
    """What a message may take from one node to the next."""
    while_failing: Policy = Policy.PROCESS
    while_correcting: Policy = Policy.PROCESS
    share: float | None = None
    """D42: at most so long a node holds a bucket; None, the default, for as long as the bound allows."""

    def __post_init__(self) -> None:
        # D43: a replica must be known as failed, and another one be read, well before anything tentative is given out.
        if not self.detection < self.bound / 2:
            raise WrongSettings(
                f"a failure is noticed after {self.detection:g} s (heartbeats every {self.ping_every:g} s, {self.pings_unanswered} "
                f"unanswered; buckets of {self.bucket:g} s), which is not below half of the bound of {self.bound:g} s; "
                f"next: a larger bound, shorter buckets or more frequent heartbeats"
            )

    @property
    def detection(self) -> float:
        """Silence for so long is a failure."""
        return max(2 * self.bucket, self.ping_every * self.pings_unanswered)

    @property
    def oldest(self) -> float:
        """How old a bucket that is sent again counts as: there is time left to find out whether all replicas of an input failed."""
        return self.bound - self.detection
