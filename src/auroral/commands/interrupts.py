"""Ctrl-C as a wish: the first one asks to stop when the job is done, the second one to stop now."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auroral.app import App
    from auroral.commands.watching import Watch

CANCEL_SECONDS = 8.0
"""How long a job may take to notice that it is given up. Then the program ends without it: run folders bear that."""
_LOOK = 0.1
_NAP = 0.02


class Wish:
    """That a signal handler may set. Not an Event: its handler runs in the thread that waits, which may just hold the Event's lock, and both
    would wait for ever."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> bool:
        """Until it is set, for so long at most; gives whether it is."""
        until = time.monotonic() + seconds
        while not self._set and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _NAP))
        return self._set


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for so far: to `stop` after this job, or to stop `now`."""

    stop: Wish = field(default_factory=Wish)
    now: Wish = field(default_factory=Wish)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Within, SIGTERM ends the program as Ctrl-C does, so that temporary folders go. Only the main thread can say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def noted() -> Iterator[Asked]:
    """Within, SIGINT and SIGTERM set one wish after the other; a third one raises KeyboardInterrupt.

    To be entered after Spark has started: its own handler would cancel the jobs that are running.
    """
    asked = Asked()

    def note(_number: int, _frame: FrameType | None) -> None:
        if asked.now.is_set():
            raise KeyboardInterrupt
        (asked.now if asked.stop.is_set() else asked.stop).set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def followed(app: App, asked: Asked, watch: Watch) -> None:
    """Watch a run until it ends, or until it has stopped as somebody asked. What it failed with is in the App."""
    while app.is_active and not asked.stop.wait(_LOOK):
        watch(app.status)
    if app.is_active:
        watch.note("stopping after this job; press Ctrl-C again to stop now")
        app.request_stop(drain=False)
    while app.is_active and not asked.now.wait(_LOOK):
        watch(app.status)
    if app.is_active:
        watch.note("stopping now")
        app.cancel(CANCEL_SECONDS)
    watch(app.status, last=True)
