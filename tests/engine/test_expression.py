"""Expressions as Spark SQL: Spark and the reference evaluator are two backends of the same vectors."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from auroral.engine.expression import to_sql
from auroral.engine.failures import guarded
from auroral.engine.reached import result_type
from auroral.model.expression import Typed
from auroral.model.expression.evaluate import evaluate
from auroral.model.schema import arrow_schema
from auroral.model.types import FieldType, Kind
from engine.expressions import FIELDS, INEXACT, USER, VECTORS, backquoted, typed_as
from engine.random_expressions import Sampler, random_row


def _row(values: dict[str, Any]) -> dict[tuple[str | None, str], Any]:
    return {(None, name): values.get(name) for name in (*FIELDS.names, "stime")}


def _same(a: Any, b: Any, exact: bool = True) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return struct.pack("d", a) == struct.pack("d", b) or (not exact and math.isclose(a, b, rel_tol=1e-12))
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize(("text", "values", "expected"), VECTORS)
def test_reference_gives_the_worked_values(text: str, values: dict[str, Any], expected: Any) -> None:
    found = evaluate(typed_as(text), _row(values))
    assert _same(found, expected, exact=False), found


@pytest.fixture(params=["codegen", "interpreted"])
def session(spark: Any, request: pytest.FixtureRequest) -> Any:
    """A session of its own, so that settings do not leak; both of Spark's evaluators must agree."""
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "false")
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.codegen.wholeStage", str(request.param == "codegen").lower())
    own.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if request.param == "codegen" else "NO_CODEGEN")
    return own


def _frame(session: Any, rows: Sequence[dict[tuple[str | None, str], Any]]) -> Any:
    full = arrow_schema(FIELDS).append(pa.field("stime", pa.int64()))
    columns = []
    for field in full:
        values = [row[None, field.name] for row in rows]
        columns.append(pa.array(values, field.type))
    return session.createDataFrame(pa.Table.from_arrays(columns, schema=full))


def _spark_values(session: Any, rows: Sequence[Any], typed: Sequence[Typed]) -> list[list[Any]]:
    frame = _frame(session, rows)
    texts = [to_sql(t, backquoted) for t in typed]
    kinds = [field.dataType.simpleString().upper() for field in frame.selectExpr(*texts).schema.fields]
    assert kinds == [t.type.spark for t in typed]
    shown = [f"{_plain(text, t.type)} AS c{i}" for i, (text, t) in enumerate(zip(texts, typed, strict=True))]
    return [column.to_pylist() for column in frame.selectExpr(*shown).toArrow().columns]


def _plain(text: str, type: FieldType) -> str:
    # Python's own dates and times end at the year 9999.
    wrapped = {Kind.TIMESTAMP: f"unix_micros({text})", Kind.DATE: f"unix_date({text})"}
    return wrapped.get(type.kind, f"({text})")


@pytest.mark.spark
def test_spark_gives_the_worked_values(session: Any) -> None:
    rows = [_row(values) for _, values, _ in VECTORS]
    typed = [typed_as(text) for text, _, _ in VECTORS]
    wrong = []
    for start in range(0, len(VECTORS), 60):
        chunk = slice(start, start + 60)
        found = _spark_values(session, rows[chunk], typed[chunk])
        for i, (text, values, expected) in enumerate(VECTORS[chunk]):
            if not _same(found[i][i], expected, exact=text.split("(")[0] not in INEXACT):
                wrong.append((text, values, expected, found[i][i], to_sql(typed_as(text), backquoted)))
    assert wrong == []


@pytest.mark.spark
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a seed does not shrink
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32 - 1))
def test_spark_and_reference_agree_on_random_expressions(session: Any, seed: int) -> None:
    random = Random(seed)
    sampler = Sampler(random)
    texts = [sampler.any_expression() for _ in range(60)]
    rows = [random_row(random) for _ in range(40)]
    typed = [typed_as(text) for text in texts]
    wrong = []
    for text, node, column in zip(texts, typed, _spark_values(session, rows, typed), strict=True):
        exact = text.split("(")[0] not in INEXACT
        for row, found in zip(rows, column, strict=True):
            expected = evaluate(node, row)
            if not _same(found, expected, exact):
                used = {name: row[None, name] for name in FIELDS.names if f"{name}" in text}
                wrong.append((text, used, expected, found, to_sql(node, backquoted)))
                break
    assert wrong == []


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "x / (" * 33 + "x" + ")" * 33,
        "min(y, " * 33 + "x" + ")" * 33,
        "floor(ln(" * 16 + "x" + "))" * 16,
        "x" + " - x" * 199,
        "int(1.5 + " * 99 + "i" + ")" * 99,
        " or ".join(f"i = {n}" for n in range(2000)),
        "if i = 1 then 1 else " * 190 + "2",
    ],
    ids=["divide", "min", "ln", "minus", "converted", "or", "if"],
)
def test_large_expressions_stay_small_and_run(spark: Any, text: str) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "false")
    typed = typed_as(text)
    assert len(to_sql(typed, backquoted)) < 60 * len(text)
    rows = [_row({"x": 2.5, "y": 7.5, "i": 5})]
    assert _same(_spark_values(own, rows, [typed])[0][0], evaluate(typed, rows[0]), exact=False)


@pytest.mark.spark
def test_user_functions_are_called_by_their_udf_name(session: Any) -> None:
    twice = USER["twice"]
    session.udf.register("auroral_twice", guarded("twice", twice), result_type(twice.returns))
    rows = [_row({"n": 4, "s": "abc"}), _row({})]
    typed = typed_as("twice(n, s) + TWICE(2, null)")
    calls = ("auroral_twice(CAST(`n` AS INT), `s`)", "auroral_twice(2, CAST(NULL AS STRING))")
    value, error = " + ".join(f"{call}.v" for call in calls), f"coalesce({', '.join(f'{call}.why' for call in calls)})"
    assert to_sql(typed, backquoted) == f"IF({error} IS NULL, {value}, CAST(raise_error({error}) AS DOUBLE))"
    assert _spark_values(session, rows, [typed]) == [[15.0, None]]
    assert [evaluate(typed, row) for row in rows[:1]] == [15.0]
