"""Carrying a program out on Spark: views over what is read, statements, and what comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.engine.arrowrows import as_declared, empty, tagged, untagged
from auroral.engine.compile import Program, Step
from auroral.engine.expression import USER_FUNCTION_PREFIX
from auroral.engine.failures import guarded
from auroral.engine.fetching import Count, Fetch, Result, Wanted, counting
from auroral.engine.filelayout import spark_layout
from auroral.engine.foldbox import FoldBox
from auroral.engine.foldstates import FoldStates
from auroral.engine.reached import result_type
from auroral.engine.relations import Both, Edge, SliceEdge, StateEdge
from auroral.engine.session import is_remote
from auroral.engine.sqltext import (
    HI,
    LO,
    STIME,
    Column,
    Cte,
    filled,
    inlined,
    needed,
    quoted,
    relation,
    shared,
    struct_type,
)
from auroral.model.expression import Function, user_functions
from auroral.model.on_error import OnError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(slots=True)
class Leaf:
    """What a job reads of one edge: tables in memory, and Parquet files, of which only rows with stime [since, below) count."""

    columns: Sequence[Column]
    tables: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    since: int | None = None
    below: int | None = None

    def table(self) -> pa.Table:
        return pa.concat_tables(self.tables) if self.tables else empty(self.columns)


NewPath = Callable[[Edge], Path]
FEW_ROWS = 10_000
"""Relations of so many rows share a view, which is read once for each of them. One of more has its own: that costs some 15 ms."""
_COUNTED = (("box", "STRING"), ("reason", "STRING"), ("at", "BIGINT"), ("n", "BIGINT"))


def run_program(
    spark: SparkSession,
    program: Program,
    leaves: Mapping[str, Leaf],
    lo: int,
    hi: int,
    new_path: NewPath | None,
    slots: Mapping[str, str],
    states: FoldStates | None = None,
) -> Result:
    """Evaluate [lo, hi). `slots` are texts that stand in statements for this range, `states` what folds go on from in this process.

    Without `new_path`, everything comes back through memory; with it, outputs are written as Parquet, and slices, which may be
    many times the rows that they are made from, come back through files: the driver's JVM could not hold them.
    """
    job = _Job(
        spark, program, lo, hi, {**slots, LO: f"{lo}L", HI: f"{hi}L"}, FoldStates() if states is None else states
    )
    try:
        job.read(leaves)
        if new_path is None:
            return job.in_waves()
        job.steps(program.steps)
        job.analyse_shared_steps()
        written = {edge.name: job.written(edge, new_path(edge)) for edge in program.outputs}
        slices = {e.name: job.through_files(e, new_path(e)) for e in program.kept if isinstance(e, SliceEdge)}
        rest = job.collected((), [edge for edge in program.kept if edge.name not in slices], program.counts)
        return Result(written, {**slices, **rest.kept}, rest.counts)
    finally:
        job.end()


@dataclass(slots=True)
class _Job:
    spark: SparkSession
    program: Program
    lo: int
    hi: int
    slots: Mapping[str, str]
    states: FoldStates
    ctes: list[Cte] = field(default_factory=list)
    views: list[str] = field(default_factory=list)
    held: list[DataFrame] = field(default_factory=list)

    def read(self, leaves: Mapping[str, Leaf]) -> None:
        """Views over rows in memory, and one for each edge's files; a step for each edge over them."""
        if in_memory := {name: leaf.table() for name, leaf in leaves.items() if leaf.tables or not leaf.files}:
            self._rows(in_memory)
        picked = {cte.name: cte.select for cte in self.ctes}
        self.ctes = [
            Cte(name, self._from_files(name, leaf, picked.get(name)) if leaf.files else picked[name])
            for name, leaf in leaves.items()
        ]
        for function in self.program.functions:
            call = guarded(self._called(function), function)
            self.spark.udf.register(USER_FUNCTION_PREFIX + function.name, call, result_type(function.returns))

    def _from_files(self, name: str, leaf: Leaf, in_memory: str | None) -> str:
        ddl = ", ".join(c.ddl() for c in leaf.columns)
        self._view(name + "@files", self.spark.read.schema(ddl).parquet(*leaf.files))
        names = ", ".join(quoted(c.name) for c in leaf.columns)
        bounds = ((">=", leaf.since), ("<", leaf.below))
        tests = " AND ".join(f"{STIME} {sign} {bound}L" for sign, bound in bounds if bound is not None)
        text = f"SELECT {names} FROM {relation(name + '@files')}{f' WHERE {tests}' if tests else ''}"
        return f"SELECT {self._hint}{names} FROM ({in_memory} UNION ALL {text})" if in_memory else text

    def _rows(self, tables: Mapping[str, pa.Table]) -> None:
        """Rows in memory as views, and a step that picks each relation out of one."""
        few = {name: table for name, table in tables.items() if table.num_rows <= FEW_ROWS}
        picked = {}
        if few:
            view = self._handed(tagged(few))
            for number, (name, table) in enumerate(few.items()):
                picked[name] = self._picked(table, f"e{number}.", f"{view} WHERE __edge = {number}")
        for name, table in tables.items():
            if name not in few:
                picked[name] = self._picked(table, "", self._handed(_numbered(table)))
        self.ctes += [Cte(name, picked[name]) for name in tables]

    def _handed(self, table: pa.Table) -> str:
        view = f"@rows{len(self.views)}"
        self._view(view, _frame(self.spark, table))
        return relation(view)

    def _picked(self, table: pa.Table, of: str, source: str) -> str:
        names = ", ".join(f"{of}c{i} AS {quoted(name)}" for i, name in enumerate(table.column_names))
        return f"SELECT {self._hint}{names} FROM {source}"

    @property
    def _hint(self) -> str:
        return "/*+ COALESCE(1) */ " if self.program.single else ""

    def _called(self, function: Function) -> str:
        """The function's name with those of the boxes that call it and stop when it fails, for messages."""
        boxes = [
            repr(box.box.name)
            for box in self.program.checked.boxes
            if box.typed.on_error is OnError.STOP
            and any(function in user_functions(e) for e in box.typed.expressions())
        ]
        return f"box {', '.join(boxes)}: function {function.name!r}"

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if step.python is not None:
                for name, frame in step.python.frames(self.statement, self.lo, self.hi).items():
                    self._view(name, frame)
            self.ctes += step.ctes
            for name in step.held:
                self._hold(name)

    def _hold(self, name: str) -> None:
        """Compute a relation now; of small jobs it goes through memory, as what is fetched between waves does."""
        frame = self.statement(f"SELECT * FROM {relation(name)}")
        place = next(at for at, cte in enumerate(self.ctes) if cte.name == name)
        del self.ctes[place]
        if not self.program.single:
            computed = frame.localCheckpoint()
            self.held.append(computed)
            self._view(name, computed)
            return
        self._rows({name: frame.toArrow()})
        # Before the steps that read it.
        self.ctes.insert(place, self.ctes.pop())

    def in_waves(self) -> Result:
        """All in one job, or in one for each wave of aggregates over slices and of folds: what these give, the next wave reads."""
        steps = self.program.steps
        wanted, found = Wanted.of(self.program), Result()
        for wave in range(max(step.wave for step in steps) + 1):
            here = [step for step in steps if step.wave == wave]
            self.steps(here)
            if not any(step.fetches for step in here):
                continue
            boths = [step.both for step in here if step.both is not None]
            folds = [step.fold for step in here if step.fold is not None]
            # Folds often are the last that is fetched: what can be read already need not be a job of its own.
            early = wanted.readable(wave) if folds else Wanted()
            given = self.collected(early.outputs, early.kept, early.counts, boths, folds)
            found |= given
            read_later = {stream for step in steps if step.wave > wave for stream in step.inputs}
            fetched = {stream for step in here if step.fetches for stream in step.gives}
            # Of what the steps behind a fold read, streams of the diagram are made.
            needed_here = {name for fold in folds if fold.behind for name, _ in fold.outputs} | (read_later & fetched)
            handed = {n: t for n, t in given.outputs.items() if n in needed_here and isinstance(t, pa.Table)}
            if handed:
                self._rows(handed)
            self.ctes += [cte for step in here for cte in step.behind]
            wanted = wanted.without(early, found)
        found |= self.collected(wanted.outputs, wanted.kept, wanted.counts)
        asked = {}
        for edge in self.program.outputs:
            table = found.outputs[edge.name]
            assert isinstance(table, pa.Table)
            asked[edge.name] = as_declared(table, edge.columns)
        return Result(asked, found.kept, found.counts, found.states)

    def analyse_shared_steps(self) -> None:
        """Make a view of each step that is read more than once: it would be analysed anew in each statement that reads it."""
        edges = (*self.program.outputs, *self.program.kept)
        texts = [*map(_rows_of, edges), *(query for *_, query in self.program.counts)]
        steps, _ = needed(self.ctes, "\n".join(texts))
        for cte in shared(steps, texts):
            frame = self.statement(cte.select)
            self.ctes.remove(cte)
            self._view(cte.name, frame)

    def statement(self, final: str) -> DataFrame:
        steps, views = needed(self.ctes, final)
        # Spark would look for it in the user's catalog.
        assert views <= set(self.views), f"neither a step before its user nor a view: {sorted(views - set(self.views))}"
        return self.spark.sql(filled(inlined(steps, final), self.slots))

    def collected(
        self,
        outputs: Sequence[Edge],
        kept: Sequence[Edge],
        counts: Sequence[Count] = (),
        boths: Sequence[Both] = (),
        folds: Sequence[FoldBox] = (),
    ) -> Result:
        """All relations in one job, told apart by a tag; folds over theirs."""
        wanted = [Fetch(edge.columns, _rows_of(edge)) for edge in outputs]
        wanted += [Fetch(edge.columns, _recent_rows_of(edge)) for edge in kept]
        wanted += [Fetch(both.columns, f"SELECT * FROM {relation(both.relation)}") for both in boths]
        wanted += [Fetch(fold.columns, f"SELECT * FROM {fold.rows}", fold) for fold in folds]
        if counts:
            columns = tuple(Column(*one) for one in _COUNTED)
            wanted.append(Fetch(columns, counting(counts)))
        tables = iter(self._fetched(wanted))
        given = {edge.name: as_declared(next(tables), edge.columns) for edge in outputs}
        stored = {edge.name: as_declared(next(tables), edge.columns) for edge in kept}
        for both in boths:
            given[both.output.name], stored[both.kept.name] = both.split(next(tables))
        result = Result(given, stored)
        for fold in folds:
            result |= self._folded(fold, next(tables))
        counted = next(tables).to_pylist() if counts else []
        return result | Result(counts={(row["box"], row["reason"], row["at"]): row["n"] for row in counted})

    def _folded(self, fold: FoldBox, rows: pa.Table) -> Result:
        assert fold.state is not None
        found = fold.run(rows, self.states.of(fold.state.name), self.lo, self.hi)
        outputs = {name: table for (name, _), table in zip(fold.outputs, found.outputs, strict=True)}
        counts: Counter[tuple[str, str, int]] = Counter()
        for (stime, reason), n in found.left_out.items():
            counts[fold.name, reason, stime - stime % self.program.checked.diagram.bucket] += n
        return Result(outputs, {}, counts, {fold.state.name: found.state})

    def _fetched(self, wanted: Sequence[Fetch]) -> list[pa.Table]:
        if len(wanted) <= 1:
            return [self.statement(one.text).toArrow() for one in wanted]
        shapes = [self._shape(one) for one in wanted]
        parts = []
        for number, (columns, text, _) in enumerate(wanted):
            row = "named_struct(" + ", ".join(f"'c{i}', {quoted(c.name)}" for i, c in enumerate(columns)) + ")"
            items = [f"CAST({row if i == number else 'NULL'} AS {shape}) AS e{i}" for i, shape in enumerate(shapes)]
            parts.append(f"SELECT {number} AS __edge, {', '.join(items)} FROM ({text})")
        table = self.statement("\nUNION ALL\n".join(parts)).toArrow()
        return untagged(table, [one.columns for one in wanted])

    def _shape(self, one: Fetch) -> str:
        types = [c.type for c in one.columns]
        if one.fold is not None:
            if not one.fold.types:
                one.fold.types.extend(field.dataType.simpleString() for field in self.statement(one.text).schema.fields)
            types = one.fold.types
        return struct_type([Column(f"c{i}", type) for i, type in enumerate(types)])

    def written(self, edge: Edge, path: Path) -> list[Path]:
        writer = self.statement(_rows_of(edge)).write.options(**spark_layout(edge.columns))
        if is_remote(self.spark):
            # Whoever the server runs as makes its own folders.
            writer.mode("overwrite").parquet(str(path))
        else:
            _emptied(path)
            writer.mode("append").parquet(str(path))
        return sorted(path.glob("*.parquet"))

    def through_files(self, edge: Edge, path: Path) -> pa.Table:
        tables = [pq.read_table(part) for part in self.written(edge, path)]
        rmtree(path)
        return as_declared(pa.concat_tables(tables), edge.columns) if tables else empty(edge.columns)

    def _view(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(quoted(name))
        self.views.append(name)

    def end(self) -> None:
        for name in self.views:
            self.spark.catalog.dropTempView(name)
        if not is_remote(self.spark):
            # Else their rows stay until the JVM happens to collect its garbage. Spark Connect lets go of them with the frame.
            for frame in self.held:
                frame._jdf.queryExecution().logical().rdd().unpersist(False)


def _emptied(path: Path) -> None:
    """A folder that Spark may write to, with those inside it that it works in: for each that it makes itself, it starts a program (chmod)."""
    if path.exists():
        rmtree(path)
    (path / "_temporary" / "0" / "_temporary").mkdir(parents=True)


def _numbered(table: pa.Table) -> pa.Table:
    """Its columns as they are called in structs, in one piece."""
    return table.rename_columns([f"c{i}" for i in range(table.num_columns)]).combine_chunks()


def _frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    if table.num_rows:
        return spark.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    # Spark Connect refuses a table without rows unless it is told its schema.
    return spark.createDataFrame([], from_arrow_schema(table.schema))


def _rows_of(edge: Edge) -> str:
    return f"SELECT {', '.join(quoted(c.name) for c in edge.columns)} FROM {relation(edge.name)}"


def _recent_rows_of(edge: Edge) -> str:
    """Of a kept edge only what later ranges read: the end of the range, one horizon long. Slices and states see to it themselves."""
    if isinstance(edge, StateEdge | SliceEdge):
        return _rows_of(edge)
    return f"{_rows_of(edge)} WHERE {STIME} >= {HI} - {edge.past}L"
