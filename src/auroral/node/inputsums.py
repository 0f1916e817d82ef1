"""The rows of an input for a batch run, each compared with its checksum, and the sums that they must give."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from auroral.edge import rejectedrows
from auroral.edge.ledger import Reason
from auroral.edge.logbase import LogState
from auroral.edge.logindex import Part
from auroral.edge.records import Kind
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ, STIME
from auroral.engine.batch import SourceRows
from auroral.node.report import LedgerLine
from auroral.node.verified import Logged


@dataclass(slots=True)
class InputSums:
    """`used` is how many rows lie in the stretch that is compared, `logged` where the log ended."""

    logged: Logged
    rows: SourceRows = field(default_factory=SourceRows)
    used: int = 0
    lines: list[LedgerLine] = field(default_factory=list)


def read_input(
    log: SourceLog, earlier: Logged | None, begin: int | None, since: int | None, until: int | None
) -> InputSums:
    """Read the parts with rows from `begin` on; those of stime `since` up to `until` are the ones used, none where
    nothing was closed yet.

    The totals are those of the whole log. What is not read was counted by an `earlier` verification, and must still be
    as much as it was then.
    """
    sums = InputSums(_logged(log, earlier))
    parts = {part.number: part for part in log.parts(begin)}
    passed_over, read, in_order = log.base.state.rows, 0, 0
    before = log.state
    for state, header in log.history():
        if earlier is not None and header.number == earlier.records:
            before = state
        part = parts.get(header.number)
        if part is None:
            passed_over += header.rows
            continue
        table = _read(log, part, sums.rows)
        read += table.num_rows
        # A row's number is its place in the whole log.
        in_order += int(np.count_nonzero(table.column(SEQ).to_numpy() == state.rows + np.arange(table.num_rows)))
        sums.used += _between(table.column(STIME).to_numpy(), since, until)
    if earlier is not None:
        sums.lines += _as_before(log, earlier, before)
    sums.lines += _totals(log, sums.logged.rejected, passed_over + read, passed_over + in_order)
    return sums


def _logged(log: SourceLog, earlier: Logged | None) -> Logged:
    path, counted, begin = log.rejected_path, 0, 0
    if earlier is not None and path.exists() and path.stat().st_size >= earlier.rejected_bytes:
        counted, begin = earlier.rejected, earlier.rejected_bytes
    rejected = counted + rejectedrows.count(path, begin, log.rejected_bytes)
    return Logged(log.next_number, log.state.rows, log.state.rows_read, rejected, log.rejected_bytes)


def _read(log: SourceLog, part: Part, rows: SourceRows) -> pa.Table:
    table = log.read_part(part)
    if part.kind is Kind.PARQUET:
        rows.files.append(str(part.path))
    else:
        rows.tables.append(table)
    return table


def _between(stimes: npt.NDArray[np.int64], since: int | None, until: int | None) -> int:
    if until is None:
        return 0
    return int(np.count_nonzero((stimes < until) & (True if since is None else stimes >= since)))


def _as_before(log: SourceLog, earlier: Logged, now: LogState) -> list[LedgerLine]:
    return [
        LedgerLine(f"input {log.stream}: rows logged when it was last verified", now.rows, earlier.rows),
        LedgerLine(f"input {log.stream}: rows read when it was last verified", now.rows_read, earlier.rows_read),
    ]


def _totals(log: SourceLog, rejected: int, logged: int, in_order: int) -> list[LedgerLine]:
    state, stream = log.state, log.stream
    lost = state.ledger.lost(stream)
    by_reason = ", ".join(f"{row.count} {row.reason}" for row in state.ledger.rows())
    return [
        LedgerLine(
            f"input {stream}: rows read = logged + left out ({by_reason or 'none'})", logged + lost, state.rows_read
        ),
        LedgerLine(f"input {stream}: rows logged, in unbroken order", in_order, state.rows),
        LedgerLine(
            f"input {stream}: rows rejected or refused, kept for inspection",
            rejected,
            lost - state.ledger.count(stream, Reason.DROPPED),
        ),
    ]
