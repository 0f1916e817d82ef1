"""What happened in a process of a deployment, one line of JSON each, for people and for programs."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

from auroral.node.fleet.clock import Clock
from auroral.node.fleet.structuredlog import EVENTS, RESERVED

_log = logging.getLogger(__name__)
_noted = logging.getLogger(EVENTS)
# They have a file of their own: who wants them among the records too, says so.
_noted.setLevel(logging.CRITICAL)
_WORSE = frozenset(
    {
        "failed",
        "input failed",
        "not started",
        "job failed",
        "diverged",
        "damaged",
        "gap",
        "sink failing",
        "history failing",
    }
)
"""Events that a person should look at."""


class EventLog:
    """Not durable: it is to be read, not to be gone on from."""

    def __init__(self, file: Path, process: str, clock: Clock):
        self.process, self.clock = process, clock
        self.counts: Counter[str] = Counter()
        """Of what was noted, by its kind."""
        # A file name need not be UTF-8: what of it is not is written as JSON writes it.
        self._opened = file.open("a", buffering=1, encoding="utf-8", errors="backslashreplace")

    def note(self, event: str, **more: Any) -> None:
        self.counts[event] += 1
        said = {"at": round(self.clock.now(), 6), "process": self.process, "event": event, **more}
        try:
            self._opened.write(json.dumps(said, ensure_ascii=False) + "\n")
        except OSError as error:
            # A full disk. What happened is more important than that it is written down here.
            _log.error("cannot note %s: %s", said, error)
        # The frontier is the bucket that it is about.
        named = {"bucket" if key == "frontier" else f"{key}_" if key in RESERVED else key: v for key, v in more.items()}
        _noted.log(logging.WARNING if event in _WORSE else logging.INFO, "%s", event, extra={"event": event, **named})

    def close(self) -> None:
        self._opened.close()


class EventReader:
    """What happened in all processes of a deployment, and, when it is asked again, what did since."""

    def __init__(self, folder: Path):
        self._folder = folder / "events"
        self._read: dict[Path, int] = {}

    def new(self) -> list[dict[str, Any]]:
        """In the order of their times. A line that is just being written is left for the next time."""
        found: list[dict[str, Any]] = []
        for file in sorted(self._folder.glob("*.jsonl")):
            at = self._read.get(file, 0)
            if file.stat().st_size < at:
                # Another one under its name.
                at = 0
            with file.open("rb") as opened:
                opened.seek(at)
                whole, feed, _ = opened.read().rpartition(b"\n")
            self._read[file] = at + len(whole) + len(feed)
            found += [event for line in whole.split(b"\n") if (event := _event(line)) is not None]
        return sorted(found, key=lambda event: event["at"])


def _event(line: bytes) -> dict[str, Any] | None:
    """None for a line that is no event, as where a disk was full or the power cut."""
    try:
        match json.loads(line):
            case {"at": int() | float(), "process": str(), "event": str()} as event:
                return dict(event)
    except ValueError:
        pass
    return None


def events_in(folder: Path) -> list[dict[str, Any]]:
    return EventReader(folder).new()
