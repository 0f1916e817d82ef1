"""The oracle: a diagram over its whole input as one plain Spark batch, without buckets, slices or stored past."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.engine.arrowrows import arrow_schema, as_declared
from auroral.engine.compile import Program, compile_program
from auroral.engine.failures import explained
from auroral.engine.fetching import LeftOut, Result, totals
from auroral.engine.foldstates import FoldStates, edge_changes, edge_rows, from_bytes
from auroral.engine.jobs import Leaf, run_program
from auroral.engine.judging import judge
from auroral.engine.lanes import Lanes
from auroral.engine.relations import Edge, StateEdge, kept_name
from auroral.engine.sqltext import STIME
from auroral.model.boxes.base import TypedBox
from auroral.model.checking import Checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SourceRows:
    """All rows of one source, stamped: tables in memory, and Parquet files."""

    tables: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Parquet files of each output, and the ledger counts of boxes that leave rows out."""

    outputs: Mapping[str, list[Path]]
    left_out: LeftOut

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """By box and reason."""
        return totals(self.left_out)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the input in place of all of it: rows from `begin` on, which is a bucket's start.

    Results are right from `since` on, and only counts of rows from there on are given. Folds, where there are any, take
    up at `folds_from` the state `states`, in the form of `FoldStates.to_bytes`; without it they begin with nothing.
    """

    begin: int
    since: int
    folds_from: int | None = None
    states: bytes | None = None


def run_batch(
    session: SparkSession,
    checked: Checked,
    sources: Mapping[str, SourceRows],
    until: int,
    flush: bool,
    folder: Path,
    many_bins: bool = True,
    piece: Piece | None = None,
) -> BatchResult:
    """Evaluate all rows with stime below `until`; with `flush`, windows still open there are closed too.

    Without `many_bins`, see `states.box_state`: for comparing speed alone.
    """
    program = _compiled(checked, piece, many_bins)
    bucket = checked.diagram.bucket
    leaves = _leaves(program, sources, until, folder, piece)
    lo = piece.begin if piece is not None else _first(leaves, until) // bucket * bucket
    hi = max(until, lo + bucket) + (total_wait(checked) // bucket + 1) * bucket if flush else max(until, lo + bucket)
    # What state folds end in is not asked for here.
    result = _run(session, replace(program, kept=()), leaves, lo, hi, folder)
    outputs = {name: list(files) for name, files in result.outputs.items() if isinstance(files, list)}
    return BatchResult(outputs, result.counts)


def fold_states(
    session: SparkSession, checked: Checked, sources: Mapping[str, SourceRows], piece: Piece, at: int, folder: Path
) -> bytes:
    """The state of all folds at stime `at`, as a plain batch over the rows of the piece before it gives it."""
    program = _compiled(checked, piece, True)
    leaves = _leaves(program, sources, at, folder, piece)
    result = _run(session, replace(program, outputs=(), counts=()), leaves, piece.begin, at, folder)
    known = _known(piece)
    states = {
        edge.name: known.of(edge.name).updated(dict(edge_changes(edge, result.kept[edge.name])))
        for edge in _state_edges(program)
    }
    return FoldStates(states).to_bytes()


def _compiled(checked: Checked, piece: Piece | None, many_bins: bool) -> Program:
    if piece is None:
        return compile_program(checked, batch=True, many_bins=many_bins)
    return compile_program(
        checked, batch=True, many_bins=many_bins, folds_from=piece.folds_from, counts_from=piece.since
    )


def _leaves(
    program: Program, sources: Mapping[str, SourceRows], until: int, folder: Path, piece: Piece | None
) -> dict[str, Leaf]:
    leaves = {
        edge.name: _leaf(edge, sources[edge.name.removesuffix("@source")], until, folder) for edge in program.sources
    }
    if piece is not None and piece.folds_from is not None:
        known = _known(piece)
        for edge in _state_edges(program):
            leaves[kept_name(edge)] = Leaf(edge.columns, [edge_rows(edge, known.of(edge.name), piece.folds_from - 1)])
    return leaves


def _known(piece: Piece) -> FoldStates:
    return FoldStates() if piece.states is None else from_bytes(piece.states)


def _state_edges(program: Program) -> list[StateEdge]:
    return [edge for edge in program.kept if isinstance(edge, StateEdge)]


def _run(session: SparkSession, program: Program, leaves: Mapping[str, Leaf], lo: int, hi: int, folder: Path) -> Result:
    names = iter(range(len(program.outputs)))
    try:
        with Lanes(session).large() as spark:
            judge(spark, program.checked)
            return run_program(spark, program, leaves, lo, hi, lambda _: folder / f"output-{next(names)}.parquet", {})
    except Exception as error:
        if failed := explained(error, lo, hi):
            raise failed from error
        raise


def total_past(checked: Checked) -> int:
    """How far back any row can still matter: the longest sum of pasts along a path of boxes, in microseconds."""
    return _along_a_path(checked, lambda box: box.past)


def total_wait(checked: Checked) -> int:
    """How long after the last row boundaries can still give results of it: windows end, and timeouts."""
    return _along_a_path(checked, lambda box: max(box.past, box.waits))


def _along_a_path(checked: Checked, length: Callable[[TypedBox], int]) -> int:
    reach: dict[str, int] = {}
    for box in checked.boxes:
        own = max((reach.get(stream, 0) for stream in box.box.inputs), default=0) + length(box.typed)
        reach.update(dict.fromkeys(box.box.outputs, own))
    return max(reach.values(), default=0)


def _leaf(edge: Edge, rows: SourceRows, until: int, folder: Path) -> Leaf:
    """Rows in memory go to a file as well: Spark reads files in parallel, and the driver need not hand over millions of rows."""
    files = list(rows.files)
    if rows.tables:
        table = pa.concat_tables([as_declared(t, edge.columns) for t in rows.tables])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"source-{abs(hash(edge.name)):x}.parquet"
        pq.write_table(table.filter(pc.less(table.column(STIME), until)).cast(arrow_schema(edge.columns)), path)
        files.append(str(path))
    return Leaf(edge.columns, [], files, below=until)


def _first(leaves: Mapping[str, Leaf], until: int) -> int:
    return min((low for leaf in leaves.values() if (low := _lowest(leaf)) is not None), default=until)


def _lowest(leaf: Leaf) -> int | None:
    lowest = [pc.min(pq.read_table(f, columns=[STIME]).column(STIME)).as_py() for f in leaf.files]
    return min((low for low in lowest if low is not None), default=None)
