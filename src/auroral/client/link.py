"""The way to the client process of a deployment: what is said to it is said again while it is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as fl

from auroral.client.errors import ClientError, Unreachable
from auroral.model.deployment import Endpoint
from auroral.wire.certificates import SERVER, Certificates
from auroral.wire.outputs import TOKEN_HEADER

T = TypeVar("T")
_ANSWER_WITHIN = 10.0
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0
_CHANNEL = [
    # Somebody who comes back is noticed at once, and somebody who is gone without a word, too.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.enable_http_proxy", 0),
]
AWAY = (fl.FlightUnavailableError, fl.FlightTimedOutError, fl.FlightCancelledError, fl.FlightInternalError)
"""It may come back."""
REFUSED = (fl.FlightError, pa.ArrowException)


def unreachable(at: Endpoint, patience: float, error: Exception) -> Unreachable:
    return Unreachable(
        f"nobody answers at {at} for {patience:g} s: {words(error)}\n    next: auroral status shows whether the client process runs; "
        "where it was begun with --tls, whoever reads needs a certificate (connect(..., certificates=...))"
    )


def refused(at: Endpoint, error: Exception) -> ClientError:
    if isinstance(error, fl.FlightUnauthenticatedError):
        return ClientError(
            f"{at} refuses this token\n    allowed: what stands in the file `token` of the deployment's folder, or AURORAL_TOKEN "
            "where it was started with that\n    next: connect with the folder, or with that token"
        )
    return ClientError(f"{at} refuses: {words(error)}")


def words(error: Exception) -> str:
    """Without what gRPC adds."""
    return str(error).partition(". gRPC client debug context")[0].partition(". Detail:")[0][:300]


class Link:
    def __init__(self, at: Endpoint, token: str, patience: float, certificates: Certificates | None = None):
        self.at, self.patience = at, patience
        self._scheme, self._secure = (
            ("grpc", {}) if certificates is None else ("grpc+tls", certificates.of_caller(SERVER))
        )
        self._token = token
        self._opening = threading.Lock()
        self._opened: Any = None

    def asked(self, question: Callable[[Any, Any], T]) -> T:
        """The answer to a question, which is asked again while nobody answers. It is given a connection, and the options of a call."""
        waiting = Waiting(self)
        while True:
            try:
                return question(self.flight, self.options(_ANSWER_WITHIN))
            except AWAY as error:
                waiting.wait(error)
            except REFUSED as error:
                raise refused(self.at, error) from error

    @property
    def flight(self) -> Any:
        with self._opening:
            if self._opened is None:
                self._opened = fl.FlightClient(f"{self._scheme}://{self.at}", generic_options=_CHANNEL, **self._secure)
            return self._opened

    def options(self, within: float | None = None) -> Any:
        header = (TOKEN_HEADER.encode(), f"Bearer {self._token}".encode())
        return fl.FlightCallOptions(headers=[header], **({} if within is None else {"timeout": within}))

    def close(self) -> None:
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None


class Waiting:
    """Between one try and the next, longer each time, until patience is at its end."""

    def __init__(self, link: Link):
        self.link = link
        self.heard()

    def heard(self) -> None:
        """Somebody is there: it begins anew."""
        self._until: float | None = None
        self._next = _FIRST_WAIT

    def wait(self, error: Exception) -> None:
        if self._until is None:
            self._until = time.monotonic() + self.link.patience
        if time.monotonic() + self._next > self._until:
            raise unreachable(self.link.at, self.link.patience, error) from error
        time.sleep(self._next)
        self._next = min(2 * self._next, _LONGEST_WAIT)
