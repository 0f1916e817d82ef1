"""Evaluating a range of buckets: one Spark job for a small range, a few for a large one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine import exact
from auroral.engine.aggregate_sql import cell_slots, targets_slot
from auroral.engine.arrowrows import between, canonical
from auroral.engine.compile import Program, compile_program
from auroral.engine.edgelog import STABLE, EdgeLog, Segment, Version, parquet_segment
from auroral.engine.failures import explained
from auroral.engine.jobs import Leaf, Result, run_program
from auroral.engine.relations import Edge, SliceEdge, kept_name
from auroral.engine.scans import StateEdge
from auroral.engine.session import LARGE_PATH, SMALL_PATH, is_remote, lane
from auroral.engine.slices import Slicing
from auroral.engine.statelog import StateLog
from auroral.model.checking import Checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = 10_000
"""Rows from which a job reads and writes Parquet files: below, Arrow in memory is faster (measured, see docs)."""

SMALL_CELLS = 64
"""Cells up to which what each counts in is written into the statement."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a range gave: rows of each output in canonical order (or the files they lie in), and ledger counts."""

    lo: int
    hi: int
    outputs: Mapping[str, Segment]
    counts: Mapping[tuple[str, str], int]
    input_rows: int


@dataclass(slots=True)
class Engine:
    """Runs a checked diagram over its edge log, one range of stime after the other."""

    session: SparkSession
    checked: Checked
    folder: Path
    small_limit: int = SMALL
    many_bins: bool = False
    log: EdgeLog = field(init=False)
    states: StateLog = field(init=False)
    small: Program = field(init=False)
    large: Program = field(init=False)
    _lanes: dict[str, SparkSession] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.log = EdgeLog(self.folder)
        self.states = StateLog()
        self.small = compile_program(self.checked, single=True, many_bins=False)
        self.large = compile_program(self.checked, many_bins=False)

    @property
    def bucket(self) -> int:
        return self.checked.diagram.bucket

    def source(self, stream: str) -> Edge:
        return next(edge for edge in self.small.sources if edge.name == stream + "@source")

    def offer(self, stream: str, segment: Segment) -> None:
        """Rows of an input stream, for buckets [lo, hi)."""
        self.log.append(self.source(stream), segment)

    def evaluate(self, lo: int, hi: int, version: Version = STABLE) -> Evaluation:
        """out[lo, hi) from the log's best versions; what later ranges need is appended to the log."""
        if lo % self.bucket or hi % self.bucket or lo >= hi:
            raise ValueError(f"[{lo}, {hi}) is not a range of buckets of {self.bucket} us")
        new_rows = sum(self._leaf(edge, lo, hi, True).rows for edge in self.small.sources)
        small = new_rows <= self.small_limit and self._cells(lo, hi) <= SMALL_CELLS
        result = self._run(small, lo, hi)
        program = self.small if small else self.large
        for edge in program.kept:
            self._keep(edge, lo, hi, result.kept[edge.name], version)
        outputs = {name: _output_segment(lo, hi, version, given) for name, given in result.outputs.items()}
        self._collect(hi)
        return Evaluation(lo, hi, outputs, result.counts, new_rows)

    def _cells(self, lo: int, hi: int) -> int:
        """The most cells that an aggregate's slices have in the range."""
        slicings = [e.slicing for e in self.small.kept if isinstance(e, SliceEdge) and e.slicing is not None]
        return max((s.cell(hi) - s.cell(lo) for s in slicings), default=0)

    def _run(self, small: bool, lo: int, hi: int) -> Result:
        program = self.small if small else self.large
        leaves = {kept_name(edge): self._leaf(edge, lo, hi, small) for edge in program.edges}
        if not self.many_bins and any(_other_bins(e, leaves[kept_name(e)]) for e in program.kept):
            return self._run_with_many_bins(small, lo, hi)
        slots: dict[str, str] = {}
        for edge in program.kept:
            if isinstance(edge, SliceEdge) and edge.slicing is not None:
                slots |= _slots(edge.name.removesuffix("@slices"), edge.slicing, lo, hi, small)
        try:
            new_path = None if small else self.log.new_path
            result = run_program(self._lane(small), program, leaves, lo, hi, new_path, slots)
            if self.many_bins or not any(_lost_value(e, result.kept[e.name]) for e in program.kept):
                return result
        except Exception as error:
            if self.many_bins or exact.MANY_BINS not in str(error):
                if failed := explained(error, lo, hi):
                    raise failed from error
                raise
        return self._run_with_many_bins(small, lo, hi)

    def _run_with_many_bins(self, small: bool, lo: int, hi: int) -> Result:
        """A value of unusual magnitude: from here on with the larger plans that take any."""
        self.many_bins = True
        self.small = compile_program(self.checked, single=True)
        self.large = compile_program(self.checked)
        return self._run(small, lo, hi)

    def _lane(self, small: bool) -> SparkSession:
        name = "small" if small else "large"
        if is_remote(self.session):
            return lane(self.session, SMALL_PATH if small else LARGE_PATH)
        if name not in self._lanes:
            self._lanes[name] = lane(self.session, SMALL_PATH if small else LARGE_PATH)
        return self._lanes[name]

    def _leaf(self, edge: Edge, lo: int, hi: int, small: bool) -> Leaf:
        """What a job for [lo, hi) reads of an edge."""
        if isinstance(edge, StateEdge):
            return Leaf(edge.columns, [self.states.read(edge, lo)])
        if isinstance(edge, SliceEdge):
            return Leaf(edge.columns, list(self._nodes(edge, lo, hi, small)))
        end = hi if edge.name.endswith("@source") else lo
        leaf = Leaf(edge.columns)
        for segment in self.log.best(edge, lo - edge.past, end):
            if segment.table is not None:
                leaf.tables.append(between(segment.table, lo - edge.past, end))
            else:
                segment.verify(edge)
                leaf.files += [path for path, _ in segment.files]
                leaf.file_rows += segment.rows
        return leaf

    def _nodes(self, edge: SliceEdge, lo: int, hi: int, small: bool) -> Iterator[pa.Table]:
        """Stored nodes that the range's windows read; for a small job, each under the targets that it counts in."""
        slicing = edge.slicing
        assert slicing is not None
        first, last = slicing.cell(lo), slicing.cell(hi)
        history = slicing.history(first, last)
        targets = slicing.targets(first, last) if small else {}
        if not slicing.aligned(self.bucket):
            begun = self.log.read(edge, slicing.stime(first), lo)
            begun = begun.filter(pc.and_(pc.equal(begun.column("__l"), 0), pc.equal(begun.column("__i"), first)))
            yield from (_moved(begun, t) for t in targets.get(first, [(0, first)]))
        for node, into in history.items():
            stime = slicing.stime_of(*node)
            for segment in self.log.best(edge, stime, stime + 1):
                table = segment.load(edge)
                same = pc.and_(pc.equal(table.column("__l"), node[0]), pc.equal(table.column("__i"), node[1]))
                rows = table.filter(same)
                if small:
                    yield from (_moved(rows, target) for target in into)
                else:
                    yield rows

    def _keep(self, edge: Edge, lo: int, hi: int, rows: pa.Table, version: Version) -> None:
        if isinstance(edge, StateEdge):
            self.states.append(edge, lo, hi, rows)
        else:
            # Also where there are no rows: what is stable and empty must hide what was tentative and was not.
            self.log.append(edge, Segment(lo, hi, version, rows.num_rows, rows))

    def _collect(self, frontier: int) -> None:
        """Forget what no later range reads."""
        for edge in self.small.edges:
            if isinstance(edge, SliceEdge):
                # A node of the highest level is stored under its end, and read until a window no longer holds its start.
                self.log.collect(edge, frontier - edge.past - self.bucket)
            elif not isinstance(edge, StateEdge):
                self.log.collect(edge, frontier - edge.past)
                self.log.compact(edge)


