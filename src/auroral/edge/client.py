"""What a subscriber to a stream is told, one event after the other.

The thesis' tuple types. So far there are stable rows, boundaries and the end; tentative rows, UNDO and REC_DONE
come with replicas, as further types of the same union: match on the types that you know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Insertion:
    """A stable row: it will never be taken back.

    Values are Python's: datetimes with UTC, dates, Decimals. A timestamp outside years 1 to 9999 is the number of
    its microseconds since 1970, such a date that of its days.
    """

    stime: int
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Boundary:
    """All rows below `stime` were given."""

    stime: int


@dataclass(frozen=True, slots=True)
class End:
    """Nothing follows. `complete` says whether all input had ended; otherwise the run was stopped before."""

    complete: bool


Event = Insertion | Boundary | End
