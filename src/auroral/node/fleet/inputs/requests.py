"""Rows that come over HTTP: in the bodies of POST requests, as JSON or CSV.

| request | answer |
|---|---|
| `GET /` | `{"rows": N}`: so many rows of the input are logged, refused ones included |
| `POST /` | the same when all of its rows are logged durably, with `logged` and, where rows were left out, `left_out` by reason |

A body is taken as a whole or not at all. 400 says what is wrong with it, 411, 413 and 415 what is allowed; 503 with `Retry-After` says that
the same request may be made again later. `Content-Type` is `application/x-ndjson` for JSON lines, `application/json` for these or for an
array of objects, `text/csv` for CSV with a header.
"""

from __future__ import annotations

import io
import json
import logging
import math
import select
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from auroral.edge.textfiles import Source as Text
from auroral.model.deployment import Endpoint
from auroral.model.errors import AuroralError
from auroral.node.fleet.inputs.bodies import JSON, LINES, TYPES, read_body
from auroral.node.fleet.inputs.guests import Guest, Guests
from auroral.node.fleet.inputs.taking import Clock, passes, said_of, take
from auroral.node.source import Source

_log = logging.getLogger(__name__)
MOST_BODY = 8 << 20
MOST_CONNECTIONS = 16
SILENCE, REQUEST_WITHIN = 30, 120.0
"""Seconds: a connection without a request is closed; a request that is not whole by then is given up."""
SETTLE_WITHIN = 5.0
"""Seconds that who asks for the position waits for requests that came before."""
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_AGAIN = {"Retry-After": "1"}


class HttpInput:
    """`woken` is called after each body."""

    def __init__(self, source: Source, listen: Endpoint, clock: Clock, woken: Callable[[], None]):
        self.source, self.clock, self.woken = source, clock, woken
        self._turn = threading.Lock()
        self.guests = Guests(source.input.stream, listen, MOST_CONNECTIONS, self._serve, _FULL)
        self.start, self.stop, self.endpoint = self.guests.start, self.guests.stop, self.guests.endpoint

    def _serve(self, guest: Guest) -> None:
        _Requests(self, guest)

    def take(self, body: bytes, kind: str, peer: str) -> dict[str, Any]:
        # One after the other: what a body becomes is many times its size.
        with self._turn:
            batch = read_body(
                body, kind, Text(peer, self.source.input.schema, self.source.input.any_case, any_names=True)
            )
            taken = take(self.source, batch, self.clock)
        self.woken()
        return {"logged": taken.logged, **said_of(taken, batch)}


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, text: str, headers: dict[str, str] | None = None):
        self.status, self.text, self.headers = status, text, headers or {}


class _Timed(io.RawIOBase):
    """What comes over a connection, until a moment. Unbuffered: what has come and is not read must be seen by others."""

    def __init__(self, connection: socket.socket):
        self.connection, self.until = connection, math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request is not whole in time")
        self.connection.settimeout(min(SILENCE, left))
        return self.connection.recv_into(buffer)


