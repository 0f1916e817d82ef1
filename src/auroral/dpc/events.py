"""What happens to a core, and what it wants done.

Who runs a core carries its effects out in their order: what is to be kept is on disk before anything behind it is sent. Messages of a
connection reach the life of a core that the connection was opened with, in the order in which they were sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from auroral.dpc.immutable import immutable
from auroral.dpc.layout import Layout
from auroral.dpc.values import Content, Message, Snapshot
from auroral.dpc.versions import NO_CHANGE, Plan, Reading


@immutable
class Kept:
    """Stable buckets of a stream, one after the other, from `begin` on. A client's position is one without contents."""

    begin: int
    contents: tuple[Content, ...] = ()
    usually_at: tuple[float, ...] = ()
    """As in `Keep`; empty where it was not written down."""


@immutable
class Started:
    """The core begins to live, with what was kept of its earlier lives, by stream: a source's log, outputs of a replica that were
    written to disk, the first bucket that a client was not given stable."""

    kept: Mapping[str, Kept] = field(default_factory=dict)
    states: Mapping[str, Snapshot] = field(default_factory=dict)
    """The oldest snapshot that was kept of each fold."""
    plan: Plan = NO_CHANGE
    """The versions of the query that a replica knew of, and what it promised. Unlike the rest it is never lost: a node that has no
    disk, or is new, asks the catalog for it before it starts a core."""
    layout: Layout | None = None
    """What a catalog knew of who there is, and what of them."""


@immutable
class Woken:
    """A time that the core asked to be woken at has come."""


@immutable
class Received:
    sender: str
    message: Message


@immutable
class Disconnected:
    """The connection to a peer broke: what was sent last may not have come."""

    peer: str


@immutable
class Evaluated:
    """A job ended: for each output, the contents of its buckets from the job's first on."""

    job: int
    contents: Mapping[str, tuple[Content, ...]]
    states: Mapping[str, Content] = field(default_factory=dict)
    """Of each fold, behind the last bucket."""


@immutable
class Failed:
    """A job came to nothing."""

    job: int
    reason: str


@immutable
class Logged:
    """A source has logged a bucket, or a part of one that is still open."""

    bucket: int
    content: Content
    closed: bool


@immutable
class Learned:
    """To replicas of a query: what its next version reads, where that is not what the one before it does. It comes before anybody speaks of
    the version; a core that is started later is made with it. Folds go on with what they read."""

    version: int
    outputs: Mapping[str, Reading]
    """Those outputs that read something else."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of inputs that were not read before, what they are computed from in the end."""


@immutable
class Propose:
    """Somebody wants another version of a query."""

    query: str
    inputs: tuple[str, ...] = ()
    """What it reads that the query did not read before."""


@immutable
class MoveTo:
    """Somebody wants a replica of a query to be elsewhere: `comes` is to take the place of `leaves`."""

    query: str
    leaves: str
    comes: str


@immutable
class GiveUp:
    """The move or change of a query that is under way is not wanted any more. Refused where it is over, or still waits for its turn."""

    query: str


Event = Started | Woken | Received | Disconnected | Evaluated | Failed | Logged | Learned | Propose | MoveTo | GiveUp


@immutable
class Send:
    to: str
    message: Message


@immutable
class WakeAt:
    """Takes the place of the time that was asked for before."""

    time: float


@immutable
class Evaluate:
    """Evaluate `outputs` for buckets [begin, end). `view` gives the contents to read of each input, by bucket; what is missing
    there counts as missing, not as empty."""

    job: int
    outputs: tuple[str, ...]
    begin: int
    end: int
    view: Mapping[str, Mapping[int, Content]]
    tentative: bool
    version: int = 0
    """Of the query."""
    states: Mapping[str, Snapshot] = field(default_factory=dict)
    """What each fold begins with: at or before `begin`. What lies between is folded too, without output."""


@immutable
class Cancel:
    """The job is not needed any more; its result may come all the same."""

    job: int


@immutable
class Keep:
    """To disk, where there is one: the next stable buckets of an output. If they do not follow what was kept before, they take its
    place."""

    stream: str
    begin: int
    contents: tuple[Content, ...]
    usually_at: tuple[float, ...]
    """When each of them came, or would have come if nothing had held it up: a core that is back soon does not take for old what its
    last life wrote down just now. So the clock of whoever runs a core goes on between its lives."""


@immutable
class KeepPlan:
    """To disk, or to the catalog, before what follows is sent."""

    plan: Plan


@immutable
class Changed:
    """To whoever wanted it: the version of the query holds from this bucket on."""

    query: str
    version: int
    at: int


@immutable
class KeepLayout:
    """To the catalog, before what follows is sent. Replicas that it says are running, and do not, are started with what it says of whom
    they talk to, recovering; others are stopped, and what they kept is thrown away: if they are ever started again, they are new."""

    layout: Layout


@immutable
class Moved:
    """To whoever wanted it: the query runs where it was to go, by the layout of this number."""

    number: int


@immutable
class SaveState:
    """To disk, where there is one: a snapshot of a fold's stable state."""

    stream: str
    snapshot: Snapshot


@immutable
class DropStates:
    """Snapshots before this bucket are not needed any more."""

    stream: str
    below: int


@immutable
class Truncate:
    """Buckets of the stream before this one are not needed any more."""

    stream: str
    below: int


@immutable
class Deliver:
    """To the client: a version of a bucket, replacing earlier ones of it."""

    stream: str
    bucket: int
    content: Content
    stable: bool


@immutable
class Miss:
    """To the client: buckets [begin, end) are lost for good. Tentative versions of them that were delivered are all that there will be."""

    stream: str
    begin: int
    end: int


@immutable
class Interrupt:
    """To the client: another failure ended the corrections of the stream; what is tentative from now on is of that one (D56)."""

    stream: str


@immutable
class Pause:
    """To whoever fills the log of a source: take nothing in, or, not `paused`, go on."""

    stream: str
    paused: bool


@immutable
class Report:
    """Something that people should know of, counted by its kind."""

    kind: str
    stream: str
    count: int = 1
    detail: str = ""


Effect = (
    Send
    | WakeAt
    | Evaluate
    | Cancel
    | Keep
    | KeepPlan
    | KeepLayout
    | Moved
    | SaveState
    | DropStates
    | Truncate
    | Deliver
    | Miss
    | Interrupt
    | Pause
    | Changed
    | Report
)
