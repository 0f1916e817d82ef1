"""Revisions: how a source says that it corrects a row, and how corrections of results are marked.

Both are texts in one field of the row, `revised_value`; it is empty in a row that revises nothing. A source writes `delete` (of the row with the
key of this one), `replace` (that row, by this one), either with the stime of the row behind it where the key alone does not name it, or
`insert STIME` (a row that was left out). In a stream of which rows may be revised, a row with `delete STIME` takes back a row that
has the same fields and that stime, and one with `insert STIME` belongs to that stime though it comes later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

REVISED = "revised_value"
DELETE, REPLACE, INSERT = "delete", "replace", "insert"

UNREADABLE, UNMATCHED, EXPIRED, AHEAD = "unreadable", "unmatched", "expired", "ahead"
"""Why a revision changes nothing, as the ledger has it."""

SAID = "(delete|replace)( -?[0-9]{1,18})?|insert -?[0-9]{1,18}"
"""What a source may write."""
_SAID = re.compile(SAID)

Named = TypeVar("Named", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Said:
    """What a source says with a row. `at` is the stime of the row that it is about, where it is given."""

    word: str
    at: int | None = None


def said(text: str | None) -> Said | None:
    """None where it cannot be understood."""
    if not text:
        return Said("")
    if _SAID.fullmatch(text) is None:
        return None
    word, _, at = text.partition(" ")
    return Said(word, int(at) if at else None)


def mark(sign: int, at: int) -> str:
    """Of a row that comes later than the stime that it belongs to. Both words are of one length, so that the stime begins at one place."""
    return f"{INSERT if sign > 0 else DELETE} {at}"


TIME_FROM = len(mark(1, 0))
"""Where the stime begins in a mark, counted from 1."""


def stime_of(marked: str | None, stime: int) -> int:
    """The stime that a row belongs to, of one that came at `stime`."""
    return stime if not marked else int(marked[TIME_FROM - 1 :])


def sign_of(marked: str | None) -> int:
    """Whether a row adds or takes away."""
    return -1 if marked and marked.startswith(DELETE) else 1


def whole_buckets(past: int, bucket: int) -> int:
    """How much of the past a box reads that gives its changes at the end of a bucket, so that it sees buckets whole: what came in one may
    belong to a later stime in it."""
    return -(-past // bucket) * bucket


def net(changes: Iterable[tuple[Named, int]]) -> Counter[Named]:
    """What is left of additions and removals: how many of each, below 0 where more were taken away."""
    left: Counter[Named] = Counter()
    for named, sign in changes:
        left[named] += sign
    return Counter({named: count for named, count in left.items() if count})