def _slots(box: str, slicing: Slicing, lo: int, hi: int, small: bool) -> dict[str, str]:
    """What stands in the statements for the range's cells and, in a small job, for what each cell counts in."""
    first, end = cell_slots(box)
    slots = {first: f"{slicing.cell(lo)}L", end: f"{slicing.cell(hi)}L"}
    return slots | ({targets_slot(box): _targets_text(slicing, lo, hi)} if small else {})


def _targets_text(slicing: Slicing, lo: int, hi: int) -> str:
    """SQL for the targets of a cell: an array for each cell of the range; a cell only begun is stored as it is."""
    cases = []
    for cell, into in slicing.targets(slicing.cell(lo), slicing.cell(hi)).items():
        structs = ", ".join(f"named_struct('l', {level}, 'i', {index}L)" for level, index in into)
        cases.append((cell, f"array({structs})"))
    own = "array(named_struct('l', 0, 'i', __i))"
    if len(cases) == 1 and slicing.aligned(hi - lo):
        return cases[0][1]
    return "CASE __i " + " ".join(f"WHEN {cell}L THEN {text}" for cell, text in cases) + f" ELSE {own} END"


def _other_bins(edge: Edge, leaf: Leaf) -> bool:
    """Whether a large job has stored states that the smaller plan would take to be of bin 0."""
    if not isinstance(edge, SliceEdge):
        return False
    return any(pc.any(pc.not_equal(table.column(b), 0)).as_py() for table in leaf.tables for b in edge.bins)


def _lost_value(edge: Edge, rows: pa.Table) -> bool:
    """Whether a state to be stored lacks a value that the smaller plan does not take: no window has asked for it yet."""
    if not isinstance(edge, SliceEdge):
        return False
    return any(pc.any(pc.greater_equal(rows.column(b.removesuffix("b") + "f"), 8)).as_py() for b in edge.bins)


def _moved(rows: pa.Table, target: tuple[int, int]) -> pa.Table:
    """The rows under another node or window."""
    level = pa.repeat(pa.scalar(target[0], pa.int32()), rows.num_rows)
    index = pa.repeat(pa.scalar(target[1], pa.int64()), rows.num_rows)
    at = rows.schema.get_field_index
    return rows.set_column(at("__l"), "__l", level).set_column(at("__i"), "__i", index)


def _output_segment(lo: int, hi: int, version: Version, given: pa.Table | list[Path]) -> Segment:
    if isinstance(given, pa.Table):
        table = canonical(given)
        return Segment(lo, hi, version, table.num_rows, table)
    return parquet_segment(lo, hi, version, given)
