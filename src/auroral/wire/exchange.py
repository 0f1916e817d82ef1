"""One Flight exchange that carries a link: a thread that reads, a thread that writes, and the way over to the event loop."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from auroral.wire.errors import WireError, reason_of
from auroral.wire.incoming import Arrival, Came, Incoming, Unread
from auroral.wire.limits import LARGE, MOST_UNDELIVERED
from auroral.wire.link import Link
from auroral.wire.posting import post
from auroral.wire.switchboard import Switchboard
from auroral.wire.things import Beat

BROKEN = (fl.FlightError, pa.ArrowException, OSError, StopIteration)
"""What Flight says when an exchange ended, whoever ended it."""
_BEAT = Beat().to_bytes()


class Exchange:
    """Blocking calls live in its two threads. `end` makes both come back: it breaks the connection from below."""

    def __init__(
        self,
        board: Switchboard,
        link: Link,
        reader: Any,
        writer: Any,
        end: Callable[[], object],
        aside: Callable[[Callable[[], None]], object],
    ):
        self.board, self.link, self.reader, self.writer, self.end = board, link, reader, writer, end
        self.aside = link.outgoing.aside = aside
        link.outgoing.failed = self._fail
        self.incoming = Incoming()
        self.closed = self._failed = False
        self._came: deque[Arrival] = deque()
        self._aside: Counter[tuple[str, str, str]] = Counter()
        """By stream, messages that are being read aside."""
        self._undelivered = 0
        self._room = threading.Condition()

    # As a pipe of the link, by the loop

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with self._room:
                self._room.notify_all()
            self.end()

    def beat(self) -> None:
        """The writing thread does, so that a busy loop is not taken for a dead node. As this loop may have been busy itself: what is in front
        of it has been heard."""
        if self._undelivered and not self.link.deaf:
            self.link.heard = self.board.loop.time()

    # By threads

    def run(self) -> None:
        """Until it ends. Nothing of the exchange is used any more when this returns."""
        writing = threading.Thread(target=self._write, name=f"wire-{self.board.node}-to-{self.link.peer}", daemon=True)
        writing.start()
        reason = "the other side ended it"
        try:
            while not self.closed:
                chunk = self.reader.read_chunk()
                if chunk.data is not None or chunk.app_metadata is None:
                    raise WireError("rows came outside of a message", self.link.peer, "things of a connection")
                self._receive(chunk.app_metadata)
        except BROKEN as error:
            reason = f"broken: {type(error).__name__}: {str(error)[:200]}" if str(error) else reason
        except Exception as error:  # noqa: BLE001  a message that is lost breaks the connection, whatever the reason
            reason = reason_of(error)
        self.link.outgoing.close()
        self.end()
        writing.join()
        post(self.board.loop, self.board.ended, self.link, reason)

    def _receive(self, data: pa.Buffer) -> None:
        if not self.link.deaf:
            self.link.heard = self.board.loop.time()
        came = self.incoming.receive(data)
        if came is None:
            return
        with self._room:
            # A loop that does not keep up stops the peer, not the memory from growing.
            while self._undelivered > MOST_UNDELIVERED and not self.closed:
                self._room.wait()
            self._undelivered += _size(came)
        if not isinstance(came, Unread):
            self._arrive(came)
        elif came.size < LARGE and _stream(came) not in self._aside:
            self._arrive(came.read())
        else:
            # Whatever comes behind it of its stream stays behind it.
            with self._room:
                self._aside[_stream(came)] += 1
            self.aside(partial(self._read_aside, came))

    def _read_aside(self, came: Unread) -> None:
        try:
            self._arrive(came.read())
        except Exception as error:  # noqa: BLE001  a message that is lost breaks the connection, whatever the reason
            self._fail(error)
        with self._room:
            self._aside[_stream(came)] -= 1
            self._aside += Counter()

    def _fail(self, error: Exception) -> None:
        """From any thread: a message is lost. What came behind it is not delivered before its cores hear of the break."""
        with self._room:
            self._failed = True
        post(self.board.loop, self.board.ended, self.link, reason_of(error))

    def _arrive(self, arrival: Arrival) -> None:
        with self._room:
            if self._failed:
                return
            waking = not self._came
            self._came.append(arrival)
        if waking:
            post(self.board.loop, self._deliver)

    def _write(self) -> None:
        outgoing, beat = self.link.outgoing, self.board.patience.beat
        try:
            while True:
                try:
                    thing = outgoing.take(beat)
                except Exception as error:  # noqa: BLE001  a message that is lost breaks the connection, whatever the reason
                    self._fail(error)
                    break
                if outgoing.closed:
                    break
                if thing is not None:
                    self.writer.write_metadata(thing)
                elif not outgoing.held:
                    self.writer.write_metadata(_BEAT)
        except BROKEN:
            # The reading thread hears of it too, and says so.
            self.end()
        except Exception as error:  # noqa: BLE001  nothing is written any more: the connection must not look alive
            self._fail(error)

    # By the loop

    def _deliver(self) -> None:
        with self._room:
            came = list(self._came)
            self._came.clear()
        for arrival in came:
            self.link.in_line.put(partial(self._arrived, arrival))

    def _arrived(self, arrival: Arrival) -> None:
        with self._room:
            self._undelivered -= _size(arrival)
            self._room.notify_all()
        self.board.arrived(self.link, arrival)


def _size(came: Unread | Arrival) -> int:
    return came.size if isinstance(came, Came | Unread) else 64


def _stream(came: Unread) -> tuple[str, str, str]:
    return came.channel.sender, came.channel.to, came.channel.stream
