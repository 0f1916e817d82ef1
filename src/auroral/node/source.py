"""One input of a run: its rows are stamped and logged durably, and only then may anything see them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from auroral.edge import rejectedrows
from auroral.edge.ledger import Reason
from auroral.edge.logindex import Part
from auroral.edge.records import Kind
from auroral.edge.refusals import Refused
from auroral.edge.sourcelog import LogState, SourceLog
from auroral.edge.stamping import Stamper, StampError, stamped_schema
from auroral.model.diagram import Input
from auroral.node.ranges import SourceSpan


class RunStopped(StampError):
    """Rows came after the run had stopped. None was taken: they can be given again when it is resumed."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of rows: so many are in the stream, others were left out, and so many of the input are behind the log now."""

    logged: int
    left_out: Mapping[Reason, int]
    rows_read: int


class Source:
    """Stamper and log of one input. Any thread may call it: pushing, reading files and evaluating do."""

    def __init__(self, given: Input, bucket: int, folder: Path, used: int | None = None, ahead: int | None = None):
        """`used` is the stime up to which the run has evaluated it; `ahead` how far ahead of the clock rows may be."""
        self.input = given
        self.log = SourceLog.open(folder, given.schema, stream=given.stream, used=used)
        self.notes: list[str] = []
        """What whoever watches the run should know of this input."""
        if self.log.torn is not None:
            self.notes.append(
                f"input {given.stream!r}: cut off what a crash left; {self.log.torn}, of rows not yet taken"
            )
        self._stamper = Stamper(given, bucket, self.log.state.stamp, ahead)
        self.room = threading.Event()
        """While it is not set, rows wait to be taken."""
        self.room.set()
        self._lock = threading.Lock()
        self._first = self.log.first_stime
        # Parts of an earlier process are compared with their checksums when they are used.
        self._old = self.log.next_number
        self._closed = False

    @property
    def state(self) -> LogState:
        return self.log.state

    @property
    def needs_clock(self) -> bool:
        """Whether its boundary moves by itself."""
        stamp = self.input.stamp
        return not self.state.ended and (stamp is None or stamp.field is None or stamp.idle_after is not None)

    def begin(self, stime: int) -> None:
        """The first stime that counts, for an input that has none yet: rows before it are late."""
        with self._lock:
            if self._stamper.state.boundary is None:
                self._stamper.state = replace(self._stamper.state, boundary=stime)
                self.log.mark(self._stamper.state)

    def take(self, rows: pa.Table, now_us: int, refused: Sequence[Refused] = (), rows_read: int | None = None) -> int:
        """Stamp and log rows; gives how many are in the stream. After an error it is as if they never came."""
        return self.take_in(rows, now_us, refused, rows_read).logged

    def take_in(
        self, rows: pa.Table, now_us: int, refused: Sequence[Refused] = (), rows_read: int | None = None
    ) -> Taken:
        """The same, for who wants to know more of them."""
        self.room.wait()
        with self._lock:
            self._must_be_open()
            before = self._stamper.state
            try:
                stamped = self._stamper.stamp(rows, now_us)
                self.log.append(stamped, self._stamper.state, refused=refused, rows_read=rows_read)
            except BaseException:
                self._stamper.state = before
                raise
            kept = int(stamped.rows.num_rows)
            if kept:
                smallest = int(stamped.rows.column(0).to_numpy().min())
                self._first = smallest if self._first is None else min(self._first, smallest)
            counts = {reason: n for reason, n in stamped.counts.items() if not reason.keeps_row}
            left_out = counts | ({Reason.REFUSED: len(refused)} if refused else {})
            return Taken(kept, left_out, self.log.state.rows_read)

    def advance(self, now_us: int) -> None:
        """Let the boundary follow the clock, where the input says so."""
        with self._lock:
            if not self._closed and self.needs_clock:
                self._stamper.advance(now_us)
                self.log.mark(self._stamper.state)

    def end(self) -> None:
        """No more rows come. To say so twice is no error."""
        with self._lock:
            if not self._closed and not self.state.ended:
                self._stamper.end_of_input()
                self.log.mark(self._stamper.state, ended=True)

    def go_on(self, boundary: int) -> None:
        """For an input that has ended, of which others still want to know that nothing comes: up to this boundary nothing did."""
        with self._lock:
            state = self._stamper.state
            if not self._closed and self.state.ended and (state.boundary is None or boundary > state.boundary):
                self._stamper.state = replace(state, boundary=boundary)
                self.log.mark(self._stamper.state, ended=True)

    def nothing_taken(self) -> str | None:
        """What to say where the input has ended, and every single row of it was left out."""
        state, stream = self.state, self.input.stream
        if not state.ended or state.rows or not state.rows_read:
            return None
        counts = ", ".join(f"{row.count} {row.reason}" for row in state.ledger.rows())
        first = rejectedrows.first(self.log.rejected_path)
        return f"no row of input {stream!r} was taken: {counts}" + (f"; the first: {first}" if first else "")

    def span(self) -> SourceSpan:
        with self._lock:
            state = self.log.state
            return SourceSpan(self._first, state.boundary, state.ended)

    def rows_between(self, lo: int, hi: int) -> int:
        """At most so many rows are in [lo, hi): parts count as a whole."""
        return sum(part.rows for part in self.parts(lo, hi))

    def next_row(self, stime: int) -> int | None:
        """The first stime at or after `stime`; None where there is none."""
        parts = self.parts(stime)
        found = [part.low for part in parts if part.low >= stime]
        for part in parts:
            if part.low < stime:
                stimes = self.log.read_part(part).column(0).to_numpy()
                found += [int(stimes[stimes >= stime].min())]
        return min(found, default=None)

    def settle(self, stime: int) -> None:
        """Rows before `stime` were evaluated, and their outputs are durable."""
        with self._lock:
            self.log.settle(stime)

    def parts(self, lo: int | None = None, hi: int | None = None) -> list[Part]:
        with self._lock:
            return self.log.parts(lo, hi)

    def read(self, lo: int, hi: int) -> pa.Table:
        """Rows of [lo, hi), as they were logged. Closed buckets only: they do not change any more."""
        with self._lock:
            return self.log.read(lo, hi)

    def whole_files(self, lo: int, hi: int) -> list[Part]:
        """Parts that are Parquet files of their own and lie in [lo, hi) as a whole."""
        found = [p for p in self.parts(lo, hi) if p.kind is Kind.PARQUET and lo <= p.low and p.high < hi]
        for part in found:
            if part.number < self._old:
                self.log.read_part(part)
        return found

    def read_but(self, lo: int, hi: int, but: Sequence[Part]) -> pa.Table:
        """Rows of [lo, hi) that are not in these parts."""
        out = {part.number for part in but}
        tables = [self.log.read_part(part) for part in self.parts(lo, hi) if part.number not in out]
        together = pa.concat_tables([stamped_schema(self.input.schema).empty_table(), *tables])
        stimes = together.column(0).to_numpy()
        return together.filter(pa.array((stimes >= lo) & (stimes < hi)))

    def close(self) -> None:
        self.room.set()
        with self._lock:
            self._closed = True
            self.log.close()

    def _must_be_open(self) -> None:
        if self._closed:
            raise RunStopped(
                f"rows for {self.input.stream!r} came after the run had stopped\n"
                "    next: resume the run folder, and push them then"
            )
        if self.state.ended:
            raise StampError(
                f"rows for {self.input.stream!r} came after its end\n"
                "    allowed: rows until close() is called or the file has ended\n"
                "    next: close an input only when no more rows come; begin a new run for more"
            )
