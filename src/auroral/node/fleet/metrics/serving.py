"""Tells whoever asks with `GET /metrics`, and nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from auroral.model.deployment import Endpoint
from auroral.node.fleet.metrics.exposition import CONTENT_TYPE

_log = logging.getLogger(__name__)
MOST_HEAD = 8 << 10
"""Bytes of a request."""
MOST_AT_ONCE = 8
WITHIN = 10.0
"""Seconds that a request may take."""
LOOK_EVERY = 1.0


class MetricServer:
    """Listens where `wanted` says, for as long as it says so: None is nowhere. An address that is taken is tried again."""

    def __init__(
        self,
        wanted: Callable[[], Endpoint | None],
        told: Callable[[], Awaitable[str]],
        begins: Callable[[], None],
        fails: Callable[[str], None],
    ):
        """`told` gives the text, `begins` is called before it is first asked for, and `fails` when an address cannot be had."""
        self._wanted, self._told, self._begins, self._fails = wanted, told, begins, fails
        self._at: Endpoint | None = None
        self._server: asyncio.Server | None = None
        self._failed_at: Endpoint | None = None
        self._asking = 0

    async def run(self) -> None:
        try:
            while True:
                if (wanted := self._wanted()) != self._at:
                    await self._go_to(wanted)
                await asyncio.sleep(LOOK_EVERY)
        finally:
            self._close()

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._server = self._at = None

    async def _go_to(self, wanted: Endpoint | None) -> None:
        self._close()
        if wanted is None:
            return
        self._begins()
        try:
            self._server = await asyncio.start_server(
                self._serve, wanted.host.strip("[]"), wanted.port, limit=MOST_HEAD
            )
            self._at = wanted
        except (OSError, OverflowError) as error:
            # Behind the highest port, where a node was added, there is none to be had either.
            if self._failed_at != wanted:
                _log.error("metrics cannot be told at %s: %s", wanted, error)
                self._fails(f"{wanted}: {getattr(error, 'strerror', None) or error}")
            self._failed_at = wanted

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._asking += 1
        try:
            # Whoever asked may have gone, or said more than a request may have.
            with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(WITHIN):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._answer(head.partition(b"\r\n")[0].split()))
                    await writer.drain()
        finally:
            self._asking -= 1
            writer.close()

    async def _answer(self, asked: list[bytes]) -> bytes:
        if len(asked) != 3 or not asked[2].startswith(b"HTTP/1."):
            return _answer("400 Bad Request", "this is no request of HTTP/1\n")
        method, path = asked[0], asked[1].partition(b"?")[0]
        if path != b"/metrics":
            return _answer("404 Not Found", "metrics are at /metrics\n")
        if method not in (b"GET", b"HEAD"):
            return _answer("405 Method Not Allowed", "allowed: GET\n", "Allow: GET, HEAD\r\n")
        if self._asking > MOST_AT_ONCE:
            return _answer("503 Service Unavailable", "too many ask at once\n", "Retry-After: 1\r\n")
        return _answer("200 OK", await self._told(), kind=CONTENT_TYPE, alone=method == b"HEAD")


def _answer(
    status: str, text: str, more: str = "", kind: str = "text/plain; charset=utf-8", alone: bool = False
) -> bytes:
    """`alone`: without the text, of which only the length is told."""
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if alone else body)
