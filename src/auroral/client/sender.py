"""Sends rows to an input of a deployment, and comes back when they are logged durably. It goes on where it was when the source was killed
and started again: no row is lost or doubled, as long as nobody else sends to that input, and nothing in between (a proxy, a tunnel) holds bytes
of a connection that is broken."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from types import TracebackType
from typing import Any

import pyarrow as pa

from auroral.edge.ledger import Reason
from auroral.edge.spelling import json_lines
from auroral.model.deployment import Endpoint, endpoint
from auroral.model.errors import AuroralError

AT_ONCE = 1000
"""Rows that are sent before their answer is waited for."""
_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_EXPECTED = (Reason.LATE.value, Reason.DROPPED.value)
"""Why the input leaves rows out by its own rule, which is no mistake of who sent them."""


class SenderError(AuroralError):
    """Rows that could not be sent. `Sender.position` tells how many of the input are logged."""


class NoSource(SenderError):
    """The source is not reached, or takes nothing, for longer than the sender's patience."""


class AnotherSender(SenderError):
    """Rows are logged that this sender has not sent."""


class RowsRefused(SenderError):
    """The source left rows out, `left_out` of each reason. All others are logged, and so is which were not."""

    def __init__(self, address: Endpoint, left_out: Mapping[str, int], first: str | None):
        self.left_out = dict(left_out)
        counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        super().__init__(
            f"the source at {address} left out rows: {counts}" + (f"; the first: {first}" if first else "") + "\n"
            "    allowed: rows of the input's schema; the others were taken\n"
            "    next: mend them, and send those again; all of them are in sources/INPUT/rejected.jsonl of the deployment"
        )


class _Broken(Exception):
    """The connection ended, or the source asks for patience."""


