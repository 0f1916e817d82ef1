"""Callers that a process refused, as events: of each kind the first at once, and then, at most once a minute, how many there were."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from auroral.node.fleet.clock import Clock
from auroral.node.fleet.eventlog import EventLog

_log = logging.getLogger(__name__)
NOTE_EVERY = 60.0
"""Seconds: strangers must not be able to fill the disk."""
LOOK_EVERY = 0.5
_MOST = 1 << 20
_HANDSHAKE = re.compile(rb"Handshake failed with error (?:.*::)?([^\r\n]{1,200})")


class Refusals:
    def __init__(self, events: EventLog, clock: Clock):
        self.events, self.clock = events, clock
        self._noted: dict[str, float] = {}
        self._since: dict[str, int] = {}

    def note(self, kind: str, detail: str) -> None:
        now, count = self.clock.now(), self._since.get(kind, 0) + 1
        if now < self._noted.get(kind, float("-inf")) + NOTE_EVERY:
            self._since[kind] = count
            return
        self._noted[kind], self._since[kind] = now, 0
        self.events.note("refused", count=count, detail=detail[:500])


async def watch_handshakes(log: Path, note: Callable[[str, str], None]) -> None:
    """Who has no certificate of this deployment is sent away by gRPC, deep below us: it says so on standard error and nowhere else, so that
    is what is read."""
    try:
        with log.open("rb") as opened:
            if not os.path.samestat(os.fstat(2), os.fstat(opened.fileno())):
                _log.warning("refused TLS connections are not noted: standard error is not %s", log)
                return
            opened.seek(0, os.SEEK_END)
            rest = b""
            while True:
                await asyncio.sleep(LOOK_EVERY)
                rest = _look(opened, rest, note)
    except OSError as error:
        # Who is refused is refused all the same.
        _log.error("refused TLS connections are not noted any more: %s", error)


def _look(opened: BinaryIO, rest: bytes, note: Callable[[str, str], None]) -> bytes:
    """Gives the line that is not whole yet."""
    *lines, rest = (rest + opened.read(_MOST)).split(b"\n")
    for line in lines:
        if (found := _HANDSHAKE.search(line)) is not None:
            reason = f"a TLS handshake failed: {found[1].decode(errors='replace').strip()}"
            note(reason, reason)
    return rest[-_MOST:]
