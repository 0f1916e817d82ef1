"""A query over the buckets of one stream, as they come: stable ones for good, tentative ones until they are stable.

The jobs are those of a replica (`node.fleet.evaluation`): each names the buckets that it reads. So what a query gives of stable buckets does
not depend on how they came, in which steps, or how many at a time; and equals one batch run of the query over the same buckets.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

import pyarrow as pa

from auroral.adhoc.feeds import Feed
from auroral.client.events import Confirmed, Corrected, Event, Gap, Stable, Tentative
from auroral.dpc.events import Evaluate
from auroral.dpc.fragments import cut
from auroral.dpc.values import LOST, Content, Snapshot
from auroral.edge.sinks import output_schema
from auroral.engine.sqltext import STIME
from auroral.model.checking import Checked
from auroral.node.fleet.contents import by_bucket, content_of
from auroral.node.fleet.evaluation import Evaluation
from auroral.node.leftout import LeftOutLog

AT_ONCE = 1024
"""Buckets of one job."""


class Query:
    """Iterate it, in one thread, for the events of its result; `close` may be called from any, and ends the iteration. Nothing is left behind.

    Events are those of `auroral.client`: `Stable`, `Confirmed` and `Corrected` for good, `Tentative` until then, `Gap` for what is lost.
    """

    def __init__(self, feed: Feed, checked: Checked, session: Any):
        self._feed = feed
        (self._fragment,) = cut(checked, None, 1).all
        (self._spec,) = self._fragment.outputs
        self.stream = self._spec.stream
        self.schema = self._fragment.checked.streams[self.stream].schema
        """Of the result."""
        self.position: int | None = None
        """The stime up to which stable results were given: who begins again from there misses nothing, but for what windows see before it."""
        self._horizon = self._spec.reads[feed.stream]
        self._session = session
        self._folder = Path(tempfile.mkdtemp(prefix="auroral-query-"))
        self._evaluation: Evaluation | None = None
        self._first = 0
        self._end = 0
        """The first bucket that is not stable; buckets are numbered from where the query began."""
        self._read: dict[int, Content] = {}
        """The best that is known of each bucket that later ones look at."""
        self._shown: dict[int, int] = {}
        """Tentative results that were given, by bucket, as hashes."""
        self._state: Content | None = None
        self._jobs = 0
        self._events = self._told_of()
        self._at_work, self._closed = Lock(), False
        self._opened = ExitStack()
        self._opened.callback(shutil.rmtree, self._folder, ignore_errors=True)

    def also_closes(self, opened: ExitStack) -> None:
        self._opened.push(opened)

    @property
    def left_out(self) -> dict[str, int]:
        """Rows of stable buckets that boxes of the query left out, by reason."""
        found: dict[str, int] = {}
        for (_, reason), count in ({} if self._evaluation is None else self._evaluation.left_out).items():
            found[reason] = found.get(reason, 0) + count
        return found

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def _told_of(self) -> Iterator[Event]:
        for event in self._feed:
            results = self._of(event)
            while True:
                with self._at_work:
                    found = None if self._closed else next(results, None)
                if found is None:
                    break
                if not isinstance(found, Tentative):
                    self.position = found.hi
                yield found

    def _of(self, event: Event) -> Iterator[Event]:
        if self._evaluation is None:
            self._begin(event)
        match event:
            case Gap():
                yield from self._lost(event)
            case Stable():
                yield from self._stable(event)
            case Tentative():
                yield from self._tentative(event)

    def close(self) -> None:
        self._feed.close()
        # Not while a job runs that has files there.
        with self._at_work:
            self._closed = True
            self._opened.close()

    def __enter__(self) -> Query:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, event: Event) -> None:
        begin = event.lo if not isinstance(event, Tentative) else self._feed.position
        assert begin is not None, "it was heard of"
        self._first = begin // self._feed.bucket
        ledger = LeftOutLog(self._folder / "ledger.db")
        jobs = self._folder / "jobs"
        self._evaluation = Evaluation(self._session, lambda _: self._fragment, self._first, jobs, ledger=ledger)
        self._opened.callback(self._evaluation.close)

    def _stime(self, bucket: int) -> int:
        return (self._first + bucket) * self._feed.bucket

    def _number(self, stime: int) -> int:
        return stime // self._feed.bucket - self._first

    # What is stable

    def _stable(self, event: Stable) -> Iterator[Event]:
        end = self._number(event.hi)
        rows = event.rows.rename_columns([STIME, *self._feed.schema.names])
        while self._end < end:
            begin, until = self._end, min(end, self._end + AT_ONCE)
            cuts = by_bucket(rows, self._first + begin, self._first + until, self._feed.bucket)
            self._read |= {begin + number: content_of(cut) for number, cut in enumerate(cuts)}
            given = self._results(begin, until)
            self._end = until
            yield from self._told(begin, given)
            self._forget()

    def _results(self, begin: int, end: int) -> list[pa.Table]:
        """By bucket."""
        seen = (self._read.get(bucket) for bucket in range(begin - self._horizon + 1, end))
        if not self._spec.folds and not any(content is not None and content.count for content in seen):
            return [self._no_rows()] * (end - begin)
        found = self._run(begin, end, tentative=False)
        if self._spec.folds:
            self._state = found.states[self.stream]
        return [self._as_given(content) for content in found.contents[self.stream]]

    def _run(self, begin: int, end: int, *, tentative: bool) -> Any:
        assert self._evaluation is not None
        self._jobs += 1
        states = {self.stream: Snapshot(self._end, self._state)} if self._spec.folds else {}
        view = {bucket: content for bucket, content in self._read.items() if bucket < end}
        asked = Evaluate(self._jobs, (self.stream,), begin, end, {self._feed.stream: view}, tentative, 0, states)
        return self._evaluation.run(asked)

    def _told(self, begin: int, given: list[pa.Table]) -> Iterator[Event]:
        """Buckets that were told tentatively are events of their own."""
        together: list[pa.Table] = []
        for number, rows in enumerate(given, begin):
            if number not in self._shown:
                together.append(rows)
                continue
            yield from self._together(number, together)
            together = []
            same = self._shown.pop(number) == content_of(rows).hash
            kind = Confirmed if same else Corrected
            yield kind(self.stream, self._stime(number), self._stime(number + 1), rows)
        yield from self._together(begin + len(given), together)

    def _together(self, end: int, tables: list[pa.Table]) -> Iterator[Event]:
        if tables:
            yield Stable(self.stream, self._stime(end - len(tables)), self._stime(end), pa.concat_tables(tables))

    def _forget(self) -> None:
        self._read = {b: content for b, content in self._read.items() if b > self._end - self._horizon}

    def _lost(self, event: Gap) -> Iterator[Event]:
        """Without rows for whoever looks at these buckets."""
        end = self._number(event.hi)
        for bucket in range(self._end, end):
            self._read[bucket] = LOST
            self._shown.pop(bucket, None)
        if self._spec.folds:
            self._results(self._end, end)
        self._end = end
        self._forget()
        yield Gap(self.stream, event.lo, event.hi)

    # What is tentative

    def _tentative(self, event: Tentative) -> Iterator[Event]:
        """Of this bucket, and of those behind it that were told and look at it."""
        bucket = self._number(event.lo)
        self._read[bucket] = content_of(event.rows.rename_columns([STIME, *self._feed.schema.names]))
        behind = [b for b in self._shown if b > bucket and (self._spec.folds or b < bucket + self._horizon)]
        for one in [bucket, *sorted(behind)]:
            (content,) = self._run(one, one + 1, tentative=True).contents[self.stream]
            rows = self._as_given(content)
            told = content_of(rows).hash
            if self._shown.get(one) != told:
                self._shown[one] = told
                yield Tentative(self.stream, self._stime(one), self._stime(one + 1), rows)

    def _no_rows(self) -> pa.Table:
        return output_schema(self.schema).empty_table()

    def _as_given(self, content: Content) -> pa.Table:
        if content.rows is None:
            return self._no_rows()
        wanted = output_schema(self.schema)
        return content.rows.select([STIME, *self.schema.names]).rename_columns(wanted.names).cast(wanted)