class Sender:
    """To the address at which a source takes lines of JSON (`tcp:HOST:PORT`). One thread may use it.

    `patience` is for how many seconds a source that is away, or has no room, is waited for; None is for ever.
    """

    def __init__(self, address: str, *, patience: float | None = 60.0):
        try:
            self.address = endpoint(address.removeprefix("tcp:"))
        except ValueError as error:
            raise SenderError(
                f"{error}\n    allowed: HOST:PORT\n    next: use the address that `auroral up` says, as 127.0.0.1:40123"
            ) from error
        self.patience = patience
        self._connection: socket.socket | None = None
        self._answers = b""
        self._position: int | None = None
        self._left_out: dict[str, int] = {}
        self._in_all: dict[str, int] | None = None
        """Of all rows that the source has left out, those that are known here; None before anything was heard."""
        self._first: str | None = None
        self._preface = b""
        """What each connection begins with."""

    @property
    def position(self) -> int:
        """How many rows of the input are logged, those left out included."""
        if self._position is None:
            self._patiently(self._connect)
        assert self._position is not None
        return self._position

    def send(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """All of these rows; gives the position behind them. Durable when this returns.

        Where rows are left out, the others are sent all the same, and RowsRefused is raised at the end.
        """
        rest = iter(rows)
        while some := list(islice(rest, AT_ONCE)):
            self._send([_spelt(row) for row in some])
        return self._sent()

    def send_table(self, table: pa.Table) -> int:
        """The same for the rows of a pyarrow Table."""
        for part in _parts(table):
            try:
                # As bytes: text has other ends of lines, which may stand in a value.
                lines = json_lines(part).encode().splitlines(keepends=True)
            except (TypeError, pa.ArrowException) as error:
                raise _no_fields(table, str(error)) from error
            self._send(lines)
        return self._sent()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sent(self) -> int:
        if self._left_out:
            refused = RowsRefused(self.address, self._left_out, self._first)
            self._left_out, self._first = {}, None
            raise refused
        return self.position

    def _send(self, lines: Sequence[bytes]) -> None:
        begin = self.position
        try:
            self._patiently(lambda: self._attempt(lines, begin))
        except SenderError:
            # Part of them may be logged: only the source knows.
            self.close()
            self._position = self._in_all = None
            raise

    def _attempt(self, lines: Sequence[bytes], begin: int) -> None:
        end = begin + len(lines)
        if self._connection is None:
            self._connect()
            self._must_be_ours(begin, end)
        assert self._connection is not None
        try:
            self._connection.sendall(b"".join(lines[self.position - begin :]))
        except OSError as error:
            raise _Broken(str(error)) from error
        while self.position < end:
            said = self._hear()
            self._count(said.get("left_out", {}))
            self._first = self._first or said.get("first")
            self._must_be_ours(begin, end)

    def _must_be_ours(self, begin: int, end: int) -> None:
        assert self._position is not None
        if not begin <= self._position <= end:
            raise AnotherSender(
                f"{self._position} rows are logged by the source at {self.address}, where this sender knows of {begin} to {end}\n"
                "    allowed: one sender for an input, for which no row is to be lost or doubled; and the log of a source is never emptied\n"
                "    next: end the other one; or give each an input of its own, and unite them in the diagram"
            )

    def _patiently(self, attempt: Callable[[], None]) -> None:
        """Until it works. What has been logged meanwhile shows that the source lives."""
        since, pause, known = time.monotonic(), _PAUSE, self._position
        while True:
            try:
                return attempt()
            except _Broken as error:
                self.close()
                if self._position != known:
                    since, pause, known = time.monotonic(), _PAUSE, self._position
                elif self.patience is not None and time.monotonic() - since > self.patience:
                    raise NoSource(
                        f"the source at {self.address} has taken nothing for {self.patience:g} s: {error}\n"
                        "    allowed: an input of a deployment that takes lines of JSON (tcp:HOST:PORT)\n"
                        "    next: auroral status says whether it runs; then send again what is behind `position`"
                    ) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _connect(self) -> None:
        try:
            self._connection = socket.create_connection((self.address.host, self.address.port), self.patience)
        except OSError as error:
            raise _Broken(str(error)) from error
        self._answers = b""
        said = self._hear()
        in_all: dict[str, int] = said.get("left_out_in_all", {})
        if self._in_all is None:
            self._in_all = in_all
        # What was left out while the connection broke, so that it was not heard of.
        self._count({reason: count - self._in_all.get(reason, 0) for reason, count in in_all.items()})
        try:
            self._connection.sendall(self._preface)
        except OSError as error:
            raise _Broken(str(error)) from error

    def _hear(self) -> dict[str, Any]:
        """The next answer."""
        assert self._connection is not None
        while b"\n" not in self._answers:
            try:
                data = self._connection.recv(1 << 16)
            except OSError as error:
                raise _Broken(str(error)) from error
            if not data:
                raise _Broken("it has ended the connection")
            self._answers += data
        line, _, self._answers = self._answers.partition(b"\n")
        try:
            said: dict[str, Any] = json.loads(line)
            if "error" not in said:
                self._position = int(said["rows"])
        except (ValueError, TypeError, KeyError) as error:
            raise SenderError(
                f"what answers at {self.address} is no source: {line[:80]!r}\n"
                "    allowed: an input of a deployment that takes lines of JSON (tcp:HOST:PORT)\n    next: check the address"
            ) from error
        if "error" in said:
            self.close()
            if said.get("retry"):
                raise _Broken(str(said["error"]))
            raise SenderError(f"the source at {self.address} refused: {said['error']}")
        return said

    def _count(self, left_out: Mapping[str, int]) -> None:
        assert self._in_all is not None
        for reason, count in left_out.items():
            self._in_all[reason] = self._in_all.get(reason, 0) + count
            if reason not in _EXPECTED and count:
                self._left_out[reason] = self._left_out.get(reason, 0) + count


def _no_fields(table: pa.Table, why: str) -> SenderError:
    return SenderError(
        f"the table has columns that are no fields of rows: {why}\n"
        "    allowed: numbers, text, booleans, timestamps in microseconds, dates, decimals, bytes\n"
        f"    next: cast or drop them; it has {', '.join(f'{field.name} {field.type}' for field in table.schema)}"
    )


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise _no_fields(table, field.name)
    for begin in range(0, table.num_rows, AT_ONCE):
        yield table.slice(begin, AT_ONCE)


def _spelt(row: Mapping[str, Any]) -> bytes:
    given: object = row
    if not isinstance(given, Mapping):
        raise SenderError(
            f"a row is a {type(given).__name__}: {str(given)[:80]}\n    allowed: dicts from field to value\n"
            "    next: send([{'FIELD': VALUE, ...}, ...]), or send_table for a pyarrow Table"
        )
    try:
        return json.dumps(row, default=_plain, ensure_ascii=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise SenderError(
            f"a row cannot be sent: {error}: {str(given)[:200]}\n"
            "    allowed: numbers, text, booleans, None, datetimes, dates, Decimals, bytes\n    next: convert the value"
        ) from error


def _plain(value: Any) -> Any:
    """What JSON has no words for, in the words that sources read; a datetime without a zone is UTC."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return value.item()
    raise TypeError(f"a {type(value).__name__} is no value of a field")
