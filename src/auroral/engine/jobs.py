"""Carrying a program out on Spark: views over what is read, statements, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auroral.engine.arrowrows import empty, tagged, untagged
from auroral.engine.compile import Program
from auroral.engine.expression import USER_FUNCTION_PREFIX
from auroral.engine.relations import Edge, SliceEdge
from auroral.engine.scans import StateEdge
from auroral.engine.sqltext import STIME, Column, Cte, quoted, string_literal, with_ctes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "__rows"


@dataclass(slots=True)
class Leaf:
    """What a job reads of one edge: tables in memory, and Parquet files, of which only rows with stime `below` count."""

    columns: Sequence[Column]
    tables: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    file_rows: int = 0
    below: int | None = None

    @property
    def rows(self) -> int:
        return sum(int(table.num_rows) for table in self.tables) + self.file_rows

    def table(self) -> pa.Table:
        return pa.concat_tables(self.tables) if self.tables else empty(self.columns)


@dataclass(frozen=True, slots=True)
class Result:
    outputs: Mapping[str, pa.Table | list[Path]]
    kept: Mapping[str, pa.Table]
    counts: Mapping[tuple[str, str], int]


NewPath = Callable[[Edge], Path]


def run_program(
    spark: SparkSession,
    program: Program,
    leaves: Mapping[str, Leaf],
    lo: int,
    hi: int,
    new_path: NewPath | None,
    slots: Mapping[str, str],
) -> Result:
    """Evaluate [lo, hi). `slots` are texts that stand in statements for this range. Without `new_path`, everything comes back in one job; with it, outputs are written as Parquet."""
    job = _Job(spark, program, lo, hi, {**slots, ":lo": f"{lo}L", ":hi": f"{hi}L"})
    try:
        job.read(leaves, one_partition=new_path is None)
        job.steps()
        if new_path is None:
            return job.collected(program.outputs, program.kept)
        written = {edge.name: job.written(edge, new_path(edge)) for edge in program.outputs}
        rest = job.collected((), program.kept)
        return Result(written, rest.kept, rest.counts)
    finally:
        job.drop_views()


@dataclass(slots=True)
class _Job:
    spark: SparkSession
    program: Program
    lo: int
    hi: int
    slots: Mapping[str, str]
    ctes: list[Cte] = field(default_factory=list)
    views: list[str] = field(default_factory=list)

    def read(self, leaves: Mapping[str, Leaf], one_partition: bool) -> None:
        """One view for all rows in memory, and one for each edge's files; a step for each edge over them."""
        hint = "/*+ COALESCE(1) */ " if one_partition else ""
        in_memory = {name: leaf.table() for name, leaf in leaves.items()}
        self._view(ROWS, self.spark.createDataFrame(tagged(in_memory)))
        for number, (name, leaf) in enumerate(leaves.items()):
            names = ", ".join(quoted(c.name) for c in leaf.columns)
            picked = ", ".join(f"e{number}.{quoted(c.name)}" for c in leaf.columns)
            text = f"SELECT {hint}{picked} FROM {ROWS} WHERE __edge = {number}"
            if leaf.files:
                ddl = ", ".join(c.ddl() for c in leaf.columns)
                self._view(name + "@files", self.spark.read.schema(ddl).parquet(*leaf.files))
                below = f" WHERE {STIME} < {leaf.below}L" if leaf.below is not None else ""
                from_files = f"SELECT {names} FROM {quoted(name + '@files')}{below}"
                text = from_files if not leaf.tables else f"SELECT {hint}{names} FROM ({text} UNION ALL {from_files})"
            self.ctes.append(Cte(name, text))
        for function in self.program.functions:
            assert function.call is not None
            self.spark.udf.register(USER_FUNCTION_PREFIX + function.name, function.call, function.returns.spark)

    def steps(self) -> None:
        for step in self.program.steps:
            if step.python is not None:
                for name, frame in step.python.frames(self.statement, self.lo, self.hi).items():
                    self._view(name, frame)
            self.ctes += step.ctes

    def statement(self, final: str) -> DataFrame:
        text = with_ctes(self._needed(final), final)
        for slot, value in self.slots.items():
            text = text.replace(slot, value)
        return self.spark.sql(text)

    def _needed(self, final: str) -> list[Cte]:
        """The steps that `final` depends on: fewer steps are planned faster."""
        wanted, text = [], final
        for cte in reversed(self.ctes):
            if quoted(cte.name) in text:
                wanted.append(cte)
                text += cte.select
        return wanted[::-1]

    def collected(self, outputs: Sequence[Edge], kept: Sequence[Edge]) -> Result:
        """All relations in one job, told apart by a tag."""
        relations = {f"output {edge.name}": edge.columns for edge in outputs} | {
            f"kept {edge.name}": edge.columns for edge in kept
        }
        selects = [_rows_of(edge) for edge in outputs] + [_recent_rows_of(edge) for edge in kept]
        if self.program.counts:
            relations["counts"] = (Column("box", "STRING"), Column("reason", "STRING"), Column("n", "BIGINT"))
            selects.append(self._counts())
        if not relations:
            return Result({}, {}, {})
        shapes = [_struct(columns) for columns in relations.values()]
        parts = []
        for number, (text, columns) in enumerate(zip(selects, relations.values(), strict=True)):
            row = "named_struct(" + ", ".join(f"{string_literal(c.name)}, {quoted(c.name)}" for c in columns) + ")"
            items = [f"CAST({row if i == number else 'NULL'} AS {shape}) AS e{i}" for i, shape in enumerate(shapes)]
            parts.append(f"SELECT {number} AS __edge, {', '.join(items)} FROM ({text})")
        found = untagged(self.statement("\nUNION ALL\n".join(parts)).toArrow(), relations)
        counted = found["counts"].to_pylist() if self.program.counts else []
        return Result(
            {edge.name: found[f"output {edge.name}"] for edge in outputs},
            {edge.name: found[f"kept {edge.name}"] for edge in kept},
            {(row["box"], row["reason"]): row["n"] for row in counted if row["n"]},
        )

    def _counts(self) -> str:
        """One row for each reason for which a box leaves rows out."""
        each = [
            f"SELECT {string_literal(box)} AS box, {string_literal(reason)} AS reason, ({query}) AS n"
            for box, reason, query in self.program.counts
        ]
        return "SELECT * FROM (" + " UNION ALL ".join(each) + ")"

    def written(self, edge: Edge, path: Path) -> list[Path]:
        frame = self.statement(_rows_of(edge))
        frame.write.mode("overwrite").parquet(str(path))
        return sorted(path.glob("*.parquet"))

    def _view(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(quoted(name))
        self.views.append(name)

    def drop_views(self) -> None:
        for name in self.views:
            self.spark.catalog.dropTempView(name)


def _rows_of(edge: Edge) -> str:
    return f"SELECT {', '.join(quoted(c.name) for c in edge.columns)} FROM {quoted(edge.name)}"


def _recent_rows_of(edge: Edge) -> str:
    """Of a kept edge only what later ranges read: the end of the range, one horizon long. Slices and states see to it themselves."""
    if isinstance(edge, StateEdge | SliceEdge):
        return _rows_of(edge)
    return f"{_rows_of(edge)} WHERE {STIME} >= :hi - {edge.past}L"


def _struct(columns: Sequence[Column]) -> str:
    return "STRUCT<" + ", ".join(f"{quoted(c.name)}: {c.type}" for c in columns) + ">"
