"""From threads to the event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from auroral.wire.errors import WireError, reason_of

T = TypeVar("T")


def post(loop: asyncio.AbstractEventLoop, step: Callable[..., object], *arguments: object) -> None:
    """One that was closed without a stop of the transport has nobody left to tell."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(step, *arguments)


def ask_loop(loop: asyncio.AbstractEventLoop, question: Callable[[], T], patience: float) -> T:
    """What the loop answers, within so many seconds. WireError where it refuses, fails, or does not answer."""
    asked: concurrent.futures.Future[T] = concurrent.futures.Future()

    def ask() -> None:
        if asked.set_running_or_notify_cancel():
            try:
                asked.set_result(question())
            except WireError as error:
                asked.set_exception(error)
            except Exception as error:  # noqa: BLE001  who asks must not wait for ever
                asked.set_exception(WireError(f"the node failed: {reason_of(error)}", "event loop"))
                loop.call_exception_handler({"message": "a connection could not be made", "exception": error})

    post(loop, ask)
    try:
        return asked.result(patience)
    except TimeoutError:
        if asked.cancel():
            raise WireError(f"the node did not answer for {patience:g} s", "event loop") from None
        return asked.result()
