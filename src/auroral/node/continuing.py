"""Whether an input that is given again is the one that was read before, and where in it to go on.

What was read is in the log, so that the last rows of the log can be compared with the same rows of what is given now.
Of a file, its size and a hash of its beginning are remembered besides. A name says nothing: files are moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from auroral.edge.batches import Batch, InputError
from auroral.edge.ledger import Reason
from auroral.edge.records import Header
from auroral.edge.sourcelog import SourceLog
from auroral.model.schema import arrow_schema
from auroral.node.compare import bitwise_rows

_COMPARED = 1000


@dataclass(frozen=True, slots=True)
class LastRead:
    """Rows [first, end) of an input gave `rows` of the log; `left_out` others converted, but were late or rejected."""

    first: int
    end: int
    rows: pa.Table
    left_out: int

    @staticmethod
    def of(log: SourceLog) -> LastRead | None:
        """None where the log has no rows, or has none left."""
        found: tuple[int, Header] | None = None
        before = log.base.state.rows_read
        for entry in log.entries():
            if entry.header.rows and entry.header.rows_read > before:
                found = before, entry.header
            before = entry.header.rows_read
        if found is None:
            return None
        first, header = found
        (part,) = [part for part in log.parts(header.low) if part.number == header.number]
        lost = {
            reason: n for reason, n in header.counts.items() if not reason.keeps_row and reason is not Reason.REFUSED
        }
        rows = log.read_part(part).select(list(log.schema.names))
        return LastRead(first, header.rows_read, rows, sum(lost.values()))

    def gave(self, tables: list[pa.Table], log: SourceLog) -> bool:
        """Whether the rows of these tables, which stand at [first, end) now, may have given the log's."""
        try:
            types = arrow_schema(log.schema)
            given = pa.concat_tables([table.select(types.names).cast(types) for table in tables])
        except (pa.ArrowException, KeyError, ValueError):
            return False
        if given.num_rows - self.rows.num_rows != self.left_out:
            return False
        count = min(_COMPARED, self.rows.num_rows)
        ours = bitwise_rows(self.rows.slice(self.rows.num_rows - count))
        theirs = bitwise_rows(given.slice(max(0, given.num_rows - count - self.left_out)))
        # The log's rows stand among those given in the same order; what was left out lies between them.
        behind = reversed(theirs)
        return all(any(row == other for other in behind) for row in reversed(ours))


class Continued:
    """Passes over the rows of an input that its log has, as they come by, and compares the last of them."""

    def __init__(self, log: SourceLog, name: str):
        self.log, self.name = log, name
        self.rows_read = log.state.rows_read
        self.last = LastRead.of(log) if self.rows_read else None
        self._seen: list[pa.Table] = []
        self._at = 0

    @property
    def begin(self) -> int:
        """The first row that must be looked at: also where nothing is compared, the last one read must be there."""
        return self.last.first if self.last is not None else max(0, self.rows_read - 1)

    def new_rows(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """What lies behind the rows read before; they must all be there. `batches` start at `begin`."""
        self._at = self.begin
        while self._at < self.rows_read:
            batch = next(batches, None)
            if batch is None:
                raise self.too_short(self._at if self._at > self.begin else None)
            rest = self.behind(batch)
            if rest.read:
                return chain([rest], batches)
        return batches

    def behind(self, batch: Batch) -> Batch:
        """What is new of the next batch; the last row that is not is compared here."""
        if self.last is not None:
            self._seen.append(batch.split(self.last.first)[1].split(self.last.end)[0].rows)
        self._at = batch.end
        if self._at >= self.rows_read:
            self._compare()
        return batch.split(self.rows_read)[1]

    @property
    def all_passed(self) -> bool:
        return self._at >= self.rows_read

    def _compare(self) -> None:
        if self.last is not None and not self.last.gave(self._seen, self.log):
            what = f"rows {self.last.first + 1} to {self.last.end} are others than those in the run's log"
            raise not_the_same(self.log.stream, self.name, what)
        self._seen = []

    def too_short(self, count: int | None) -> InputError:
        found = "fewer rows" if count is None else f"only {count} rows"
        return not_the_same(
            self.log.stream, self.name, f"it has {found} now, shorter than the {self.rows_read} read before"
        )


def not_the_same(stream: str, name: str, what: str) -> InputError:
    return InputError(
        f"{name} for input {stream!r} is not what was read before: {what}\n"
        "    allowed: the same rows from the beginning on, which are passed over, and more behind them\n"
        "    next: give the input as it was; or begin a new run in another folder; or leave the input out, and push new "
        "rows with app.push(...)"
    )
