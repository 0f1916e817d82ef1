"""What comes over a connection, put together again: things, and whole messages that were checked."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from auroral.dpc.values import Message
from auroral.wire.codec import decode
from auroral.wire.errors import WireError
from auroral.wire.lanes import stream_of, way_of
from auroral.wire.limits import MOST_CHANNELS, MOST_PAYLOAD
from auroral.wire.things import Beat, Cores, Open, Parted, Piece, Shut, Taken, parse

MOST_UNFINISHED = 2 * MOST_PAYLOAD
"""Bytes of messages that are not whole yet, of all channels."""


@dataclass(frozen=True, slots=True)
class Came:
    """A message, over this channel. `size`: bytes that its sender counts as not taken."""

    channel: Open
    message: Message
    size: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that came whole, and is not put together and checked yet."""

    channel: Open
    pieces: list[pa.Buffer]
    size: int

    def read(self) -> Came:
        message = decode(_whole(self.pieces, self.size))
        if (way_of(message), stream_of(message)) != (self.channel.way, self.channel.stream):
            raise WireError(f"a {type(message).__name__} came", str(self.channel), "what the channel is for")
        return Came(self.channel, message, self.size)


Arrival = Came | Taken | Cores | Parted


@dataclass(slots=True)
class _Channel:
    open: Open
    pieces: list[pa.Buffer] = field(default_factory=list)
    came: int = 0
    total: int = 0


@dataclass(slots=True)
class Incoming:
    """Of one connection. Everything that cannot be is a WireError, and the end of the connection: what follows would make no sense."""

    channels: dict[int, _Channel] = field(default_factory=dict)
    unfinished: int = 0

    def receive(self, data: pa.Buffer) -> Unread | Taken | Cores | Parted | None:
        match parse(data):
            case Piece(number, total, piece):
                return self._piece(self._channel(number), total, piece)
            case Open() as opened:
                if opened.channel in self.channels or len(self.channels) >= MOST_CHANNELS:
                    raise WireError(f"channel {opened.channel} is opened", "connection", f"{MOST_CHANNELS}, each once")
                self.channels[opened.channel] = _Channel(opened)
            case Shut(number):
                self.unfinished -= self._channel(number).came
                del self.channels[number]
            case Taken() | Cores() | Parted() as said:
                return said
            case Beat():
                pass
        return None

    def _channel(self, number: int) -> _Channel:
        if (channel := self.channels.get(number)) is None:
            raise WireError(f"channel {number} is not open", "connection", "channels that were opened")
        return channel

    def _piece(self, channel: _Channel, total: int | None, piece: pa.Buffer) -> Unread | None:
        if (total is None) is (channel.total == 0):
            raise WireError("pieces of two messages are mixed", str(channel.open), "one message behind the other")
        channel.total = total or channel.total
        channel.came += piece.size
        self.unfinished += piece.size
        if channel.came > channel.total or self.unfinished > MOST_UNFINISHED:
            raise WireError("more came than was announced", str(channel.open), f"{channel.total} bytes")
        channel.pieces.append(piece)
        if channel.came < channel.total:
            return None
        found = Unread(channel.open, channel.pieces, channel.total)
        self.unfinished -= found.size
        channel.pieces, channel.came, channel.total = [], 0, 0
        return found


def _whole(pieces: list[pa.Buffer], size: int) -> pa.Buffer:
    """Only a message that came in several pieces is copied."""
    if len(pieces) == 1:
        return pieces[0]
    whole = pa.allocate_buffer(size)
    view, at = memoryview(whole), 0
    for piece in pieces:
        view[at : at + piece.size] = memoryview(piece)
        at += piece.size
    return whole
