"""Spark's judgement of `sql()` expressions, before a run reads its first row.

What the model can see in the text is refused by `check`. Unknown functions, wrong arguments and types that cannot be cast
only Spark knows: each expression is analysed by itself over empty relations, so that what is wrong names its box.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from auroral.engine.expression import to_sql
from auroral.engine.session import is_remote
from auroral.engine.sqltext import STIME, quoted
from auroral.model.checking import Checked, CheckedBox
from auroral.model.errors import DiagramError, Problem
from auroral.model.expression import SqlExpression
from auroral.model.expression.sqlrefused import TIME_WORDS, is_whole_time
from auroral.model.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SIDES = {"left": 0, "right": 1}


def sql_expressions(checked: Checked) -> list[tuple[CheckedBox, SqlExpression]]:
    return [(box, e) for box in checked.boxes for e in box.typed.expressions() if isinstance(e, SqlExpression)]


def judge(spark: SparkSession, checked: Checked) -> None:
    """Raise one DiagramError with all that Spark has against the diagram's SQL expressions."""
    problems = []
    with quiet():
        for box, expression in sql_expressions(checked):
            schemas = [checked.streams[stream].schema for stream in box.box.inputs]
            problem = _problem(spark, box, expression, schemas)
            if problem is not None:
                problems.append(problem)
    if problems:
        raise DiagramError(problems)


def _problem(spark: SparkSession, box: CheckedBox, given: SqlExpression, schemas: Sequence[Schema]) -> Problem | None:
    from pyspark.errors import AnalysisException

    what = f"box {box.box.name!r}: Spark refuses the SQL expression {given.text!r}, declared {given.type}"
    try:
        frame = spark.sql(_statement(given, schemas))
        # Spark Connect analyses only when it is asked something.
        assert frame.schema
    except AnalysisException as error:
        return Problem(
            f"{what}: {first_sentence(str(error))}",
            box.box.place,
            allowed="an expression of Spark SQL over fields of the row, of a type that can be cast to the declared one",
            next_step="see Spark's SQL functions; those of auroral.function are for Auroral's own language only",
        )
    if is_remote(spark) or _is_repeatable(frame):
        return None
    return Problem(
        f"{what}: it is not a function of the row alone",
        box.box.place,
        allowed="no clock, no random source, no other rows",
    )


def _statement(given: SqlExpression, schemas: Sequence[Schema]) -> str:
    def column(qualifier: str | None, name: str) -> str:
        found = [i for i, schema in enumerate(schemas) if schema.get(name) is not None]
        at = _SIDES[qualifier] if qualifier is not None else found[0] if found else 0
        hidden = name == "stime" and schemas[at].get(name) is None
        return f"r{at}.{STIME if hidden else quoted(name)}"

    relations = []
    for number, schema in enumerate(schemas):
        fields = [f"CAST(NULL AS {f.type.spark}) AS {quoted(f.name)}" for f in schema.fields]
        relations.append(f"(SELECT {', '.join([f'CAST(NULL AS BIGINT) AS {STIME}', *fields])} WHERE FALSE) r{number}")
    return f"SELECT {to_sql(given, column)} AS x FROM {' CROSS JOIN '.join(relations)}"


def first_sentence(message: str) -> str:
    """What Spark says, without the name of the error class, its code, and the plan or statement that follows."""
    said = message.strip().split(" SQLSTATE")[0].splitlines()[0]
    return said.partition("] ")[2] if said.startswith("[") else said


def _is_repeatable(frame: DataFrame) -> bool:
    plan = frame._jdf.queryExecution().analyzed()
    if not plan.deterministic() or plan.nodeName() != "Project":
        return False
    # With functions such as to_timestamp as what they stand for.
    jvm: Any = frame.sparkSession._jvm
    written_out = jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions.apply(plan).expressions()
    return not reads_the_clock(written_out)


def reads_the_clock(expressions: Any) -> bool:
    """Of Spark's expressions, with functions such as to_timestamp as what they stand for."""
    return any(_is_part_of_a_time(part) for part in _parts(expressions))


def _parts(expressions: Any) -> Iterator[Any]:
    """Spark's expressions and all that they are made of."""
    for i in range(expressions.size()):
        yield expressions.apply(i)
        yield from _parts(expressions.apply(i).children())


def _is_part_of_a_time(expression: Any) -> bool:
    """Whether a text is cast to a time of which it says only a part: 'today', '12:30'."""
    if expression.nodeName() != "Cast" or expression.dataType().typeName() not in TIME_WORDS:
        return False
    text = expression.child()
    if not text.foldable() or not text.dataType().typeName().startswith("string"):
        return False
    said = text.eval(None)
    return said is not None and not is_whole_time(expression.dataType().typeName(), str(said))


_JUDGING: ContextVar[bool] = ContextVar("judging", default=False)


def _is_of_others(record: logging.LogRecord) -> bool:
    return not _JUDGING.get()


@contextmanager
def quiet() -> Iterator[None]:
    """pyspark logs each refused statement with a stack trace; what is wrong is said by our own error.

    In this thread only: what others do at the same time is logged as ever.
    """
    from pyspark.logger import PySparkLogger

    # By pyspark's own means: it could not write to a plain logger of this name.
    PySparkLogger.getLogger("SQLQueryContextLogger").addFilter(_is_of_others)
    before = _JUDGING.set(True)
    try:
        yield
    finally:
        _JUDGING.reset(before)
