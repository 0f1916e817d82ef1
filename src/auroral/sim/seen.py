"""What is seen of a run: what the client was given, what replicas said and did, and how all stood at every moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from auroral.dpc.coverage import Coverage
from auroral.dpc.events import (
    Report,
)
from auroral.dpc.settings import UNLIMITED
from auroral.dpc.values import Content
from auroral.dpc.versions import Plan
from auroral.sim.lineage import Made
from auroral.sim.scenario import Scenario
from auroral.sim.stage import Stage

MUTE = 5.0
"""Seconds in which a replica that came back must have spoken again."""
FOUND = 0.5
"""Seconds in which two that have been told to be apart find each other again."""
LEASE = 6.0
"""Seconds after which a promise has ended that was made just before two lost sight of each other."""
NEVER = float("inf")
EVERY = 0.5
"""Seconds between two looks at everything."""
FULL = "lost from a full buffer"
"""What is reported of that."""


class Delivery(NamedTuple):
    at: float
    bucket: int
    content: Content
    stable: bool


class Given(NamedTuple):
    """A tentative bucket, as a replica or a source sent it, and the gaps that it truly has; None if it is no result for this bucket."""

    at: float
    core: str
    stream: str
    bucket: int
    coverage: Coverage
    gaps: Mapping[tuple[str, int], int] | None


class Outlet(NamedTuple):
    frontier: int
    kept_from: int
    kept: int
    readers: tuple[str, ...]
    """Who may read it."""


class Port(NamedTuple):
    frontier: int
    lowest: int
    """The first bucket that is still held."""
    needed: int
    """The first that the reader may read again, for what it has not given out for good."""
    wanted: int
    """The first that may be asked of the producers, for itself or who reads from it."""
    producers: tuple[str, ...]
    held: int
    """Stable buckets from the first needed one on; those before are forgotten with the next heartbeat."""
    guessed: int
    """Tentative ones."""
    window: int
    """Those of them that are read for the next bucket of its outputs besides the newest."""


@dataclass(slots=True)
class Moment:
    at: float
    links: dict[tuple[str, str], float]
    """Producer and reader that live and reach one another: since when."""
    living: dict[str, float]
    """Since when each core must have been of use: some time after it came back."""
    giving: dict[str, float]
    """Since when each source has given rows."""
    closing: dict[str, float]
    """Since when each source has given whole buckets."""
    mute: frozenset[str]
    """Replicas that came back and may still be silent."""
    free: dict[str, float]
    """Since when each replica has not been held up by what it promised, by full buffers, by jobs that fail one after the other, or without
    the state of a fold."""
    outlets: dict[tuple[str, str], Outlet]
    ports: dict[tuple[str, str], Port]
    waiting: frozenset[str]
    """Replicas that have something to correct, and wait for their turn."""
    correcting: frozenset[str]
    """Replicas that do so, and cannot answer in time meanwhile."""
    unread: frozenset[tuple[str, str]]
    """Replicas and their outputs that nobody is to read for what is new, as they say that they correct and do not answer meanwhile."""


class Tree(NamedTuple):
    """What could come to the client at a moment."""

    at: float
    stable_since: float | None
    """Since when one and the same tree with all sources has led to it."""
    anything: bool
    """Whether it could be given something, be it tentative."""


class Spoke(NamedTuple):
    """A replica that came back, when it first answered again: how far it was, and how far it should have been."""

    at: float
    core: str
    stream: str
    frontier: int
    expected: int
    kept_from: int
    asked_for: int
    """The lowest bucket that one of its readers is at."""


class Final(NamedTuple):
    """A bucket that a replica made stable, and what it truly was made from; None for what nobody made, as what is lost."""

    at: float
    bucket: int
    content: Content
    made: Made | None
    owned: bool = True
    """Whether the replica was one of those that run the query then."""
    limit: int = UNLIMITED
    """The first bucket that it had promised not to make stable yet."""


class Planned(NamedTuple):
    """What a replica wrote down of the versions of its query, and what it had written before."""

    at: float
    core: str
    before: Plan
    plan: Plan


class Dropped(NamedTuple):
    """What a source or a replica lost from a full buffer: all before this bucket."""

    at: float
    core: str
    stream: str
    below: int
    frontier: int


class Correction(NamedTuple):
    """A job of a replica that makes tentative buckets final."""

    begin: float
    end: float
    core: str
    fresh: bool
    """Whether it can answer in time all the same."""
    promised_by: frozenset[str] = frozenset()
    """Replicas whose promise to answer meanwhile held when it began."""
    promises: frozenset[str] = frozenset()
    """Replicas that it had promised so itself, as long as that held."""


@dataclass(slots=True)
class Run:
    stage: Stage
    expected: dict[str, list[Content]]
    usual: dict[str, float]
    """How long after its end a bucket comes, without failures."""
    deliveries: dict[str, list[Delivery]] = field(default_factory=dict)
    interruptions: dict[str, set[int]] = field(default_factory=dict)
    """Before which deliveries of a stream another failure ended its corrections."""
    given: list[Given] = field(default_factory=list)
    wrong_views: list[tuple[float, str, str, int]] = field(default_factory=list)
    """When, who, and which bucket of which input was read in no version that it ever had."""
    spoke: list[Spoke] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    wrong_grants: list[tuple[float, str, str]] = field(default_factory=list)
    """When, and who promised whom to answer in its place, and was correcting itself."""
    reports: list[tuple[float, str, Report]] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    trees: dict[str, list[Tree]] = field(default_factory=dict)
    """Of each output, what the oracle says of each moment."""
    finals: dict[tuple[str, int, str], list[Final]] = field(default_factory=dict)
    """By core, life and output, in the order in which they were made stable."""
    plans: list[Planned] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    pauses: list[tuple[float, str, int]] = field(default_factory=list)
    """When which source took nothing more in, and how many buckets it kept."""
    broken: list[str] = field(default_factory=list)
    """What was found broken as it went, each with the name of its invariant."""

    @property
    def scenario(self) -> Scenario:
        return self.stage.scenario

    @property
    def now(self) -> float:
        return self.stage.world.now
