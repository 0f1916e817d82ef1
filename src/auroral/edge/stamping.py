"""Giving rows their stime and seq, and closing buckets behind them. Pure: no clock is read, nothing is
written.

A *boundary* is a multiple of the bucket interval and a promise: every row still to come has `stime >=
boundary`, so that all buckets that end at or before it are closed. A source stamped by a field promises the
start of the bucket that holds `newest stime - delay`; one stamped by the clock, the start of the bucket that
holds now.

Rows go through one by one as far as meaning is concerned (each is late or not by the boundary in force when
its turn comes), so the result does not depend on how they are cut into batches; the work is done on whole
columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from auroral.edge.ledger import Reason
from auroral.model.diagram import Input, Late, Stamp
from auroral.model.errors import AuroralError, DiagramError, Problem, nearest, unknown_name
from auroral.model.schema import Schema, arrow_schema
from auroral.model.types import Kind

STIME = "__stime"
SEQ = "__seq"
REASON = "__reason"
# Room on both sides for a delay, a bucket or a window before 64 bits overflow.
STIME_LIMIT = 2**62

# Codes of what becomes of a row; the order is the order in which reasons are looked for.
_KEPT = 0
_CODES = (Reason.NO_STIME, Reason.STIME_RANGE, Reason.FUTURE, Reason.TOO_LONG, Reason.LATE, Reason.DROPPED)


class StampError(AuroralError):
    """Rows that are not of the input's schema, or an input that cannot be stamped."""


@dataclass(frozen=True, slots=True)
class StampState:
    """All that a source must remember: restored, it goes on as if it had never stopped."""

    next_seq: int = 0
    newest_stime: int | None = None
    boundary: int | None = None

    def to_json(self) -> dict[str, int | None]:
        return asdict(self)

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> StampState:
        return StampState(stored["next_seq"], stored["newest_stime"], stored["boundary"])


@dataclass(frozen=True, slots=True)
class Stamped:
    """What became of `offered` rows. `rows` has `__stime` and `__seq` in front; `rejected` has `__reason`
    behind.

    `counts` has every row that did not go the ordinary way; those moved are also in `rows`, those dropped
    nowhere.
    """

    rows: pa.Table
    rejected: pa.Table
    counts: Mapping[Reason, int]
    boundary: int | None
    offered: int


