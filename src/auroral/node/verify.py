"""Proof: what a run gave equals one plain batch run of the same diagram over the rows that it logged.

Per output, all rows below its frontier are compared as multisets, bit for bit; per input, every row that was
read is accounted for; per box, the counts of rows left out are the same. Nothing compared is a failure.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.ledger import Reason
from auroral.edge.records import Kind
from auroral.edge.sinks import output_schema
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ, STIME
from auroral.engine.batch import BatchResult, SourceRows, run_batch
from auroral.model.schema import Schema
from auroral.node.account import Account, Counts
from auroral.node.compare import Comparison, compare
from auroral.node.evaluator import Session
from auroral.node.outputlog import OutputLog
from auroral.node.report import LedgerLine, OutputReport, Report
from auroral.node.runfolder import RunFolder


def verify_folder(session: Session, path: Path) -> Report:
    """Compare the run in `path` with a batch run. Loads the folder's pickle: open only folders you trust."""
    folder = RunFolder.look(path)
    checked, notes = folder.checked, []
    account = Account.load(folder.account)
    logs = {}
    for output in checked.diagram.outputs:
        place = folder.output(output.stream)
        if (place / "_commit.json").exists() or account.frontier is not None:
            logs[output.stream] = OutputLog.look(place, checked.streams[output.stream].schema)
    reached = max((log.frontier for log in logs.values() if log.frontier is not None), default=None)
    ledger: list[LedgerLine] = []
    with tempfile.TemporaryDirectory(prefix="auroral-verify-") as scratch:
        until = reached
        past_end = account.end is not None and reached is not None and reached > account.end
        if past_end:
            until = account.end
        sources, used = {}, 0
        for given in checked.diagram.inputs:
            log = SourceLog.open(folder.source(given.stream), given.schema, stream=given.stream, readonly=True)
            sources[given.stream], below = _source_rows(log, until, ledger)
            used += below
        batch: BatchResult | None = None
        if until is not None:
            batch = run_batch(session, checked, sources, until, past_end, Path(scratch))
            if account.frontier == reached:
                what = "all inputs: rows evaluated = logged below the frontier"
                ledger += [LedgerLine(what, account.rows_in, used), *_count_lines(account.counts, batch.counts)]
            else:
                notes.append(
                    "the run was cut off between an output and its counts: the counts of boxes are compared "
                    "once it is resumed"
                )
        outputs = tuple(
            _output(output.stream, checked.streams[output.stream].schema, logs.get(output.stream), batch, ledger)
            for output in checked.diagram.outputs
        )
    if not account.finished:
        notes.append("the run has not finished: rows at and behind the frontiers are not compared")
    return Report(str(path), outputs, tuple(ledger), tuple(notes))


def _source_rows(log: SourceLog, until: int | None, ledger: list[LedgerLine]) -> tuple[SourceRows, int]:
    """All logged rows, each compared with its checksum, and the sums that they must give; and how many of
    them lie below `until`."""
    rows = SourceRows()
    count = used = 0
    numbers: list[Any] = []
    for part in log.parts():
        table = log.read_part(part)
        count += table.num_rows
        numbers.append(table.column(SEQ).to_numpy())
        used += int(np.count_nonzero(table.column(STIME).to_numpy() < until)) if until is not None else 0
        if part.kind is Kind.PARQUET:
            rows.files.append(str(part.path))
        else:
            rows.tables.append(table)
    state, stream = log.state, log.stream
    lost = state.ledger.lost(stream)
    seqs = np.concatenate(numbers) if numbers else np.array([], dtype=np.int64)
    in_order = int(np.count_nonzero(seqs == np.arange(len(seqs))))
    by_reason = ", ".join(f"{row.count} {row.reason}" for row in state.ledger.rows())
    ledger += [
        LedgerLine(
            f"input {stream}: rows read = logged + left out ({by_reason or 'none'})", count + lost, state.rows_read
        ),
        LedgerLine(f"input {stream}: rows logged, in unbroken order", in_order, state.rows),
        LedgerLine(
            f"input {stream}: rows rejected or refused, kept for inspection",
            len(log.rejected),
            lost - state.ledger.count(stream, Reason.DROPPED),
        ),
    ]
    return rows, used


def _count_lines(run: Counts, batch: Counts) -> list[LedgerLine]:
    keys = sorted({*run, *batch})
    return [
        LedgerLine(
            f"box {box}: rows {reason}, in the run and in the batch run",
            run.get((box, reason), 0),
            batch.get((box, reason), 0),
        )
        for box, reason in keys
    ]


def _output(
    stream: str, schema: Schema, log: OutputLog | None, batch: BatchResult | None, ledger: list[LedgerLine]
) -> OutputReport:
    if log is None or log.frontier is None or batch is None:
        return OutputReport(stream, None, 0, 0, 0, 0, ())
    ours = log.read(None, None)
    ledger.append(LedgerLine(f"output {stream}: rows in its files, as committed", ours.num_rows, log.rows))
    theirs = batch_table(schema, batch.outputs.get(stream, []))
    theirs = theirs.filter(pc.less(theirs.column(0), log.frontier))
    found: Comparison = compare(ours, theirs)
    return OutputReport(
        stream, log.frontier, ours.num_rows, theirs.num_rows, found.only_run, found.only_batch, found.first
    )


def source_rows(log: SourceLog) -> SourceRows:
    """All logged rows for a batch run, as they lie on disk."""
    parts = log.parts()
    files = [str(part.path) for part in parts if part.kind is Kind.PARQUET]
    return SourceRows([log.read_part(part) for part in parts if part.kind is not Kind.PARQUET], files)


def batch_table(schema: Schema, files: list[Path]) -> pa.Table:
    """The rows of an output of a batch run, in the columns that outputs are written in."""
    wanted = output_schema(schema)
    names = [STIME, *schema.names]
    tables = [pq.read_table(pa.BufferReader(file.read_bytes())).select(names) for file in files]
    return pa.concat_tables([wanted.empty_table(), *(t.rename_columns(wanted.names).cast(wanted) for t in tables)])
