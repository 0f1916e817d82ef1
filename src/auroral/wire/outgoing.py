"""What waits to be sent over a connection, and what of it goes next.

Control goes first. Behind it, lanes of streams share the connection by weight (L66): the one that is furthest behind its share gives the
next piece, and what one does not use the others get. A lane sends no more than a window ahead of its reader: what is beyond waits here, so
that a slow reader holds up nobody else. What is tentative stays behind what was said before it of its stream, unless that is held up.

Filled by the event loop and emptied by one thread, or by the loop itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from auroral.wire.codec import Encoded
from auroral.wire.lanes import WEIGHTS, Way
from auroral.wire.limits import LARGE, MOST_CONTROL, MOST_CORRECT, MOST_FRESH, MOST_FRESH_BYTES, PIECE, WINDOW
from auroral.wire.things import piece_head


@dataclass(slots=True)
class Lane:
    """Of one channel."""

    channel: int
    way: Way
    weight: float
    stream: tuple[str, str, str] = ("", "", "")
    """Sender, to and stream: what its other lane has too."""
    waiting: deque[Encoded] = field(default_factory=deque)
    behind: deque[int] = field(default_factory=deque)
    """Of each frame of a fresh lane: how many of the correct lane were given before it."""
    given: int = 0
    done: int = 0
    """Messages that were sent to their end."""
    queued: int = 0
    """Bytes that wait, and are not begun."""
    body: pa.Buffer | None = None
    """The message that is being sent."""
    packing: bool = False
    """Whether the next message is being written, elsewhere."""
    sent: int = 0
    untaken: int = 0
    """Bytes of messages that were begun and not taken."""
    unsent: int = 0
    """Bytes that were given and not sent."""
    share: float = 0.0
    """What it has had, by its weight."""


@dataclass(slots=True)
class Outgoing:
    weights: Mapping[Way, float] = field(default_factory=lambda: dict(WEIGHTS))
    window: int = WINDOW
    ready: Callable[[], None] | None = None
    """Told, by the loop, that something can be sent; without it, whoever sends waits in `take`."""
    aside: Callable[[Callable[[], None]], object] | None = None
    """Runs what takes long elsewhere; without it, it is run at once."""
    failed: Callable[[Exception], None] | None = None
    """Told, from elsewhere, what could not be written there: what was to be sent is lost, and the connection must break."""
    changed: threading.Condition = field(default_factory=threading.Condition)
    control: deque[bytes | tuple[int, pa.Buffer]] = field(default_factory=deque)
    """Things, and messages of a channel that go as a whole."""
    control_bytes: int = 0
    correct_bytes: int = 0
    lanes: dict[int, Lane] = field(default_factory=dict)
    correct: dict[tuple[str, str, str], Lane] = field(default_factory=dict)
    """By stream."""
    begun: tuple[int, pa.Buffer, int] | None = None
    """A control message of more than one piece, and how much of it was sent."""
    had: float = 0.0
    """The share of the lane that was served last: one that begins anew has no claim to the past."""
    held: bool = False
    closed: bool = False

    # By the loop

    def say(self, thing: bytes) -> str | None:
        with self.changed:
            return self._control(thing, len(thing))

    def tell(self, channel: int, message: Encoded) -> str | None:
        """A control message. Gives the reason where the connection must break."""
        with self.changed:
            return self._control((channel, message.body()), message.size)

    def open(self, channel: int, way: Way, stream: tuple[str, str, str] = ("", "", "")) -> None:
        with self.changed:
            self.lanes[channel] = lane = Lane(channel, way, self.weights[way], stream)
            if way is Way.CORRECT:
                self.correct[stream] = lane

    def give(self, channel: int, *messages: Encoded) -> tuple[int, str | None]:
        """A frame, which may go in several messages. Gives how many older frames are dropped for it, and the reason where the connection
        must break. However large it is, it may wait, if not behind too much: it would never come otherwise."""
        with self.changed:
            full = f"more than {MOST_CORRECT} bytes of stable rows wait" if self.correct_bytes > MOST_CORRECT else None
            dropped = sum(self._give(self.lanes[channel], message) for message in messages)
            self._wake()
            return dropped, full

    def _give(self, lane: Lane, message: Encoded) -> int:
        dropped = 0
        if lane.way is Way.FRESH:
            while lane.waiting and (len(lane.waiting) >= MOST_FRESH or lane.queued + message.size > MOST_FRESH_BYTES):
                oldest = lane.waiting.popleft().size
                lane.behind.popleft()
                lane.queued -= oldest
                lane.unsent -= oldest
                dropped += 1
            before = self.correct.get(lane.stream)
            lane.behind.append(0 if before is None else before.given)
        else:
            self.correct_bytes += message.size
        lane.given += 1
        if not lane.waiting and lane.body is None:
            lane.share = max(lane.share, self.had)
        lane.waiting.append(message)
        lane.queued += message.size
        lane.unsent += message.size
        return dropped

    def taken(self, channel: int, size: int) -> None:
        with self.changed:
            if (lane := self.lanes.get(channel)) is not None:
                lane.untaken = max(0, lane.untaken - size)
                self._wake()

    def shut(self, channel: int) -> None:
        """What waits there is not sent."""
        with self.changed:
            if (lane := self.lanes.pop(channel, None)) is not None and lane.way is Way.CORRECT:
                self.correct_bytes -= lane.unsent
                self.correct.pop(lane.stream, None)
                self._wake()

    def hold(self, held: bool) -> None:
        """Nothing is sent until it is let go."""
        with self.changed:
            self.held = held
            self._wake()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.control.clear()
            self.lanes.clear()
            self.correct.clear()
            self.changed.notify_all()

    def backlog(self) -> dict[int, int]:
        """By channel, bytes that wait or are not taken."""
        with self.changed:
            return {lane.channel: lane.queued + lane.untaken for lane in self.lanes.values()}

    def _control(self, thing: bytes | tuple[int, pa.Buffer], size: int) -> str | None:
        self.control.append(thing)
        self.control_bytes += size
        self._wake()
        full = self.control_bytes > MOST_CONTROL
        return f"more than {MOST_CONTROL} bytes of control messages wait" if full else None

    def _wake(self) -> None:
        self.changed.notify_all()
        if self.ready is not None:
            self.ready()

    # By whoever sends

    def take(self, patience: float = 0.0) -> bytes | None:
        """What goes next; none if there was nothing for so many seconds, or if it is closed."""
        while True:
            with self.changed:
                chosen = self._next()
                if chosen is None and patience and not self.closed:
                    self.changed.wait(patience)
                    patience = 0.0
                    continue
                if chosen is None or isinstance(chosen, bytes):
                    return chosen
            # Rows are written into their message here, without keeping the loop waiting.
            lane, message = chosen
            if message is None:
                return self._piece(lane, None)
            if self.aside is None or message.size < LARGE:
                return self._piece(lane, message.body())
            lane.packing = True
            self.aside(partial(self._pack, lane, message))

    def _next(self) -> bytes | tuple[Lane, Encoded | None] | None:
        if self.closed or self.held:
            return None
        if self.begun is not None:
            return self._go_on(*self.begun)
        if self.control:
            thing = self.control.popleft()
            if isinstance(thing, bytes):
                self.control_bytes -= len(thing)
                return thing
            return self._go_on(*thing, 0)
        ready = [lane for lane in self.lanes.values() if self._may_send(lane)]
        if not ready:
            return None
        lane = min(ready, key=lambda lane: lane.share)
        self.had = lane.share
        if lane.body is not None:
            lane.share += min(lane.body.size - lane.sent, PIECE) / lane.weight
            return lane, None
        lane.share += min(lane.waiting[0].size, PIECE) / lane.weight
        message = lane.waiting.popleft()
        if lane.way is Way.FRESH:
            lane.behind.popleft()
        lane.queued -= message.size
        lane.untaken += message.size
        return lane, message

    def _may_send(self, lane: Lane) -> bool:
        if lane.packing:
            return False
        if lane.body is not None:
            return True
        return bool(lane.waiting) and lane.untaken < self.window and not self._must_wait(lane)

    def _must_wait(self, lane: Lane) -> bool:
        """A tentative frame stays behind the stable ones before it, as long as their reader keeps up: a bucket that is tentative, and the one
        before it not closed, looks like a failure. It overtakes those that wait for a reader that does not."""
        before = self.correct.get(lane.stream) if lane.way is Way.FRESH else None
        if before is None or before.done >= lane.behind[0]:
            return False
        return before.packing or before.body is not None or before.untaken < self.window

    def _pack(self, lane: Lane, message: Encoded) -> None:
        try:
            body = message.body()
        except Exception as error:
            if self.failed is None:
                raise
            # Nothing behind it goes: the lane stays as it is until the connection is closed.
            self.failed(error)
            return
        with self.changed:
            lane.body, lane.sent, lane.packing = body, 0, False
            self.changed.notify_all()

    def _piece(self, lane: Lane, fresh: pa.Buffer | None) -> bytes:
        body = lane.body if fresh is None else fresh
        assert body is not None
        if fresh is not None:
            lane.sent = 0
        cut, total = body.slice(lane.sent, min(PIECE, body.size - lane.sent)), None if lane.sent else body.size
        with self.changed:
            lane.sent += cut.size
            lane.unsent -= cut.size
            lane.body = body if lane.sent < body.size else None
            lane.done += lane.body is None
            if lane.way is Way.CORRECT and lane.channel in self.lanes:
                self.correct_bytes -= cut.size
        return _joined(lane.channel, total, cut)

    def _go_on(self, channel: int, body: pa.Buffer, sent: int) -> bytes:
        cut = body.slice(sent, min(PIECE, body.size - sent))
        self.begun = (channel, body, sent + cut.size) if sent + cut.size < body.size else None
        self.control_bytes -= cut.size
        return _joined(channel, None if sent else body.size, cut)


def _joined(channel: int, total: int | None, cut: pa.Buffer) -> bytes:
    return b"".join((piece_head(channel, total), memoryview(cut)))
