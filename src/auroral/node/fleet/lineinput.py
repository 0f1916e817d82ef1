"""Rows that come as lines of JSON over TCP.

Each batch of lines is logged durably and then answered with one line, `{"rows": N}`: so many rows of the input are behind it, refused ones
included. Who is cut off asks by connecting again: the first line that comes is the same answer, and says how many rows to leave out. A
sender that does not care (`nc`) need not read the answers.
"""

from __future__ import annotations

import json
import logging
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from auroral.edge.batches import InputError
from auroral.edge.jsonfiles import json_batches
from auroral.edge.textfiles import Line
from auroral.edge.textfiles import Source as Text
from auroral.model.deployment import Endpoint
from auroral.model.errors import AuroralError
from auroral.node.source import Source

_log = logging.getLogger(__name__)
MOST_LINE = 1 << 20
_AT_ONCE = 1 << 18


class LineInput:
    """Takes lines in threads, one a connection. `woken` is called after each batch."""

    def __init__(self, source: Source, listen: Endpoint, clock: Callable[[], int], woken: Callable[[], None]):
        self.source, self.clock, self.woken = source, clock, woken
        self._connected: set[socket.socket] = set()
        try:
            self._server = _Server((listen.host, listen.port), self._serve)
        except OSError as error:
            raise InputError(
                f"input {source.input.stream!r} cannot take lines at {listen}: {error.strerror or error}\n"
                "    allowed: an address of this machine, and a port that nobody listens on\n"
                f"    next: say another one: --input {source.input.stream}=tcp:HOST:PORT"
            ) from error
        self.endpoint = Endpoint(listen.host, self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.2,), name="lines", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connected):
            _end(connection)

    def _serve(self, connection: socket.socket, peer: str) -> None:
        self._connected.add(connection)
        try:
            self._answer(connection)
            text = Text(peer, self.source.input.schema, self.source.input.any_case, live=True)
            for batch in json_batches(_lines(connection), text, 0):
                self.source.take(batch.rows, self.clock(), batch.refused)
                self.woken()
                self._answer(connection)
        except (OSError, AuroralError) as error:
            # Nothing of the batch was taken: who sent it is told, and may send it again.
            _log.warning("lines from %s for %r end: %s", peer, self.source.input.stream, error)
            _say(connection, {"error": str(error)})
        finally:
            self._connected.discard(connection)
            _end(connection)

    def _answer(self, connection: socket.socket) -> None:
        _say(connection, {"rows": self.source.state.rows_read})


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], serve: Callable[[socket.socket, str], None]):
        self._serve = serve
        super().__init__(address, socketserver.BaseRequestHandler)

    def finish_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        self._serve(request, f"{client_address[0]}:{client_address[1]}" if isinstance(client_address, tuple) else "?")


def _lines(connection: socket.socket) -> Iterator[list[Line]]:
    """Whole lines, as many as have come. A last one without an end is none: its sender was cut off."""
    rest, number = b"", 0
    while data := connection.recv(_AT_ONCE):
        *whole, rest = (rest + data).split(b"\n")
        if len(rest) > MOST_LINE:
            raise InputError(f"a line of more than {MOST_LINE} bytes\n    allowed: one JSON object a line")
        if whole:
            yield list(enumerate(whole, number + 1))
            number += len(whole)


def _say(connection: socket.socket, said: dict[str, object]) -> None:
    # One that is gone learns of it when it comes back: its lines are logged all the same.
    with suppress(OSError):
        connection.sendall(json.dumps(said).encode() + b"\n")


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
