"""The ledger: how many rows of each stream did not go the ordinary way, and why. Never empty silence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from auroral.model.errors import AuroralError


class Reason(StrEnum):
    """Why a row did not go the ordinary way. All but MOVED are rows that no box saw."""

    MOVED = "moved"
    """Came after its bucket was closed and went into the open one, with its fields unchanged."""
    LATE = "late"
    """Came after its bucket or window was closed, and was rejected for it."""
    DROPPED = "dropped"
    """Came after its bucket was closed, and was dropped as the input says (`late=drop`)."""
    NO_STIME = "no stime"
    """The field that carries the stime is null."""
    STIME_RANGE = "stime out of range"
    """The stime is further than 2**62 microseconds from 1970."""
    FUTURE = "in the future"
    """The stime is further ahead of the clock than an input that is live allows: it would close all buckets up to it."""
    TOO_LONG = "too long"
    """A string is longer than its field's declared size."""
    REFUSED = "refused"
    """A value of the input file does not convert to its field's type, or the line is no row at all."""
    REJECTED = "rejected"
    """A box with `on_error=reject` could not work on it."""
    SHED = "shed"
    """Shed to keep up with the load."""
    AHEAD = "ahead"
    """Its event time is further ahead of its stime than the window allows; or it revises a row of a time to come."""
    UNREADABLE = "unreadable"
    """Its `revised_value` is nothing that a source may say."""
    UNMATCHED = "unmatched"
    """It revises a row that is not there, or not any more: none with its key in the kept history."""
    SUPERSEDED = "superseded"
    """A newer row of its key came in the same bucket of an update queue."""
    EXPIRED = "expired"
    """It revises a row of a time before the kept history."""

    @property
    def keeps_row(self) -> bool:
        """Whether the row is still in the stream, so that `verify` must find it among the rows used."""
        return self is Reason.MOVED


class LedgerError(AuroralError):
    """A stored ledger that cannot be read."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    stream: str
    reason: Reason
    count: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """Counts by (stream, reason). A value: `add` and `merge` give a new one."""

    entries: tuple[LedgerRow, ...] = ()

    @staticmethod
    def of(counts: Mapping[tuple[str, Reason], int]) -> Ledger:
        kept = [LedgerRow(stream, Reason(reason), count) for (stream, reason), count in counts.items() if count]
        return Ledger(tuple(sorted(kept, key=lambda row: (row.stream, row.reason))))

    def count(self, stream: str | None = None, reason: Reason | None = None) -> int:
        """The sum over a stream, a reason, both, or everything."""
        return sum(
            row.count
            for row in self.entries
            if (stream is None or row.stream == stream) and (reason is None or row.reason is reason)
        )

    def lost(self, stream: str) -> int:
        """Rows of `stream` that no box saw."""
        return sum(row.count for row in self.entries if row.stream == stream and not row.reason.keeps_row)

    def add(self, stream: str, reason: Reason, count: int = 1) -> Ledger:
        if count < 0:
            raise ValueError(f"a ledger only counts up, not by {count}")
        return self.merge(Ledger.of({(stream, reason): count}))

    def add_all(self, stream: str, counts: Mapping[Reason, int]) -> Ledger:
        return self.merge(Ledger.of({(stream, reason): count for reason, count in counts.items()})) if counts else self

    def merge(self, other: Ledger) -> Ledger:
        """The sum of both."""
        if not other.entries:
            return self
        counts = {(row.stream, row.reason): row.count for row in self.entries}
        for row in other.entries:
            counts[row.stream, row.reason] = counts.get((row.stream, row.reason), 0) + row.count
        return Ledger.of(counts)

    def rows(self) -> Iterator[LedgerRow]:
        """By stream, then reason."""
        return iter(self.entries)

    def to_json(self) -> str:
        nested: dict[str, dict[str, int]] = {}
        for row in self.entries:
            nested.setdefault(row.stream, {})[row.reason.value] = row.count
        return json.dumps(nested, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Ledger:
        try:
            nested: dict[str, dict[str, Any]] = json.loads(text)
            return Ledger.of(
                {(s, Reason(r)): int(count) for s, counts in nested.items() for r, count in counts.items()}
            )
        except (ValueError, AttributeError, TypeError) as error:
            raise LedgerError(
                f"this is not a ledger: {text[:80]!r} ({error})\n"
                f"    allowed: {{stream: {{reason: count}}}} with the reasons {', '.join(Reason)}\n"
                "    next: restore the file from a copy, or start a new run folder"
            ) from error

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __str__(self) -> str:
        return ", ".join(f"{row.stream}: {row.count} {row.reason}" for row in self.entries) or "nothing to report"
