"""Statements of Spark SQL over one stream, as functions of buckets: what their results are, and whether they may be boxes at all.

A statement sees the rows of a bucket, or of some before it too, as a table; it must be a function of these rows alone. One that looks at
each row by itself has results with the row's time, and can be computed over many buckets at once; of others, results belong to their bucket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auroral.engine.judging import first_sentence, quiet, reads_the_clock
from auroral.engine.session import is_remote
from auroral.engine.sqltext import quoted
from auroral.engine.statementwords import WrongStatement, judge_words, not_repeatable
from auroral.model.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Statement", "WrongStatement", "statement"]
ANY_STREAM = "stream"
"""What a statement may call the stream, whatever its name is."""
_ONE_ROW = {"Project", "Filter", "SubqueryAlias", "View"}
_ROWS = {"LocalRelation", "OneRowRelation", "LogicalRDD", "Range", "CTERelationRef"}
_SELECT = re.compile(r"\s*select\s+(?!distinct\b|all\b|/\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """`fields` are the columns of its result but for the stime. With `cut_free`, each result is made of one row, and has its stime. Of one that is
    `ordered`, the result depends on the order in which rows are seen."""

    text: str
    stream: str
    fields: pa.Schema
    cut_free: bool
    ordered: bool = False

    def __call__(self, rows: DataFrame) -> DataFrame:
        if self.ordered:
            # In one task: each partition would have a sum of its own, and which rows are in it depends on how the job was cut.
            rows = rows.coalesce(1).sortWithinPartitions(*(quoted(name) for name in rows.columns))
        return _over(rows, self.text, self.stream)


def statement(spark: SparkSession, text: str, stream: str, schema: Schema) -> Statement:
    """The text as a query of the stream; a WrongStatement where it is none."""
    ordered = judge_words(text, schema)
    empty = spark.sql(_no_rows(schema))
    frame = _analysed(empty, text, stream, schema)
    text = text.rstrip().rstrip(";")
    cut_free = False
    if not is_remote(spark):
        _must_be_repeatable(frame, text)
        if _each_row_by_itself(frame):
            if _has_stime_of_row(frame, empty, schema):
                cut_free = True
            elif (timed := _with_time(empty, text, stream, schema, frame.columns)) is not None:
                text, cut_free = timed, True
    names = [name for name in frame.columns if name != schema.stime_name]
    if not names:
        raise WrongStatement(
            "the statement gives no column but the stime\n    allowed: columns of the result, with or without stime\n"
            f"    next: name some of {', '.join(schema.names)}, or SELECT *"
        )
    twice = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if twice:
        raise WrongStatement(
            f"the statement gives the column {twice[0]!r} twice\n    allowed: each name once\n    next: rename one with AS"
        )
    fields = frame.select(*(quoted(name) for name in names)).limit(0).toArrow().schema
    return Statement(text, stream, pa.schema([pa.field(f.name, f.type) for f in fields]), cut_free, ordered)


def _no_rows(schema: Schema) -> str:
    fields = [f"CAST(NULL AS {f.type.spark}) AS {quoted(f.name)}" for f in schema.fields]
    return f"SELECT {', '.join([f'CAST(NULL AS BIGINT) AS {quoted(schema.stime_name)}', *fields])} WHERE FALSE"


def _over(rows: DataFrame, text: str, stream: str) -> DataFrame:
    """Names are looked up when the statement is made: afterwards they may mean something else, or nothing."""
    spark = rows.sparkSession
    names = {ANY_STREAM, *([stream] if stream.isidentifier() else [])}
    # The job that this is a step of may have given them to others.
    before = {name: spark.table(name) for name in names if spark.catalog.tableExists(name)}
    for name in names:
        rows.createOrReplaceTempView(name)
    try:
        found = spark.sql(text)
        # Spark Connect analyses only when it is asked something.
        assert found.columns is not None
        return found
    finally:
        for name in names:
            spark.catalog.dropTempView(name)
        for name, frame in before.items():
            frame.createOrReplaceTempView(name)


def _analysed(empty: DataFrame, text: str, stream: str, schema: Schema) -> DataFrame:
    from pyspark.errors import PySparkException

    try:
        with quiet():
            return _over(empty, text, stream)
    except PySparkException as error:
        raise WrongStatement(
            f"Spark refuses the statement: {first_sentence(str(error))}\n"
            f"    allowed: SELECT ... FROM {stream if stream.isidentifier() else ANY_STREAM} ..., in Spark SQL, over "
            f"{', '.join([schema.stime_name, *schema.names])}\n    next: mend it; or write a diagram, for what SQL has no words for"
        ) from error


def _must_be_repeatable(frame: DataFrame, text: str) -> None:
    plan = frame._jdf.queryExecution().analyzed()
    if not plan.deterministic():
        raise not_repeatable("the result of the statement differs from time to time")
    for node in _nodes(plan):
        name = node.nodeName()
        if node.children().isEmpty() and name not in _ROWS:
            raise not_repeatable(f"the statement reads something else than the stream ({name})")
        if name in ("GlobalLimit", "LocalLimit", "Offset", "Sample") and "Sort" not in {
            n.nodeName() for n in _nodes(node)
        }:
            raise not_repeatable(f"{name} without ORDER BY leaves it open which rows are taken")
    jvm: Any = frame.sparkSession._jvm
    written_out = jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions.apply(plan)
    if any(reads_the_clock(node.expressions()) for node in _nodes(written_out)):
        raise not_repeatable("a text is read as a time of which it says only a part")


def _nodes(plan: Any) -> Iterator[Any]:
    """The plan's, and those of statements within its expressions."""
    yield plan
    for parts in (plan.children(), plan.subqueries()):
        for i in range(parts.size()):
            yield from _nodes(parts.apply(i))


def _each_row_by_itself(frame: DataFrame) -> bool:
    plan = frame._jdf.queryExecution().analyzed()
    return plan.subqueriesAll().isEmpty() and all(node.nodeName() in _ONE_ROW | _ROWS for node in _nodes(plan))


def _has_stime_of_row(frame: DataFrame, empty: DataFrame, schema: Schema) -> bool:
    """Whether its stime is that of the row, and not something else of that name."""
    (of_row,) = _named(empty, schema.stime_name)
    return [found.exprId() for found in _named(frame, schema.stime_name)] == [of_row.exprId()]


def _named(frame: DataFrame, name: str) -> list[Any]:
    columns = frame._jdf.queryExecution().analyzed().output()
    return [column for i in range(columns.size()) if (column := columns.apply(i)).name() == name]


def _with_time(empty: DataFrame, text: str, stream: str, schema: Schema, columns: list[str]) -> str | None:
    """The statement with the stime of each row in front; None where that is not as simple."""
    if schema.stime_name in columns or not _SELECT.match(text):
        return None
    from pyspark.errors import PySparkException

    timed = _SELECT.sub(f"SELECT {schema.stime_name}, ", text, count=1)
    try:
        with quiet():
            found = _over(empty, timed, stream)
    except PySparkException:
        return None
    same = found.columns == [schema.stime_name, *columns] and _each_row_by_itself(found)
    return timed if same and _has_stime_of_row(found, empty, schema) else None
