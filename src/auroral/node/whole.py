"""The whole input as one plain batch, its rows stamped and logged as a run would do it."""

from __future__ import annotations

import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from auroral.edge.ledger import Ledger
from auroral.edge.sinks import open_sink
from auroral.edge.stamping import STIME
from auroral.engine.arrowrows import canonical
from auroral.engine.batch import run_batch
from auroral.model.checking import Checked
from auroral.model.schema import Schema
from auroral.node.account import Account
from auroral.node.committing import check_new
from auroral.node.evaluator import Session
from auroral.node.feeds import Given, make_feed, wall_clock
from auroral.node.ranges import closed_until
from auroral.node.runstatus import nothing_taken
from auroral.node.source import Source
from auroral.node.verify import batch_table, source_rows


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch run gave: rows of each output in canonical order, the stime first.

    `until` is the boundary at the end of input; None where there was no row at all. `untaken` says of which inputs
    every single row was left out.
    """

    tables: Mapping[str, pa.Table]
    ledger: Ledger
    until: int | None
    untaken: tuple[str, ...] = ()


def run_whole(
    checked: Checked,
    inputs: Mapping[str, Given],
    outputs: Mapping[str, str],
    session: Callable[[], Session],
    flush: bool,
) -> Batch:
    """Read all inputs to their end, evaluate them at once, and write the outputs."""
    check_new(outputs.values())
    with (
        tempfile.TemporaryDirectory(prefix="auroral-batch-", ignore_cleanup_errors=True) as scratch,
        ExitStack() as opened,
    ):
        sources: dict[str, Source] = {}
        for number, given in enumerate(checked.diagram.inputs):
            source = Source(given, checked.diagram.bucket, Path(scratch) / f"source-{number}")
            opened.callback(source.close)
            sources[given.stream] = source
            make_feed(source, inputs[given.stream], wall_clock).run(threading.Event(), _nobody_waits)
        result = _evaluated(checked, sources, session, flush, Path(scratch) / "batch")
        result = replace(result, untaken=tuple(nothing_taken(sources.values())))
    owner = f"batch-{uuid.uuid4().hex[:12]}"
    for stream, path in outputs.items():
        _write(path, checked.streams[stream].schema, result.tables[stream], owner)
    return result


def _evaluated(
    checked: Checked,
    sources: Mapping[str, Source],
    session: Callable[[], Session],
    flush: bool,
    scratch: Path,
) -> Batch:
    until = closed_until([source.span() for source in sources.values()], checked.diagram.bucket)
    ledger = Ledger()
    for source in sources.values():
        ledger = ledger.merge(source.state.ledger)
    schemas = {output.stream: checked.streams[output.stream].schema for output in checked.diagram.outputs}
    if until is None:
        return Batch({stream: batch_table(schema, []) for stream, schema in schemas.items()}, ledger, None)
    logged = {stream: source_rows(source.log) for stream, source in sources.items()}
    result = run_batch(session(), checked, logged, until, flush, scratch)
    tables = {stream: canonical(batch_table(schema, result.outputs[stream])) for stream, schema in schemas.items()}
    return Batch(tables, ledger.merge(Account(counts=result.counts).ledger()), until)


def _nobody_waits() -> None:
    """Feeds tell that rows have come; here everything is evaluated after the last one."""


def _write(path: str, schema: Schema, table: pa.Table, owner: str) -> None:
    with open_sink(path, schema, owner=owner) as sink:
        span = pc.min_max(table.column(0)).as_py() if table.num_rows else {"min": 0, "max": 0}
        sink.append(span["min"], span["max"] + 1, table.rename_columns([STIME, *schema.names]))