def stamped_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of rows in a source log: the system columns, then the fields."""
    return pa.schema([pa.field(STIME, pa.int64()), pa.field(SEQ, pa.int64()), *arrow_schema(schema)])


def rejected_schema(schema: Schema) -> pa.Schema:
    return pa.schema([*arrow_schema(schema), pa.field(REASON, pa.string())])


class Stamper:
    """Stamps the rows of one input. `state` is the whole of its memory that must survive.

    How long the input has been silent is counted from this object's first call on, not over a restart: a
    source that was stopped for an hour was not idle for an hour. A row whose stime is more than `ahead` microseconds
    ahead of the clock is refused; None is for what was recorded, of which the clock says nothing.
    """

    def __init__(self, source: Input, bucket: int, state: StampState | None = None, ahead: int | None = None):
        if bucket <= 0:
            raise ValueError(f"the bucket interval is {bucket} us; it must be at least 1")
        self.input = source
        self.bucket = bucket
        self.state = state or StampState()
        self._stamp = source.stamp or Stamp()
        self._ahead = ahead
        self._arrow = arrow_schema(source.schema)
        self._heard: int | None = None
        self._check()

    def stamp(self, table: pa.Table, now_us: int) -> Stamped:
        """Stamp the next rows, in their order."""
        rows = self._conform(table)
        count = rows.num_rows
        if count:
            self._heard = now_us
        codes = np.zeros(count, dtype=np.int8)
        if self._stamp.field is None:
            self._mark_too_long(rows, codes)
            stimes, in_force = self._by_clock(count, now_us)
            moved = np.zeros(count, dtype=bool)
        else:
            stimes = self._by_field(rows, codes)
            if self._ahead is not None:
                codes[(stimes > now_us + self._ahead) & (codes == _KEPT)] = 1 + _CODES.index(Reason.FUTURE)
            self._mark_too_long(rows, codes)
            in_force = self._boundaries(stimes, codes)
            moved = self._late(stimes, in_force, codes)
        if count:
            # Rows without a usable stime say nothing about time.
            if self.state.newest_stime is not None or bool((codes == _KEPT).any()):
                self._raise_boundary(int(in_force[-1]))
        elif self._stamp.field is None:
            self._raise_boundary(self._start(now_us))
        return self._result(rows, stimes, codes, int(moved.sum()))

    def advance(self, now_us: int) -> int | None:
        """The boundary when no row came: by the clock, or for a field once the input is silent for
        `idle_after`.

        A silent input's stime goes on at the pace of the clock from its newest row; one that never had a row
        takes the clock itself, for want of anything else.
        """
        if self._stamp.field is None:
            self._raise_boundary(self._start(now_us))
            return self.state.boundary
        if self._heard is None:
            self._heard = now_us
        silent = now_us - self._heard
        if self._stamp.idle_after is not None and silent >= self._stamp.idle_after:
            newest = self.state.newest_stime
            reached = now_us if newest is None else newest + silent
            self._raise_boundary(self._start(reached - self._stamp.delay))
        return self.state.boundary

    def end_of_input(self) -> int | None:
        """No row comes any more: the end of the last bucket that has rows. None where there never was a
        row."""
        if self.state.newest_stime is not None:
            self._raise_boundary(self._start(self.state.newest_stime) + self.bucket)
        return self.state.boundary

    def _start(self, stime: int) -> int:
        return stime // self.bucket * self.bucket

    def _raise_boundary(self, boundary: int) -> None:
        # Floored at the range of stimes: nothing below it can come.
        boundary = max(boundary, self._start(-STIME_LIMIT))
        if self.state.boundary is None or boundary > self.state.boundary:
            self.state = replace(self.state, boundary=boundary)

    def _check(self) -> None:
        name = self._stamp.field
        if name is None:
            return
        place = self.input.place
        kind = self.input.schema.get(name)
        if kind is None:
            raise DiagramError([unknown_name("stime field", name, self.input.schema.names, place)])
        if not (kind.is_integer or kind.kind is Kind.TIMESTAMP):
            what = f"stime field {name!r} is a {kind}"
            raise DiagramError([Problem(what, place, "a timestamp or an integer field", "choose another field")])
        if self._stamp.unit <= 0 or not 0 <= self._stamp.delay < STIME_LIMIT:
            what = f"stime field {name!r} has unit {self._stamp.unit} and delay {self._stamp.delay}"
            raise DiagramError([Problem(what, place, "a unit of at least 1 us, a delay of 0 or more", "mend the two")])

    def _conform(self, table: pa.Table) -> pa.Table:
        missing = [name for name in self.input.schema.names if name not in table.column_names]
        if missing:
            guess = nearest(missing[0], table.column_names)
            raise StampError(
                f"rows for {self.input.stream!r} lack the field {missing[0]!r}\n    allowed: {self.input.schema}\n"
                f"    next: {f'rename {guess!r} to it' if guess else 'add the column; where it has no value, null'}"
            )
        chosen = table.select(list(self.input.schema.names))
        if chosen.schema.equals(self._arrow):
            return chosen
        try:
            return chosen.cast(self._arrow)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise StampError(
                f"rows for {self.input.stream!r} do not fit its schema: {error}\n"
                f"    allowed: {self.input.schema}\n    next: convert the columns before they are pushed"
            ) from error

    def _by_clock(self, count: int, now_us: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        # A clock that is set back must not take a source with it.
        known = [now_us, self.state.newest_stime, self.state.boundary]
        stime = max(value for value in known if value is not None)
        return np.full(count, stime, dtype=np.int64), np.full(count, self._start(stime), dtype=np.int64)

    def _by_field(self, rows: pa.Table, codes: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        column = rows.column(self._stamp.field)
        if column.null_count:
            codes[column.is_null().to_numpy()] = 1 + _CODES.index(Reason.NO_STIME)
        values = column.cast(pa.int64()).fill_null(0).to_numpy()
        limit = STIME_LIMIT // self._stamp.unit
        beyond = (values > limit) | (values < -limit)
        if beyond.any():
            codes[beyond] = 1 + _CODES.index(Reason.STIME_RANGE)
            values = np.where(beyond, 0, values)
        return np.asarray(values * np.int64(self._stamp.unit), dtype=np.int64)

    def _mark_too_long(self, rows: pa.Table, codes: npt.NDArray[np.int8]) -> None:
        for field in self.input.schema.fields:
            if field.type.size is None:
                continue
            over = pc.greater(pc.utf8_length(rows.column(field.name)), field.type.size).fill_null(False)
            if pc.any(over).as_py():
                codes[over.to_numpy() & (codes == _KEPT)] = 1 + _CODES.index(Reason.TOO_LONG)

    def _boundaries(self, stimes: npt.NDArray[np.int64], codes: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """The boundary in force at each row. The row itself may count: it is never late by its own stime."""
        lowest = -STIME_LIMIT
        newest = self.state.newest_stime
        reach = np.where(codes == _KEPT, stimes, lowest) if codes.any() else stimes.copy()
        if len(reach) and newest is not None:
            reach[0] = max(int(reach[0]), newest)
        # The delay may be as large as the range itself: stop at its lower end.
        reach = np.maximum(np.maximum.accumulate(reach), lowest + self._stamp.delay) - self._stamp.delay
        boundaries = reach // self.bucket * self.bucket
        if self.state.boundary is not None:
            boundaries = np.maximum(boundaries, self.state.boundary)
        return boundaries

    def _late(
        self, stimes: npt.NDArray[np.int64], in_force: npt.NDArray[np.int64], codes: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.bool_]:
        """Deal with late rows by the input's policy; gives those that were moved."""
        late: npt.NDArray[np.bool_] = (stimes < in_force) & (codes == _KEPT)
        if self.input.late is Late.MOVE:
            stimes[late] = in_force[late]
            return late
        codes[late] = 1 + _CODES.index(Reason.LATE if self.input.late is Late.REJECT else Reason.DROPPED)
        return np.zeros(len(late), dtype=bool)

    def _result(
        self, rows: pa.Table, stimes: npt.NDArray[np.int64], codes: npt.NDArray[np.int8], moved: int
    ) -> Stamped:
        offered = rows.num_rows
        counts = {Reason.MOVED: moved} if moved else {}
        rejected = rejected_schema(self.input.schema).empty_table()
        if codes.any():
            counts |= {reason: n for code, reason in enumerate(_CODES, 1) if (n := int((codes == code).sum()))}
            refused = (codes != _KEPT) & (codes != 1 + _CODES.index(Reason.DROPPED))
            reasons = np.array([""] + [reason.value for reason in _CODES], dtype=object)[codes[refused]]
            rejected = rows.filter(pa.array(refused)).append_column(REASON, pa.array(reasons, pa.string()))
            rows, stimes = rows.filter(pa.array(codes == _KEPT)), stimes[codes == _KEPT]
        kept = len(stimes)
        seqs = np.arange(self.state.next_seq, self.state.next_seq + kept, dtype=np.int64)
        columns = [pa.chunked_array([pa.array(stimes)]), pa.chunked_array([pa.array(seqs)]), *rows.columns]
        if kept:
            before = self.state.newest_stime
            newest = int(stimes.max())
            newest = newest if before is None else max(newest, before)
            self.state = replace(self.state, next_seq=self.state.next_seq + kept, newest_stime=newest)
        stamped = pa.Table.from_arrays(columns, schema=stamped_schema(self.input.schema))
        return Stamped(stamped, rejected, counts, self.state.boundary, offered)
