"""Times that the protocol goes by, in seconds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

from auroral.model.errors import AuroralError

WORTH_DELAYING = 10
"""Bounds that a failure may last before delaying is given up."""
UNLIMITED = 1 << 62
"""Buckets."""


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
    ADAPT = "adapt"
    """Like DELAY until the failure has lasted ten times the bound, then like PROCESS. What delaying saves, a bound's worth of tentative
    buckets, is less than a tenth of all of them from then on (thesis 5.4.2: it saves a constant, whatever the failure lasts)."""


class WhenFull(StrEnum):
    """What happens where as many buckets are kept as may be, and none of them can be spared."""

    LOSE = "lose"
    """D71: the oldest is lost. Whoever asks for it is told of the gap; all that needs it is in the gap too, and never corrected."""
    BLOCK = "block"
    """D72: nothing new is made final until there is room, and in the end sources take nothing in."""


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
    long_replay: float = 10.0
    """P3: from a stable replica that is further ahead than so much of the stream, corrections are read, and what is new from another."""
    most_kept: int | None = None
    """Buckets of an output that are kept at most, and by which the inputs of an output may be ahead of it; None for as many as are
    needed. To be more than all windows from there to the clients take together, by as much as is to be corrected (thesis S + W); where
    full buffers block, less is refused."""
    when_full: WhenFull = WhenFull.LOSE
    snapshot_every: int = 20
    """Buckets after which the state of a fold is written down again."""
    detection: float = field(init=False, repr=False)
    """Silence for so long is a failure."""
    silence: float = field(init=False, repr=False)
    """An input that has closed no bucket for so long has failed."""
    failover: float = field(init=False, repr=False)
    """From when a replica falls silent until buckets come from another: it is noticed, asked for, and they come."""
    holds_each: bool = field(init=False, repr=False)
    """Whether there are times when each new bucket is held to the last, not only the first."""

    def __post_init__(self) -> None:
        # That a heartbeat was not answered shows when the next is due.
        unanswered = self.ping_every * (self.pings_unanswered + 1)
        object.__setattr__(self, "detection", max(2 * self.bucket, unanswered))
        object.__setattr__(self, "silence", self.bucket + self.detection)
        object.__setattr__(self, "failover", unanswered + 2 * self.hop)
        policies = (self.while_failing, self.while_correcting)
        object.__setattr__(self, "holds_each", Policy.DELAY in policies or Policy.ADAPT in policies)
        # D43: a replica must be known as failed, and another one be read, well before anything tentative is given out.
        if self.detection > self.bound / 2:
            raise WrongSettings(
                f"a failure is noticed after {self.detection:g} s (heartbeats every {self.ping_every:g} s, {self.pings_unanswered} "
                f"unanswered; buckets of {self.bucket:g} s), which is more than half of the bound of {self.bound:g} s; "
                f"next: a larger bound, shorter buckets or more frequent heartbeats"
            )
        if self.share is not None and self.share < self.detection:
            raise WrongSettings(
                f"a share of {self.share:g} s passes before a failure is noticed, after {self.detection:g} s: everything would be "
                f"given out tentatively before another replica is tried; next: a larger share, or none"
            )

    @property
    def lost_beyond(self) -> int:
        return UNLIMITED if self.most_kept is None or self.when_full is WhenFull.BLOCK else self.most_kept

    @property
    def blocked_beyond(self) -> int:
        return UNLIMITED if self.most_kept is None or self.when_full is WhenFull.LOSE else self.most_kept

    @property
    def oldest(self) -> float:
        """How old a bucket that is sent again counts as: there is time left to find out whether all replicas of an input failed."""
        return self.bound - self.detection if self.bound < float("inf") else 0.0


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user may choose besides the bound."""

    while_failing: Policy = Policy.PROCESS
    while_correcting: Policy = Policy.PROCESS
    keep: float | None = None
    """Seconds of a stream that are kept at most for those that are behind or away. Where that is full, nothing is lost: sources take no rows
    until there is room."""

    def applied(self, settings: Settings) -> Settings:
        most = None if self.keep is None else ceil(self.keep / settings.bucket)
        return replace(
            settings,
            while_failing=self.while_failing,
            while_correcting=self.while_correcting,
            most_kept=most,
            when_full=WhenFull.BLOCK,
        )


AS_USUAL = Choices()
