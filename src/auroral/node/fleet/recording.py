"""What a process said of itself over time, for whoever looks at the run afterwards: the answers to `auroral status`, and a client's deliveries.

| line | what |
|---|---|
| `{"at": ..., "status": {...}}` | as `auroral status --json` has it, every few seconds and when a state changes |
| `{"at": ..., "delivery": {...}}` | as `auroral tail --json` has it, without rows |

It lies in `recorded/NAME.jsonl` of the deployment's folder, and what came before that in `recorded/NAME.before.jsonl`. Neither grows beyond a
bound; what is older is forgotten.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from auroral.node.fleet.clock import Clock

_log = logging.getLogger(__name__)
FOLDER = "recorded"
EVERY = 2.0
"""Seconds, at most, between two answers."""
MOST = 4 << 20
"""Bytes of a file."""


class Recorder:
    """Not durable: it is to be looked at, not to be gone on from."""

    def __init__(self, folder: Path, name: str, most: int = MOST):
        self.file, self.most = folder / FOLDER / f"{name}.jsonl", most
        self.turned = asyncio.Event()
        """Something happened that is worth an answer at once."""
        self._opened: IO[bytes] | None = None
        self._fails = ""

    async def run(self, said: Callable[[], Mapping[str, Any]], clock: Clock) -> None:
        """For as long as the process lives."""
        while True:
            self.turned.clear()
            try:
                self.write(at=round(clock.now(), 3), status=said())
            except Exception as error:  # noqa: BLE001  whatever it was: nobody may end because of what is only to be looked at
                self._cannot(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.turned.wait(), EVERY)

    def write(self, **said: Any) -> None:
        line = json.dumps(said, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
        try:
            self._with_room(len(line)).write(line)
        except OSError as error:
            # A full disk.
            self._cannot(error)
        else:
            self._fails = ""

    def _cannot(self, error: Exception) -> None:
        """Told once, and not every few seconds for as long as it lasts."""
        if str(error) != self._fails:
            _log.error("nothing is recorded: %r", error, exc_info=None if isinstance(error, OSError) else error)
        self._fails = str(error)

    def _with_room(self, length: int) -> IO[bytes]:
        if self._opened is not None and self._opened.tell() + length > self.most:
            self.close()
            self.file.replace(_before(self.file))
        if self._opened is None:
            self.file.parent.mkdir(exist_ok=True)
            # Unbuffered: whoever looks sees whole lines, also of a process that was killed.
            self._opened = self.file.open("ab", buffering=0)
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def recorded_in(folder: Path) -> Iterator[dict[str, Any]]:
    """Of all processes, each with its name, in no order. A line that was not written to its end is passed over."""
    for file in sorted((folder / FOLDER).glob("*.jsonl")):
        if file.name.endswith(".before.jsonl"):
            continue
        for part in (_before(file), file):
            for line in part.read_bytes().splitlines() if part.exists() else ():
                try:
                    yield {"process": file.stem, **json.loads(line)}
                except ValueError:
                    continue


def _before(file: Path) -> Path:
    return file.with_name(f"{file.stem}.before.jsonl")
