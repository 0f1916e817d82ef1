"""Serves the page from a thread of whatever program wants it to be there."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from auroral.model.deployment import LOCAL_HOST, Endpoint
from auroral.model.errors import AuroralError
from auroral.node.fleet.deployed import agreed_in
from auroral.node.fleet.serving import token_of
from auroral.ui.controls.operator import operator_token
from auroral.ui.guarding import KEY, key_of
from auroral.ui.replay.recording import open_recording
from auroral.ui.replay.replaying import Replaying
from auroral.ui.replay.server import make_replay
from auroral.ui.server import make_app
from auroral.ui.watching import Watched

PORT = 8425
_STARTED_WITHIN, _ENDED_WITHIN = 20.0, 5.0


class CannotServe(AuroralError):
    """No page can be shown there."""


@dataclass(frozen=True, slots=True)
class Served:
    address: str
    """With its key: for whoever may see the rows."""
    thread: threading.Thread


@contextmanager
def served(
    folder: Path, host: str = LOCAL_HOST, port: int | None = None, *, controls: bool = False
) -> Iterator[Served]:
    """While this is open. Without a port the usual one, or any that is free where somebody has that."""
    agreed_in(folder)
    if controls and not Endpoint(_as_called(host)).loopback:
        raise CannotServe(
            f"--controls at {host}: the operator's token would pass where others can read it\n    allowed: this machine alone ({LOCAL_HOST})\n"
            f"    next: leave --host out, and come through a tunnel: ssh -L {PORT}:{LOCAL_HOST}:{PORT} HOST"
        )
    watched, key = Watched(folder, controls), key_of(token_of(folder))
    app = partial(make_app, watched, key, operator=operator_token(folder) if controls else None)
    with _served(app, key, host, port) as found:
        yield found


@contextmanager
def replayed(path: Path, host: str = LOCAL_HOST, port: int | None = None) -> Iterator[Served]:
    """A recording, while this is open."""
    recording = open_recording(path)
    key = key_of(token_of(path)) if path.is_dir() else secrets.token_hex(16)
    with _served(partial(make_replay, Replaying(recording), key), key, host, port) as found:
        yield found


@contextmanager
def _served(make: Callable[..., Starlette], key: str, host: str, port: int | None) -> Iterator[Served]:
    with _listening(host, port) as listening:
        port = listening.getsockname()[1]
        anywhere = Endpoint(host, port).unspecified
        called = Endpoint(_as_called(socket.gethostname() if anywhere else host), port)
        app = make(host=called.host, port=port, anywhere=anywhere)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, lifespan="on")
        server = _Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), name="ui", daemon=True)
        thread.start()
        until = time.monotonic() + _STARTED_WITHIN
        while not server.started:
            if not thread.is_alive() or time.monotonic() > until:
                raise CannotServe(f"the page at {called} did not come up\n    next: look at what is said above")
            time.sleep(0.01)
        try:
            yield Served(f"http://{called}/?{KEY}={key}", thread)
        finally:
            if thread.is_alive():
                app.state.end()
            server.should_exit = True
            thread.join(_ENDED_WITHIN)


def _as_called(host: str) -> str:
    """As it stands in an address."""
    plain = host.strip("[]")
    return f"[{plain}]" if ":" in plain else plain


class _Server(uvicorn.Server):
    """Signals are for the program that it is in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def _listening(host: str, port: int | None) -> Iterator[socket.socket]:
    try:
        opened = _bound(host, PORT if port is None else port)
    except OSError as error:
        if port is None:
            opened = _bound_or_said(host, 0)
        else:
            raise _cannot(host, port, error) from error
    with opened:
        yield opened


def _bound_or_said(host: str, port: int) -> socket.socket:
    try:
        return _bound(host, port)
    except OSError as error:
        raise _cannot(host, port, error) from error


def _cannot(host: str, port: int, error: OSError) -> CannotServe:
    return CannotServe(
        f"the page cannot be served at {host}:{port}: {error.strerror or error}\n"
        "    allowed: an address of this machine, and a port that nobody listens on\n    next: choose another --port, or leave it out"
    )


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(64)
    except OSError:
        opened.close()
        raise
    return opened