class _Requests(BaseHTTPRequestHandler):
    """The requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "auroral", ""
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain;charset=utf-8"
    timeout = SILENCE

    rfile: _Timed  # type: ignore[assignment]  # as a file it is read in the same way

    def __init__(self, given: HttpInput, guest: Guest):
        self.given, self.guest = given, guest
        # As socketserver does it: this serves the connection until its end.
        super().__init__(guest.connection, guest.connection.getpeername(), None)  # type: ignore[arg-type]

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = _Timed(self.connection)

    def handle_one_request(self) -> None:
        if not self._begun():
            self.close_connection = True
            return
        try:
            super().handle_one_request()
        except OSError as error:
            _log.warning("requests from %s end: %s", self.guest.peer, error)
            self.close_connection = True
        finally:
            self._settle()

    def _begun(self) -> bool:
        """Wait for a request. From its first byte on it counts as received, for who asks how far the input is."""
        waiting = select.poll()
        waiting.register(self.connection, select.POLLIN)
        if not waiting.poll(SILENCE * 1000):
            return False
        with self.guest.turn:
            self.guest.received += 1
        self.guest.heard = time.monotonic()
        self.rfile.until = self.guest.heard + REQUEST_WITHIN
        return True

    def _settle(self) -> None:
        with self.guest.turn:
            self.guest.settled = self.guest.received

    def do_GET(self) -> None:
        self._answered(self._position)

    def do_POST(self) -> None:
        self._answered(self._posted)

    def handle_expect_100(self) -> bool:
        """Before a large body is sent, its sender asks whether it may."""
        try:
            self._length()
            self._must_have_room()
        except _Refused as refused:
            self.close_connection = True
            self._refuse(refused)
            return False
        return super().handle_expect_100()

    def _answered(self, answer: Callable[[], dict[str, Any]]) -> None:
        try:
            if self.path != "/":
                # What else there may be of it is not read.
                self.close_connection = True
                raise _Refused(HTTPStatus.NOT_FOUND, f"there is no {self.path}\n    allowed: GET / and POST /")
            self._must_be_one_request()
            said = answer()
        except _Refused as refused:
            self._refuse(refused)
        except OSError:
            # It cannot be told either: the connection is broken.
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, who sent the request is told
            if not isinstance(error, AuroralError):
                _log.exception("a request from %s could not be answered", self.guest.peer)
            later = passes(error)
            status = HTTPStatus.SERVICE_UNAVAILABLE if later else HTTPStatus.BAD_REQUEST
            self._refuse(_Refused(status, str(error), _AGAIN if later else {}))
        else:
            self._say(HTTPStatus.OK, said, {})

    def _must_be_one_request(self) -> None:
        """Where it is not clear where its body ends, what stands behind it might be taken for another request."""
        lengths, chunks = self.headers.get_all("Content-Length", []), "Transfer-Encoding" in self.headers
        what = (
            "it has several lengths"
            if len(lengths) > 1
            else "it has a length, and is in chunks"
            if lengths and chunks
            else "a GET has no body"
            if self.command == "GET" and (chunks or lengths not in ([], ["0"]))
            else None
        )
        if what is not None:
            self.close_connection = True
            raise _Refused(
                HTTPStatus.BAD_REQUEST, f"{what}\n    allowed: GET without a body, POST with one Content-Length"
            )

    def _position(self) -> dict[str, Any]:
        """When what came before it is dealt with: otherwise who was cut off would send again what is just being logged."""
        # Those who only ask do not wait for one another.
        self._settle()
        until = time.monotonic() + SETTLE_WITHIN
        while any(guest.busy for guest in self._others()):
            if time.monotonic() > until:
                raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "requests that came before are being taken", _AGAIN)
            time.sleep(0.02)
        return {"rows": self.given.source.state.rows_read}

    def _others(self) -> list[Guest]:
        return [guest for guest in self.given.guests.here() if guest is not self.guest]

    def _posted(self) -> dict[str, Any]:
        body = self._body(self._length())
        asked = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if self.headers.get("Content-Encoding", "identity") != "identity" or asked not in TYPES:
            raise _Refused(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"a body of the type {asked!r} cannot be read\n    allowed: {', '.join(TYPES)}; not compressed\n"
                f"    next: say what it is, as with curl -H 'Content-Type: {LINES}' --data-binary @FILE",
            )
        self._must_have_room()
        return self.given.take(body, TYPES[asked], self.guest.peer)

    def _must_have_room(self) -> None:
        if not self.given.source.room.is_set():
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "those who read this input are behind; wait", _AGAIN)

    def _length(self) -> int:
        given = self.headers.get("Content-Length", "")
        if not given.isascii() or not given.isdigit():
            self.close_connection = True
            raise _Refused(
                HTTPStatus.LENGTH_REQUIRED,
                "the request does not say how long its body is\n    allowed: a Content-Length; no chunks\n"
                "    next: send the body as a whole",
            )
        if int(given) > MOST_BODY:
            self.close_connection = True
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a body of {given} bytes\n    allowed: {MOST_BODY} bytes\n    next: send fewer rows at once",
            )
        return int(given)

    def _body(self, length: int) -> bytes:
        parts, left = [], length
        while left:
            try:
                part = self.rfile.read(left)
            except TimeoutError:
                part = b""
            if not part:
                self.close_connection = True
                raise _Refused(HTTPStatus.REQUEST_TIMEOUT, f"{left} bytes of {length} have not come")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _refuse(self, refused: _Refused) -> None:
        _log.warning("a request from %s is refused: %s", self.guest.peer, refused.text)
        self._say(refused.status, {"error": refused.text}, refused.headers)
        if self.close_connection:
            self.guest.part(b"")

    def _say(self, status: HTTPStatus, said: dict[str, Any], headers: dict[str, str]) -> None:
        text = json.dumps(said).encode() + b"\n"
        self.connection.settimeout(SILENCE)
        self.send_response(status)
        for name, value in {"Content-Type": JSON, "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug("%s: %s", self.guest.peer, format % args)
