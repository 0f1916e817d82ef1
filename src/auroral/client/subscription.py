"""One output, read through failures of whoever serves it: after a break it goes on exactly behind what was told last."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from auroral.client.errors import ClientError
from auroral.client.events import Confirmed, Corrected, Event, Gap, Stable, Tentative
from auroral.client.link import AWAY, REFUSED, Link, Waiting, refused
from auroral.client.tupling import Tupling
from auroral.dpc.tuples import Tuple
from auroral.wire.outputs import MOST_SHOWN, Asked, Kind, Told

_STABLE: dict[Kind, type[Stable]] = {
    Kind.STABLE: Stable,
    Kind.CONFIRMED: Confirmed,
    Kind.CORRECTED: Corrected,
}


class Subscription:
    """From `Client.subscribe`. Iterate it, in one thread; `close` may be called from any, and ends the iteration."""

    def __init__(self, link: Link, stream: str, bucket: int, tentative: bool, since: int | None, follow: bool = True):
        self.stream, self.bucket, self.tentative = stream, bucket, tentative
        self.position: int | None = None
        """The stime up to which stable events were given. Whoever keeps it with what is made of them can go on from it in another life:
        `subscribe(stream, since=position)`. None before anything was heard."""
        self.schema: pa.Schema = pa.schema([])
        """Of the rows; known with the first event."""
        self.dropped = 0
        """Tentative versions that were not told, since something newer was there: this reader was slow, or away."""
        self._link, self._since, self._follow = link, since, follow
        self._shown: dict[int, str] = {}
        self._closed = False
        self._reader: Any = None
        self._events = self._through_breaks()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def tuples(self) -> Iterator[Tuple]:
        """The same as the tuples of the thesis: INSERTION, TENTATIVE, UNDO, REC_DONE, BOUNDARY and GAP. Positions are stimes: of a row, that of
        its bucket."""
        tupling: Tupling | None = None
        for event in self._events:
            if tupling is None:
                tupling = Tupling(self.bucket, self._due if isinstance(event, Tentative) else event.lo)
            yield from tupling.tuples(event)

    @property
    def _due(self) -> int:
        assert self.position is not None, "it was heard of"
        return self.position

    def close(self) -> None:
        self._closed = True
        if (reader := self._reader) is not None:
            reader.cancel()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _through_breaks(self) -> Iterator[Event]:
        waiting = Waiting(self._link)
        while not self._closed:
            try:
                yield from self._told(waiting)
                return
            except AWAY as error:
                if not self._closed:
                    waiting.wait(error)
            except REFUSED as error:
                raise refused(self._link.at, error) from error
            finally:
                self._reader = None

    def _told(self, waiting: Waiting) -> Iterator[Event]:
        """Over one connection, until it breaks, or all is told."""
        since = self._since if self.position is None else self.position
        # Of more than anybody may say, the newest: the others are told as if they had not been shown.
        shown = dict(sorted(self._shown.items())[-MOST_SHOWN:])
        asked = Asked(self.stream, since, self.tentative, self._follow, shown)
        dropped = self.dropped
        self._reader = self._link.flight.do_get(fl.Ticket(asked.to_bytes()), self._link.options())
        self.schema, batches = self._reader.schema, list[pa.RecordBatch]()
        while not self._closed:
            try:
                chunk = self._reader.read_chunk()
            except StopIteration:
                return
            waiting.heard()
            told = Told.from_bytes(b"" if chunk.app_metadata is None else chunk.app_metadata.to_pybytes())
            self.dropped = dropped + told.dropped
            if self.position is None:
                self.position = told.lo
            if told.kind is not Kind.ALIVE:
                batches.append(chunk.data)
                if not told.more:
                    rows, batches = pa.Table.from_batches(batches, self.schema), []
                    yield self._event(told, rows)

    def _event(self, told: Told, rows: pa.Table) -> Event:
        if told.kind is Kind.TENTATIVE:
            self._shown[told.lo] = told.digest
            return Tentative(self.stream, told.lo, told.hi, rows)
        if told.lo != self.position:
            raise ClientError(
                f"{self.stream}: stable rows from stime {told.lo} on came, but those from {self.position} on are due\n"
                "    next: report it; subscribe again with since= what you have"
            )
        self.position = told.hi
        self._shown = {lo: digest for lo, digest in self._shown.items() if lo >= told.hi}
        if told.kind is Kind.GAP:
            return Gap(self.stream, told.lo, told.hi)
        return _STABLE[told.kind](self.stream, told.lo, told.hi, rows)
