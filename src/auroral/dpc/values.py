"""What the cores speak of: contents of buckets, versions, and what is said between cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from auroral.dpc.coverage import Coverage
from auroral.dpc.immutable import immutable
from auroral.dpc.layout import Wiring
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.versions import Decision


@immutable
class Content:
    """The rows of one bucket. The protocol looks at their number and hash alone; `rows` is for whoever runs it."""

    hash: int
    count: int
    rows: Any = field(default=None, compare=False, repr=False)

    @property
    def lost(self) -> bool:
        return self == LOST


LOST = Content(-1, 0)
"""Stands for a bucket that is lost for good, in a declared gap: final, and unknown. Hashes of rows are never negative."""


@immutable
class Snapshot:
    """The state of a fold before a bucket; None for that before the first."""

    bucket: int
    state: Content | None


@immutable
class Subscribe:
    """`number` tells this subscription from earlier ones; stable buckets are wanted from `position` on.

    Without a position: from the lowest one that was said to be needed. `tentative`: whether the subscriber holds tentative buckets
    from there on (D32).
    """

    stream: str
    number: int
    lane: Lane
    position: int | None
    tentative: bool
    gaps: bool = False
    """Whether what is not kept any more is to be left out, with a `Gap`: nobody else has it."""


@immutable
class Unsubscribe:
    stream: str
    number: int


@immutable
class Stable:
    """Final contents of the buckets from `begin` on; `held` as in `Tentative`, of each; empty where none was held back."""

    stream: str
    number: int
    begin: int
    contents: tuple[Content, ...]
    held: tuple[float, ...] = ()


@immutable
class Tentative:
    """What a bucket holds so far; `closed` where no more is to come before it is corrected.

    `held` is the longest time that anything in it was held back on its way, `coverage` what of the sources is in it.
    """

    stream: str
    number: int
    bucket: int
    content: Content
    closed: bool
    held: float
    coverage: Coverage


@immutable
class Confirm:
    """The tentative contents that were sent of these buckets are final."""

    stream: str
    number: int
    begin: int
    hashes: tuple[int, ...]


@immutable
class Gap:
    """Buckets [begin, end) are lost for good."""

    stream: str
    number: int
    begin: int
    end: int


@immutable
class Want:
    """The subscriber does not hold what was confirmed: stable buckets again from here."""

    stream: str
    number: int
    position: int


@immutable
class Ack:
    """The lowest bucket of a stream that may still be asked for, if the reader and all behind it lose everything but what the last
    of them, the clients, have (L71: any number of failures at any levels).

    `reserve` is the time that the reader and those behind it may take from a bucket to their outputs.
    """

    need: int
    reserve: float


@immutable
class Hashes:
    """Of stable buckets, one after the other."""

    begin: int
    hashes: tuple[int, ...]


@immutable
class Ping:
    """How are you? With what is still needed of the streams that are read there, and the subscriptions that are thought to hold; to
    another replica, with the hashes of new stable buckets and what a job takes here, which one that came back does not know."""

    acks: Mapping[str, Ack]
    numbers: Mapping[str, int]
    hashes: Mapping[str, Hashes] = field(default_factory=dict)
    job: float = 0.0


@immutable
class Pong:
    """`unknown`: subscriptions that the asker named and that do not hold here."""

    offers: Mapping[str, Offer]
    unknown: Mapping[str, int]


@immutable
class Ask:
    """May I correct, and will you keep answering for so many seconds?"""

    number: int
    lease: float


@immutable
class Grant:
    number: int


@immutable
class Refuse:
    number: int


@immutable
class Release:
    """What was promised is not needed any more."""


@immutable
class WantState:
    """To another replica, of one that lost everything: where can the fold of this output begin again? (D67)"""

    stream: str


@immutable
class GiveState:
    stream: str
    snapshot: Snapshot


@immutable
class Prepare:
    """Which bucket can another version of the query begin with? Do not pass it until you are told."""

    version: int
    attempt: int


@immutable
class Promise:
    version: int
    attempt: int
    bucket: int


@immutable
class Decided:
    """So far; of several, the one with the highest attempt holds."""

    decision: Decision


@immutable
class Known:
    decision: Decision


@immutable
class Rewire:
    """Who there is to talk to from now on; of several, the one with the highest number holds."""

    number: int
    wiring: Wiring


@immutable
class Rewired:
    number: int


Data = Stable | Tentative | Confirm | Gap
Message = (
    Subscribe
    | Unsubscribe
    | Data
    | Want
    | Ping
    | Pong
    | Ask
    | Grant
    | Refuse
    | Release
    | WantState
    | GiveState
    | Prepare
    | Promise
    | Decided
    | Known
    | Rewire
    | Rewired
)
