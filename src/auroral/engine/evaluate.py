"""Evaluating a range of buckets: one Spark job for a small or middling range, a few for a large one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine import exact
from auroral.engine.arrowrows import between, canonical
from auroral.engine.compile import Program, compile_program
from auroral.engine.edgelog import STABLE, EdgeLog, Segment, Version, cut_up, parquet_segment, verified_meanwhile
from auroral.engine.failures import explained
from auroral.engine.fetching import LeftOut, Result, totals
from auroral.engine.foldstates import FoldStates, edge_changes, edge_rows
from auroral.engine.jobs import Leaf, run_program
from auroral.engine.judging import judge, sql_expressions
from auroral.engine.keyedstate import KeyedState
from auroral.engine.lanes import Lanes
from auroral.engine.relations import Edge, SliceEdge, StateEdge, kept_name
from auroral.engine.running import RunningWindows
from auroral.engine.slice_reads import lacks_values, needs_more_bins, slots, stored_nodes, stored_states
from auroral.model.checking import Checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Limits(NamedTuple):
    """Rows up to which a job is small or middling, with one task and all in memory. A large one is on all cores, with generated code and its
    outputs in files: that takes seconds until it is warm, where a middling job of 135,000 rows takes 0.24 s. See docs/performance.md."""

    small: int = 10_000
    middle: int = 300_000


SMALL_COUNTED = 160_000
"""Rows, each as often as it counts in a window or node, up to which a job is small: others gather rows into cells first."""

SMALL_TARGETS = 1_024
"""What cells count in is written into the statement of a small job, and must not be long."""

MIDDLE_COUNTED = 3_000_000
"""Rows, each as often as it counts, beyond which a job is large: with many keys, gathering spares little."""

MIDDLE_REACHING_BACK = 256
"""Windows that began before the range, beyond which a job is large: others are handed what is stored for each of them by itself."""

MIDDLE_BYTES = 32 << 20
"""Beyond which a job is large: what others read is in the memory of the JVM more than once."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a range gave: rows of each output in canonical order (or the files they lie in), and ledger counts."""

    lo: int
    hi: int
    outputs: Mapping[str, Segment]
    left_out: LeftOut

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """By box and reason."""
        return totals(self.left_out)


