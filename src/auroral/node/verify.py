"""Proof: what a run gave equals one plain batch run of the same diagram over the rows that it logged.

Per output, all rows below its frontier are compared as multisets, bit for bit; per input, every row that was
read is accounted for; per box, the counts of rows left out are the same. Nothing compared is a failure.
What was found equal is recorded, so that a later verification can go on from there: see `pieces`.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.records import Kind
from auroral.edge.sinks import output_schema
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import STIME
from auroral.engine.batch import BatchResult, SourceRows, run_batch
from auroral.model.schema import Schema
from auroral.node.account import Counts
from auroral.node.compare import Comparison, compare
from auroral.node.evaluator import Session
from auroral.node.fleet.deployed import must_have_outputs
from auroral.node.fleet.versions import oracle
from auroral.node.inputsums import InputSums, read_input
from auroral.node.outputlog import OutputLog
from auroral.node.pieces import Stretch, record, stretch_of
from auroral.node.report import LedgerLine, OutputReport, Report
from auroral.node.runfolder import RunFolder
from auroral.node.standing import Standing
from auroral.node.storeddiagram import replaced_notes
from auroral.node.userfiles import judged_files
from auroral.node.verified import Verified
from auroral.node.verifylock import verifying


def verify_folder(session: Session, path: Path, since_last: bool = False) -> Report:
    """Compare the run in `path` with a batch run, and its files with the run; with `since_last`, only what is new since
    it was last found equal.

    Loads the folder's pickle: open only folders you trust.
    """
    must_have_outputs(path)
    folder = RunFolder.look(path)
    with (
        verifying(path) as lock,
        tempfile.TemporaryDirectory(prefix="auroral-verify-", ignore_cleanup_errors=True) as scratch,
    ):
        run = Standing.look(folder)
        stretch = stretch_of(run, since_last)
        inputs = {stream: _input(log, stretch, run.until) for stream, log in run.sources.items()}
        rows = {stream: sums.rows for stream, sums in inputs.items()}
        batch = _batch(session, run, stretch, rows, Path(scratch) / "outputs")
        earlier = stretch.earlier.files if since_last and stretch.earlier else {}
        report = replace(_compared(run, stretch, inputs, batch), files=judged_files(folder, earlier))
        if report.ok:
            unrecorded = record(session, run, stretch, inputs, report.files, lock, Path(scratch) / "states")
            report = replace(report, notes=(*report.notes, unrecorded)) if unrecorded else report
    return report


def _input(log: SourceLog, stretch: Stretch, until: int | None) -> InputSums:
    if stretch.earlier is None or stretch.piece is None:
        return read_input(log, None, None, None, until)
    return read_input(log, stretch.earlier.logged[log.stream], stretch.piece.begin, stretch.piece.since, until)


def _batch(
    session: Session, run: Standing, stretch: Stretch, rows: dict[str, SourceRows], scratch: Path
) -> BatchResult | None:
    """None where nothing was closed yet."""
    if run.until is None:
        return None
    if stretch.piece is not None and stretch.piece.since == run.reached:
        return BatchResult({}, {})
    checked = oracle(run.folder) if run.folder.deployed else run.folder.checked
    return run_batch(session, checked, rows, run.until, run.past_end, scratch, piece=stretch.piece)


def _compared(run: Standing, stretch: Stretch, inputs: dict[str, InputSums], batch: BatchResult | None) -> Report:
    account, earlier, checked = run.account, stretch.earlier, run.folder.checked
    ledger = [line for sums in inputs.values() for line in sums.lines]
    notes = [*([stretch.note] if stretch.note else []), *replaced_notes(run.folder.path)]
    if batch is not None and account.frontier == run.reached:
        used = sum(sums.used for sums in inputs.values()) + (earlier.rows_in if earlier else 0)
        what = "all inputs: rows evaluated = logged below the frontier"
        ledger += [LedgerLine(what, account.rows_in, used)]
        ledger += _count_lines(account.counts, batch.counts, earlier.counts if earlier else {})
    elif run.folder.deployed:
        notes.append("several nodes ran it: the counts of rows that boxes left out are with them, and not compared")
    elif batch is not None:
        notes.append(
            "the run was cut off between an output and its counts: the counts of boxes are compared once it is resumed"
        )
    outputs = tuple(
        _output(output.stream, checked.streams[output.stream].schema, run, earlier, batch, ledger)
        for output in checked.diagram.outputs
    )
    if not account.finished and not run.folder.deployed:
        notes.append("the run has not finished: rows at and behind the frontiers are not compared")
    since, rests_on = (earlier.until, earlier.rests_on) if earlier else (None, None)
    return Report(str(run.folder.path), outputs, tuple(ledger), tuple(notes), since, rests_on)


def _count_lines(run: Counts, batch: Counts, earlier: Counts) -> list[LedgerLine]:
    keys = sorted({*run, *batch, *earlier})
    return [
        LedgerLine(
            f"box {box}: rows {reason}, in the run and in the batch run",
            run.get((box, reason), 0),
            earlier.get((box, reason), 0) + batch.get((box, reason), 0),
        )
        for box, reason in keys
    ]


def _output(
    stream: str,
    schema: Schema,
    run: Standing,
    earlier: Verified | None,
    batch: BatchResult | None,
    ledger: list[LedgerLine],
) -> OutputReport:
    log: OutputLog | None = run.outputs.get(stream)
    if log is None or log.frontier is None or batch is None:
        return OutputReport(stream, None, 0, 0, 0, 0, ())
    since, rows_before = (earlier.until, earlier.output_rows[stream]) if earlier else (None, 0)
    if log.base is not None and (since is None or since < log.base):
        # A connection point keeps no more of it.
        since, rows_before = log.base, log.let_go
    ours = log.read(since, None)
    what = f"output {stream}: rows in its files, as committed"
    ledger.append(LedgerLine(what, rows_before + ours.num_rows, log.rows))
    theirs = batch_table(schema, batch.outputs.get(stream, []))
    theirs = theirs.filter(pc.less(theirs.column(0), log.frontier))
    if since is not None:
        theirs = theirs.filter(pc.greater_equal(theirs.column(0), since))
    found: Comparison = compare(ours, theirs)
    return OutputReport(
        stream, log.frontier, ours.num_rows, theirs.num_rows, found.only_run, found.only_batch, found.first, since
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
