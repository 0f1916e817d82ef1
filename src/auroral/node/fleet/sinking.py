"""Writes one output to one sink, in a thread of its own, from the sink's own position on.

A sink that fails holds up nobody: it is tried again, later and later, and goes on where it was. Nothing is lost meanwhile, since all that is
stable is in the log of the output.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from auroral.edge.deliverysinks import DeliverySink, Place, open_sink_at, place_of
from auroral.node.fleet.outputs import Outputs, Reader

_log = logging.getLogger(__name__)
FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
LAST_WRITES = 5.0
"""Seconds at the end in which a sink may catch up. What it does not, it writes in the next life."""
_LOOK_EVERY = 0.2


class Sinking:
    """`note` is told, as an event, when the sink fails and when it goes on."""

    def __init__(
        self,
        outputs: Outputs,
        stream: str,
        where: str,
        run: str,
        *,
        stable_only: bool,
        note: Callable[..., None],
    ):
        self.outputs, self.stream, self.run, self.note = outputs, stream, run, note
        self.place: Place = place_of(stream, where)
        self.takes_tentative = not stable_only
        self.position: int | None = None
        self.failing: str | None = None
        """What it failed with last, until it goes on."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"sink-{stream}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_end(self) -> None:
        """When it has caught up."""
        self._ending.set()

    def join(self, patience: float) -> None:
        self._thread.join(patience)

    def status(self) -> dict[str, Any]:
        return {
            "stream": self.stream,
            "sink": str(self.place),
            "position": self.position,
            "behind": max(0, self.outputs.frontiers[self.stream] - (self.position or self.outputs.begin))
            // self.outputs.bucket,
            "failing": self.failing,
        }

    def _run(self) -> None:
        wait = FIRST_WAIT
        while True:
            before = self.position
            try:
                with closing(self._open()) as sink:
                    self._write(sink)
                return
            except Exception as error:  # noqa: BLE001  whatever it was, it is told, and everything else goes on
                self._failed(error)
            wait = FIRST_WAIT if self.position != before else min(2 * wait, LONGEST_WAIT)
            if self._ending.wait(wait):
                return

    def _open(self) -> DeliverySink:
        schema = self.outputs.logs[self.stream].schema
        # A table is of one stream alone, however two outputs spell its name.
        owner = self.run if self.place.kind == "file" else f"{self.run}/{self.stream}"
        return open_sink_at(self.place, schema, owner, self.outputs.bucket, self.takes_tentative)

    def _write(self, sink: DeliverySink) -> None:
        self.position = sink.frontier
        name = f"sink {self.place}"
        with Reader(self.outputs, name, self.stream, sink.frontier, sink.takes_tentative, {}) as reader:
            while True:
                delivery = reader.take(_LOOK_EVERY)
                if delivery is not None:
                    sink.apply(delivery)
                    self.position = sink.frontier
                if self.failing is not None:
                    self.failing = None
                    self.note("sink goes on", stream=self.stream, sink=str(self.place))
                if delivery is None and self._ending.is_set():
                    return

    def _failed(self, error: Exception) -> None:
        said = f"{error}" or type(error).__name__
        if self.failing is None:
            _log.error("%s fails, and is tried again: %s", self.place, said, extra={"stream": self.stream})
            self.note("sink failing", stream=self.stream, sink=str(self.place), detail=said[:500])
        self.failing = said[:500]


def end_all(sinks: Sequence[Sinking]) -> None:
    """Comes back when all have caught up, or after a while. Blocking."""
    until = time.monotonic() + LAST_WRITES
    for sink in sinks:
        sink.ask_to_end()
    for sink in sinks:
        sink.join(max(0.0, until - time.monotonic()))
