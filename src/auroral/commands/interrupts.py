"""Ctrl-C as a wish that is looked at when it suits: the first one asks to stop, the second one does not wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noted() -> Iterator[threading.Event]:
    """Within, SIGINT and SIGTERM set the event; a second one raises KeyboardInterrupt.

    To be entered after Spark has started: its own handler would cancel the jobs that are running.
    """
    asked = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
