"""Connections to an input: each has a thread, and there are only so many of both."""

from __future__ import annotations

import array
import fcntl
import logging
import select
import socket
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from typing import Any

from auroral.edge.batches import InputError
from auroral.model.deployment import Endpoint

_log = logging.getLogger(__name__)
IDLE_AFTER = 60.0
"""Seconds without a byte after which a connection is closed where there is no other place for a new one."""
_LOOK_EVERY = 0.2
_PARTING, _DISCARDED = 2.0, 1 << 16
# A peer whose machine is gone is noticed after a minute and a half.
_KEEP_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class Guest:
    """One connection. `received` is how much has come, `settled` how much of that was dealt with; both are read and changed under `turn`."""

    def __init__(self, connection: socket.socket, peer: str, turn: threading.Condition):
        self.connection, self.peer, self.turn = connection, peer, turn
        self.heard = time.monotonic()
        self.received = self.settled = 0
        self._unsaid = b""

    @property
    def unread(self) -> int:
        """Bytes that have come and wait to be read."""
        found = array.array("i", [0])
        try:
            fcntl.ioctl(self.connection, termios.FIONREAD, found)
        except (OSError, ValueError):
            return 0
        return found[0]

    @property
    def busy(self) -> bool:
        return self.received > self.settled or self.unread > 0

    def read(self, most: int) -> bytes:
        """What has come, once something has; all that was read before is dealt with. Nothing, at the end."""
        with self.turn:
            self.settled = self.received
            self.turn.notify_all()
        waiting = select.poll()
        while True:
            waiting.register(self.connection, select.POLLIN | (select.POLLOUT if self._unsaid else 0))
            ((_, ready),) = waiting.poll()
            if ready & select.POLLOUT:
                self._say_rest()
            if ready & ~select.POLLOUT:
                break
        with self.turn:
            # In one step, so that nobody sees it as neither unread nor received.
            data = self.connection.recv(most, socket.MSG_DONTWAIT)
            self.received += len(data)
        self.heard = time.monotonic()
        return data

    def say(self, line: bytes) -> None:
        """Without waiting: where one before is not read yet, only the last is said."""
        begun, end, _ = self._unsaid.partition(b"\n")
        self._unsaid = begun + end + line
        self._say_rest()

    def _say_rest(self) -> None:
        # One that is gone learns of it when it comes back: its rows are logged all the same.
        with suppress(OSError):
            self._unsaid = self._unsaid[self.connection.send(self._unsaid, socket.MSG_DONTWAIT) :]

    def end(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def part(self, last: bytes) -> None:
        """With a last word. What the other still sends is read for a while: otherwise its machine would forget what was said."""
        self.say(last)
        until = time.monotonic() + _PARTING
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while (left := until - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(_DISCARDED):
                    break


class Guests:
    """Listens, and serves each connection in a thread. Where there are `most`, one that has long been idle gives way; else `full` is said
    to the new one."""

    def __init__(self, stream: str, listen: Endpoint, most: int, serve: Callable[[Guest], None], full: bytes):
        self.most, self._serve, self._full = most, serve, full
        self.turn = threading.Condition(threading.RLock())
        self._here: dict[Guest, threading.Thread] = {}
        self._parting = 0
        self._stopped = threading.Event()
        try:
            self._server = socket.create_server((listen.host, listen.port))
        except OSError as error:
            raise InputError(
                f"input {stream!r} cannot take rows at {listen}: {error.strerror or error}\n"
                "    allowed: an address of this machine, and a port that nobody listens on\n"
                f"    next: end who listens there; or begin a deployment with another address in --input {stream}=HOW, or with none"
            ) from error
        self._server.settimeout(_LOOK_EVERY)
        self.endpoint = Endpoint(listen.host, self._server.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, name="guests", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._server.close()
        with self.turn:
            for guest in self._here:
                guest.end()

    def here(self) -> list[Guest]:
        """In the order in which they came."""
        with self.turn:
            return list(self._here)

    def wait_for_older(self, than: Guest) -> None:
        """Until all is dealt with that had come from earlier connections by now: who was cut off, and comes back, is told of what it had
        sent. Not from later ones: two would wait for each other."""
        with self.turn:
            older = takewhile(lambda guest: guest is not than, self._here)
            due = {guest: guest.received + guest.unread for guest in older}
            while not self._stopped.is_set() and any(g in self._here and g.settled < due[g] for g in due):
                self.turn.wait(_LOOK_EVERY)

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, address = self._server.accept()
            except TimeoutError:
                continue
            except OSError as error:
                # As when there are too many open files: it may pass.
                _log.error("no connection could be taken: %s", error)
                self._stopped.wait(_LOOK_EVERY)
                continue
            self._welcome(Guest(connection, f"{address[0]}:{address[1]}", self.turn))

    def _welcome(self, guest: Guest) -> None:
        _keep_alive(guest.connection)
        with self.turn:
            if len(self._here) >= self.most and not self._made_room():
                _log.warning("%s is turned away: %d are connected", guest.peer, len(self._here))
                self._turn_away(guest)
                return
            thread = threading.Thread(target=self._served, args=(guest,), name=f"guest {guest.peer}", daemon=True)
            self._here[guest] = thread
        thread.start()

    def _turn_away(self, guest: Guest) -> None:
        """With a word, if there are not too many of those either."""
        if self._parting >= self.most:
            guest.connection.close()
            return
        self._parting += 1
        threading.Thread(target=self._parted, args=(guest,), name=f"guest {guest.peer}", daemon=True).start()

    def _parted(self, guest: Guest) -> None:
        guest.part(self._full)
        guest.connection.close()
        with self.turn:
            self._parting -= 1

    def _made_room(self) -> bool:
        longest = min((guest for guest in self._here if not guest.busy), key=lambda guest: guest.heard, default=None)
        if longest is None or time.monotonic() - longest.heard < IDLE_AFTER:
            return False
        _log.warning("%s gives way: it was silent for %.0f s", longest.peer, time.monotonic() - longest.heard)
        longest.end()
        del self._here[longest]
        return True

    def _served(self, guest: Guest) -> None:
        try:
            self._serve(guest)
        except Exception:  # noqa: BLE001  the others go on
            _log.exception("%s could not be served", guest.peer)
        finally:
            guest.end()
            with self.turn:
                self._here.pop(guest, None)
                guest.connection.close()
                self.turn.notify_all()


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options: Any = socket
    for name, value in _KEEP_ALIVE:
        if hasattr(options, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(options, name), value)
