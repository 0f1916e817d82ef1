"""What whoever reads an output asks for, and what it is told: a ticket there, record batches with a few words each back.

A delivery is all rows of [lo, hi), of one bucket or of several that follow one another; it takes the place of whatever was told of them before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pyarrow as pa

from auroral.wire.errors import WireError
from auroral.wire.fields import flag, number, one_of, text, wrong

VERSION = 1
TOKEN_HEADER = "authorization"
OUTPUTS = "outputs"
"""The action that tells which outputs there are."""
BEAT = 1.0
"""Seconds. Who reads hears something that often, so that either side notices when the other is gone."""
MOST_SHOWN = 65_536
"""Tentative buckets that a ticket may name: hours of a failure."""
_MOST_BATCH = 65_536
_MOST_WORDS = 8 << 20
"""Bytes: a ticket that names so many buckets has less."""
_MOST_STIME = 2**62


class Kind(StrEnum):
    STABLE = "stable"
    CONFIRMED = "confirmed"
    """Stable, and the same as was told tentatively."""
    CORRECTED = "corrected"
    """Stable, and other than was told tentatively."""
    TENTATIVE = "tentative"
    GAP = "gap"
    """Lost for good: there will be no rows of it."""
    ALIVE = "alive"
    """No delivery: nothing is new."""

    @property
    def is_stable(self) -> bool:
        return self in (Kind.STABLE, Kind.CONFIRMED, Kind.CORRECTED)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Rows have their stime first, then the fields, in the order that outputs have. A digest tells tentative rows from others."""

    kind: Kind
    lo: int
    hi: int
    rows: pa.Table
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """`since` is the stime from which on, None for all there is. Without `follow` the answer ends when everything that is there was told.
    `shown` says which tentative buckets were told before, by their begin, with their digests."""

    stream: str
    since: int | None = None
    tentative: bool = True
    follow: bool = True
    shown: Mapping[int, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        said = {
            "version": VERSION,
            "stream": self.stream,
            "since": self.since,
            "tentative": self.tentative,
            "follow": self.follow,
            "shown": [[lo, digest] for lo, digest in self.shown.items()],
        }
        return json.dumps(said).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Asked:
        said = _object(data, "ticket")
        since = said.get("since")
        shown = said.get("shown", [])
        if type(shown) is not list or len(shown) > MOST_SHOWN:
            raise wrong(shown, "ticket, shown", f"a list of at most {MOST_SHOWN} pairs of a stime and a digest")
        return Asked(
            text(said.get("stream"), "ticket, stream"),
            None if since is None else _stime(since, "ticket, since"),
            flag(said.get("tentative", True), "ticket, tentative"),
            flag(said.get("follow", True), "ticket, follow"),
            dict(_pair(one) for one in shown),
        )


@dataclass(frozen=True, slots=True)
class Told:
    """Of one record batch. A delivery may take several: all but the last have `more`. `dropped` counts the tentative deliveries that were
    left out so far, since something newer was there by the time that they could be told."""

    kind: Kind
    lo: int
    hi: int
    digest: str = ""
    more: bool = False
    dropped: int = 0

    def to_bytes(self) -> bytes:
        said = {"version": VERSION, "kind": self.kind, "lo": self.lo, "hi": self.hi, "digest": self.digest}
        return json.dumps({**said, "more": self.more, "dropped": self.dropped}).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Told:
        said = _object(data, "answer")
        digest = said.get("digest", "")
        return Told(
            _kind(said.get("kind"), "answer, kind"),
            _stime(said.get("lo"), "answer, lo"),
            _stime(said.get("hi"), "answer, hi"),
            "" if digest == "" else text(digest, "answer, digest"),
            flag(said.get("more", False), "answer, more"),
            number(said.get("dropped", 0), "answer, dropped"),
        )


def told(delivery: Delivery, dropped: int) -> Iterator[tuple[pa.RecordBatch, bytes]]:
    """As it goes over the wire."""
    batches = delivery.rows.combine_chunks().to_batches(max_chunksize=_MOST_BATCH) or [nothing(delivery.rows.schema)]
    for at, batch in enumerate(batches, start=1):
        words = Told(delivery.kind, delivery.lo, delivery.hi, delivery.digest, at < len(batches), dropped)
        yield batch, words.to_bytes()


def nothing(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], kind) for kind in schema.types], schema=schema)


_kind = one_of(*Kind)


def _object(data: bytes, where: str) -> dict[str, Any]:
    if len(data) > _MOST_WORDS:
        raise WireError(f"{len(data)} bytes", where, f"at most {_MOST_WORDS}")
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    if type(said) is not dict:
        raise WireError("this is no JSON object", where)
    if said.get("version") != VERSION:
        raise wrong(said.get("version"), f"{where}, version", f"{VERSION}: both sides with the same version of auroral")
    return said


def _stime(value: Any, where: str) -> int:
    if type(value) is int and -_MOST_STIME <= value <= _MOST_STIME:
        return value
    raise wrong(value, where, "a stime in microseconds since 1970")


def _pair(value: Any) -> tuple[int, str]:
    if type(value) is not list or len(value) != 2:
        raise wrong(value, "ticket, shown", "a pair of a stime and a digest")
    return _stime(value[0], "ticket, shown"), text(value[1], "ticket, shown")
