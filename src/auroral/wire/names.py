"""Addresses of names, asked for beside everything else: a name server may take any time, and nothing ends a question to it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable

from auroral.wire.posting import post

Answered = Callable[[tuple[str, ...]], None]
"""Told, by the loop, all addresses that a name stands for, the likeliest first; none where nobody knows it."""


class Names:
    """Of one transport. However often a name is asked for, one question is under way at most: whoever asks meanwhile gets the same answer.
    Who does not want it any more need not wait: a question is all that may be left of a transport when it stops."""

    def __init__(self) -> None:
        self._asking: dict[str, list[Answered]] = {}

    def ask(self, host: str, loop: asyncio.AbstractEventLoop, answered: Answered) -> None:
        """By the loop. An address stands for itself, and is answered at once."""
        if is_address(host):
            answered((host,))
        elif host in self._asking:
            self._asking[host].append(answered)
        else:
            self._asking[host] = [answered]
            threading.Thread(target=self._ask, args=(host, loop), name=f"name-of-{host}", daemon=True).start()

    def _ask(self, host: str, loop: asyncio.AbstractEventLoop) -> None:
        post(loop, self._answer, host, addresses(host))

    def _answer(self, host: str, found: tuple[str, ...]) -> None:
        for answered in self._asking.pop(host):
            answered(found)


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def addresses(host: str) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
