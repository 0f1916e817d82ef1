"""What goes over a connection behind the hello: channels, pieces of messages, what was taken, which cores live, and beats.

A channel is one way from one life of a core to one life of another. A message goes over its channel in pieces, one message behind the
other, and pieces of channels alternate: so the large does not hold up the urgent.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from auroral.wire.errors import WireError
from auroral.wire.fields import items, number, number_or_none, one_of, parts, text
from auroral.wire.lanes import Way
from auroral.wire.limits import MOST_CORES, MOST_HEADER, MOST_PAYLOAD, MOST_PIECE

_PIECE, _FIRST, _OPEN, _SHUT, _TAKEN, _CORES, _BEAT, _PARTED = range(1, 9)
_NEXT_HEAD, _FIRST_HEAD, _TAKEN_BODY = struct.Struct(">BI"), struct.Struct(">BIQ"), struct.Struct(">BIQ")
_MOST_WHOLE = MOST_HEADER + MOST_PAYLOAD + 1024
_CORES_AT_ONCE = 8
"""The longest names of so many fit, whatever their characters."""
_way = one_of(*Way)


@dataclass(frozen=True, slots=True)
class Open:
    channel: int
    sender: str
    sender_life: int
    to: str
    to_life: int
    way: Way
    stream: str

    def to_bytes(self) -> bytes:
        said = [self.channel, self.sender, self.sender_life, self.to, self.to_life, self.way, self.stream]
        return bytes((_OPEN,)) + json.dumps(said).encode()


@dataclass(frozen=True, slots=True)
class Shut:
    channel: int

    def to_bytes(self) -> bytes:
        return _NEXT_HEAD.pack(_SHUT, self.channel)


@dataclass(frozen=True, slots=True)
class Piece:
    channel: int
    total: int | None
    """Bytes of the whole message, in its first piece."""
    data: pa.Buffer


@dataclass(frozen=True, slots=True)
class Taken:
    """Messages of a channel, so many bytes of them, were taken by whom they were sent to."""

    channel: int
    size: int

    def to_bytes(self) -> bytes:
        return _TAKEN_BODY.pack(_TAKEN, self.channel, self.size)


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores live at the sender, each with the number of its life; none of one that ended. The first says all of them."""

    lives: tuple[tuple[str, int | None], ...]
    more: bool = False

    def to_bytes(self) -> bytes:
        return bytes((_CORES,)) + json.dumps([self.more, self.lives]).encode()

    @staticmethod
    def all(lives: dict[str, int]) -> list[Cores]:
        """As many as it takes: a thing has a limited size."""
        found = list(lives.items())
        cuts = [tuple(found[at : at + _CORES_AT_ONCE]) for at in range(0, len(found), _CORES_AT_ONCE)] or [()]
        return [Cores(cut, more=number < len(cuts)) for number, cut in enumerate(cuts, 1)]


@dataclass(frozen=True, slots=True)
class Parted:
    """Of a core where this is read and one where it is said: what the first says to the second is not taken, for it is said to live
    elsewhere. With a channel, the answer: the first has been told so, and what it says anew comes over later channels than this one."""

    sender: str
    to: str
    channel: int | None = None

    def to_bytes(self) -> bytes:
        return bytes((_PARTED,)) + json.dumps([self.sender, self.to, self.channel]).encode()


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing else was to be said."""

    def to_bytes(self) -> bytes:
        return bytes((_BEAT,))


Thing = Open | Shut | Piece | Taken | Cores | Beat | Parted


def piece_head(channel: int, total: int | None) -> bytes:
    return _NEXT_HEAD.pack(_PIECE, channel) if total is None else _FIRST_HEAD.pack(_FIRST, channel, total)


def parse(data: pa.Buffer) -> Thing:
    if not 0 < data.size <= MOST_PIECE:
        raise WireError(f"{data.size} bytes at once", "connection", f"1 to {MOST_PIECE}")
    view = memoryview(data)
    try:
        match view[0]:
            case 1:
                _, channel = _NEXT_HEAD.unpack_from(view)
                return Piece(channel, None, _rest(data, _NEXT_HEAD))
            case 2:
                _, channel, total = _FIRST_HEAD.unpack_from(view)
                if not 0 < total <= _MOST_WHOLE:
                    raise WireError(f"a message of {total} bytes", "connection", f"1 to {_MOST_WHOLE}")
                return Piece(channel, total, _rest(data, _FIRST_HEAD))
            case 3:
                return _open(json.loads(bytes(view[1:])))
            case 4:
                _, channel = _NEXT_HEAD.unpack(view)
                return Shut(channel)
            case 5:
                _, channel, size = _TAKEN_BODY.unpack(view)
                return Taken(channel, size)
            case 6:
                return _cores(json.loads(bytes(view[1:])))
            case 7 if data.size == 1:
                return Beat()
            case 8:
                return _parted(json.loads(bytes(view[1:])))
    except (struct.error, ValueError, RecursionError) as error:
        raise WireError(f"{data.size} bytes cannot be read: {str(error)[:200]}", "connection", "a thing") from error
    raise WireError(f"a thing of kind {view[0]} and {data.size} bytes is unknown", "connection", "kinds 1 to 8")


def _rest(data: pa.Buffer, head: struct.Struct) -> pa.Buffer:
    if data.size == head.size:
        raise WireError("a piece is empty", "connection", "at least one byte")
    return data.slice(head.size)


def _open(said: Any) -> Open:
    where = "channel"
    channel, sender, life, to, to_life, way, stream = parts(
        said, where, "channel", "sender", "its life", "to", "its life", "way", "stream"
    )
    found = Open(
        number(channel, where),
        text(sender, where),
        number(life, where),
        text(to, where),
        number(to_life, where),
        _way(way, where),
        "" if stream == "" else text(stream, where),
    )
    if (found.way is Way.CONTROL) != (found.stream == ""):
        raise WireError(f"{found.way} of stream {found.stream!r}", where, "a stream for all but control messages")
    return found


def _parted(said: Any) -> Parted:
    where = "parted"
    sender, to, channel = parts(said, where, "sender", "to", "channel")
    return Parted(text(sender, where), text(to, where), number_or_none(channel, where))


def _cores(said: Any) -> Cores:
    where = "cores"
    more, lives = parts(said, where, "more", "lives")
    if type(more) is not bool:
        raise WireError("it does not say whether more come", where, "true or false")
    found: list[tuple[str, int | None]] = []
    if len(items(lives, where)) > MOST_CORES:
        raise WireError(f"{len(lives)} cores at once", where, f"at most {MOST_CORES}")
    for pair in lives:
        name, life = parts(pair, where, "core", "life")
        found.append((text(name, where), None if life is None else number(life, where)))
    return Cores(tuple(found), more)