@dataclass(slots=True)
class Engine:
    """Runs a checked diagram over its edge log, one range of stime after the other."""

    session: SparkSession
    checked: Checked
    folder: Path
    limits: Limits = field(default_factory=Limits)
    large_settings: Mapping[str, str] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()
    """Outputs that are given in processing order, with their order key."""
    many_bins: bool = field(init=False, default=False)
    log: EdgeLog = field(init=False)
    states: FoldStates = field(init=False)
    """Of all folds, where the ranges so far end."""
    small: Program = field(init=False)
    middle: Program = field(init=False)
    large: Program = field(init=False)
    _lanes: Lanes = field(init=False)
    _running: RunningWindows = field(init=False, default_factory=RunningWindows)

    def __post_init__(self) -> None:
        self.log = EdgeLog(self.folder)
        self.states = FoldStates()
        self._lanes = Lanes(self.session, self.large_settings)
        self._compile()
        if sql_expressions(self.checked):
            with self._lanes.small() as spark:
                judge(spark, self.checked)

    def _compile(self) -> None:
        self.small = compile_program(self.checked, single=True, many_bins=self.many_bins, ordered=self.ordered)
        self.middle = compile_program(
            self.checked, single=True, many_bins=self.many_bins, ordered=self.ordered, gathered=True
        )
        self.large = compile_program(self.checked, many_bins=self.many_bins, ordered=self.ordered)

    def forget(self) -> None:
        """All that was read and kept, and all states: as if nothing had been evaluated."""
        self.log.clear()
        self.states = FoldStates()
        self._running = RunningWindows()

    def _state(self, edge: StateEdge) -> KeyedState:
        return self.states.of(edge.name).indexed(self.bucket)

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
        program, result = self._run(lo, hi)
        self.states = self.states.replaced(self._states_after(result))
        for edge in self.small.kept:
            if isinstance(edge, StateEdge):
                continue
            rows = result.kept[edge.name]
            if isinstance(edge, SliceEdge):
                rows = self._without_windows(edge, lo, hi, rows, version, program.single)
            self._keep(edge, lo, hi, rows, version)
        outputs = {name: _output_segment(lo, hi, version, given) for name, given in result.outputs.items()}
        self._collect(hi)
        return Evaluation(lo, hi, outputs, result.counts)

    def _states_after(self, result: Result) -> dict[str, KeyedState]:
        changed = {
            edge.name: self._state(edge).updated(dict(edge_changes(edge, result.kept[edge.name])))
            for edge in self.small.kept
            if isinstance(edge, StateEdge) and edge.name not in result.states
        }
        return {**result.states, **changed}

    def _program(self, lo: int, hi: int) -> Program:
        # Of segments as a whole: to cut them at the range's ends only in order to count would cost more than it tells.
        read = [segment for edge in self.small.sources for segment in self.log.best(edge, lo - edge.past, hi)]
        rows = sum(segment.rows for segment in read)
        slicings = [edge.slicing for edge in self._slices()]
        if (
            rows > self.limits.middle
            or sum(segment.table.nbytes for segment in read if segment.table is not None) > MIDDLE_BYTES
            or any(rows * s.fan_out(lo, hi) > MIDDLE_COUNTED for s in slicings)
            or any(s.reaching_back(lo, hi) > MIDDLE_REACHING_BACK for s in slicings)
        ):
            return self.large
        if rows > self.limits.small or any(
            rows * s.fan_out(lo, hi) > SMALL_COUNTED or s.cells(lo, hi) * s.fan_out(lo, hi) > SMALL_TARGETS
            for s in slicings
        ):
            return self.middle
        return self.small

    def _slices(self) -> list[SliceEdge]:
        return [edge for edge in self.small.kept if isinstance(edge, SliceEdge)]

    def _run(self, lo: int, hi: int) -> tuple[Program, Result]:
        program = self._program(lo, hi)
        folds = {edge.name: self._state(edge) for edge in program.kept if isinstance(edge, StateEdge)}
        filed: list[tuple[Edge, Segment]] = []
        leaves = {
            kept_name(edge): self._leaf(edge, lo, hi, program.single, filed)
            for edge in program.edges
            if not (program.single and edge.name in folds)
        }
        slices = self._slices()
        if not self.many_bins and any(needs_more_bins(e, leaves[kept_name(e)].tables) for e in slices):
            return self._run_with_many_bins(lo, hi)
        texts = {s: text for edge in slices for s, text in slots(edge, lo, hi, program is self.small).items()}
        try:
            with self._lane(program) as spark, verified_meanwhile(filed):
                new_path = None if program.single else self.log.new_path
                result = run_program(spark, program, leaves, lo, hi, new_path, texts, FoldStates(folds))
        except Exception as error:
            if self.many_bins or exact.MANY_BINS not in str(error):
                if failed := explained(error, lo, hi):
                    raise failed from error
                raise
            return self._run_with_many_bins(lo, hi)
        if not self.many_bins and any(lacks_values(e, result.kept[e.name]) for e in slices):
            return self._run_with_many_bins(lo, hi)
        return program, result

    def _lane(self, program: Program) -> AbstractContextManager[SparkSession]:
        if program is self.small:
            return self._lanes.small()
        return self._lanes.middle() if program is self.middle else self._lanes.large()

    def _run_with_many_bins(self, lo: int, hi: int) -> tuple[Program, Result]:
        """A value of unusual magnitude: from here on with the larger plans that take any."""
        self.many_bins = True
        self._compile()
        return self._run(lo, hi)

    def _leaf(self, edge: Edge, lo: int, hi: int, single: bool, filed: list[tuple[Edge, Segment]]) -> Leaf:
        """What a job for [lo, hi) reads of an edge. Segments in files are added to `filed`: they are not verified yet."""
        if isinstance(edge, StateEdge):
            return Leaf(edge.columns, [edge_rows(edge, self.states.of(edge.name), lo - 1)])
        if isinstance(edge, SliceEdge):
            if single:
                return Leaf(edge.columns, list(stored_states(self.log, self._running, edge, lo, hi, self.bucket)))
            return Leaf(edge.columns, list(stored_nodes(self.log, edge, lo, hi, self.bucket)))
        since, end = lo - edge.past, hi if edge.name.endswith("@source") else lo
        leaf = Leaf(edge.columns, since=since, below=end)
        for segment in self.log.best(edge, since, end):
            if segment.table is not None:
                leaf.tables.append(between(segment.table, since, end))
            else:
                filed.append((edge, segment))
                leaf.files += [path for path, _ in segment.files]
        return leaf

    def _without_windows(
        self, edge: SliceEdge, lo: int, hi: int, rows: pa.Table, version: Version, single: bool
    ) -> pa.Table:
        """The nodes alone. The windows' states, which all but large jobs give too, are for the next window."""
        if not single:
            self._running.forget(edge)
            return rows
        windows = pc.equal(rows.column("__l"), -1)
        self._running.remember(edge, lo, hi, rows.filter(windows), version)
        return rows.filter(pc.invert(windows))

    def _keep(self, edge: Edge, lo: int, hi: int, rows: pa.Table, version: Version) -> None:
        # Also where there are no rows: what is stable and empty must hide what was tentative and was not.
        for piece in cut_up(Segment(lo, hi, version, rows.num_rows, rows), self.bucket):
            self.log.append(edge, piece)

    def _collect(self, frontier: int) -> None:
        """Forget what no later range reads."""
        for edge in self.small.edges:
            if isinstance(edge, SliceEdge):
                # A node of the highest level is stored under its end, and read until a window no longer holds its start.
                self.log.collect(edge, frontier - edge.past - self.bucket)
            elif not isinstance(edge, StateEdge):
                self.log.collect(edge, frontier - edge.past)
                self.log.compact(edge)


def _output_segment(lo: int, hi: int, version: Version, given: pa.Table | list[Path]) -> Segment:
    if isinstance(given, pa.Table):
        table = canonical(given)
        return Segment(lo, hi, version, table.num_rows, table)
    return parquet_segment(lo, hi, version, given)
