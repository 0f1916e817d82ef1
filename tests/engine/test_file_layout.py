"""Files of our own give back what was put into them, whoever wrote them: pyarrow or Spark."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.engine.filelayout import spark_layout
from auroral.engine.sqltext import Column
from auroral.model.parquet_layout import stored_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {
        "byte": pa.array([1, None, -128], pa.int8()),
        "short": pa.array([1, None, -32_768], pa.int16()),
        "int": pa.array([2**31 - 1, None, -(2**31)], pa.int32()),
        "long": pa.array([2**63 - 1, None, -(2**63)], pa.int64()),
        "single": pa.array([1.5, None, -0.0], pa.float32()),
        "double": pa.array([math.inf, None, -0.0]),
        "flag": [True, None, False],
        "text": ["ä", None, ""],
        "bytes": pa.array([b"\0", None, b""]),
        "day": pa.array([date(9999, 12, 31), None, date(1, 1, 1)], pa.date32()),
        "time": pa.array(
            [datetime(9999, 1, 1, tzinfo=UTC), None, datetime(1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")
        ),
        "money": pa.array([Decimal("1.50"), None, Decimal("-9.99")], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal(10**37), None, Decimal(-1)], pa.decimal128(38, 0)),
        "a.b `c` #d": pa.array([1, None, 3], pa.int64()),
    }
)
TYPES = [
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "BOOLEAN",
    "STRING",
    "BINARY",
    "DATE",
    "TIMESTAMP",
    "DECIMAL(10,2)",
    "DECIMAL(38,0)",
    "BIGINT",
]


def many(times: int) -> pa.Table:
    """Enough rows for several pages."""
    return pa.concat_tables([ROWS] * times).combine_chunks()


@pytest.mark.parametrize("times", [1, 20_000])
def test_every_type(spark: SparkSession, tmp_path: Path, times: int) -> None:
    given = many(times)
    pq.write_table(given, tmp_path / "ours.parquet", **stored_layout(given.schema))
    columns = [Column(name, type_) for name, type_ in zip(ROWS.column_names, TYPES, strict=True)]
    read = spark.read.schema(", ".join(column.ddl() for column in columns)).parquet(str(tmp_path / "ours.parquet"))
    assert read.toArrow().cast(given.schema).equals(given)
    read.coalesce(1).write.options(**spark_layout(columns)).parquet(str(tmp_path / "sparks"))
    (part,) = (tmp_path / "sparks").glob("*.parquet")
    assert pq.read_table(part).cast(given.schema).equals(given)
    again = spark.read.schema(", ".join(column.ddl() for column in columns)).parquet(str(part))
    assert again.toArrow().cast(given.schema).equals(given)
