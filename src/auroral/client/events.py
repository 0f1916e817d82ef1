"""What a subscriber is told: of which stretch of time, and its rows, which take the place of whatever was told of it before.

Rows are Arrow tables, with the stime (microseconds since 1970) first. Whoever minds `Stable` alone, with its subclasses, sees exactly what a
run without failures gives: every row once, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Stable:
    """All rows with lo <= stime < hi, for good. Each begins where the last ended."""

    stream: str
    lo: int
    hi: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Confirmed(Stable):
    """A bucket that was told tentatively, with the same rows."""


@dataclass(frozen=True, slots=True)
class Corrected(Stable):
    """A bucket that was told tentatively, with other rows."""


@dataclass(frozen=True, slots=True)
class Tentative:
    """The rows of a bucket as far as they are known: something is missing. Another version may follow, and what is stable will."""

    stream: str
    lo: int
    hi: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Gap:
    """Lost for good, in a gap that the deployment allows: there will be no rows of it."""

    stream: str
    lo: int
    hi: int


Event = Stable | Tentative | Gap
