"""Runs in a thread what brings rows by itself, and tells how that ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from auroral.edge.durable import StorageError
from auroral.model.errors import AuroralError
from auroral.node.feeds import Feed

_log = logging.getLogger(__name__)


class Feeding:
    """`make` gives a feed that goes on where the log ends. `failed` is told of what is wrong with the input, `broken` of all else that ended
    it, which another life of the process may mend. All are called in the thread, but for the first feed, which is made here."""

    def __init__(
        self,
        make: Callable[[], Feed],
        stop: threading.Event,
        woken: Callable[[], None],
        failed: Callable[[AuroralError], None],
        broken: Callable[[Exception], None],
    ):
        self._make, self._stop, self._woken, self._failed, self._broken = make, stop, woken, failed, broken
        self._feed = make()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self.start = self._thread.start

    def _run(self) -> None:
        try:
            while not self._ran():
                # When there is room, it goes on behind what is logged.
                if self._stop.wait(1):
                    return
                self._feed = self._make()
        except Exception as error:  # noqa: BLE001  all of it is told
            if self._stop.is_set():
                # What came as it ended comes again in the next life.
                return
            if isinstance(error, AuroralError):
                _log.error("%s", error)
                self._failed(error)
            else:
                _log.critical("%s cannot go on", self._feed.stream, exc_info=error, extra={"stream": self._feed.stream})
                self._broken(error)

    def _ran(self) -> bool:
        """Whether it has ended; else it could not log."""
        try:
            self._feed.run(self._stop, self._woken)
        except StorageError as error:
            _log.error("%s cannot log, and waits: %s", self._feed.stream, error, extra={"stream": self._feed.stream})
            return False
        return True
