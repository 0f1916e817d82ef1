"""Files of our own give back what was put into them, whoever wrote them: pyarrow or Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.engine.filelayout import spark_layout
from auroral.engine.sqltext import Column
from auroral.model.parquet_layout import stored_layout
from model.every_type import ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

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
    # No checksum files beside it.
    (part,) = (tmp_path / "sparks").iterdir()
    assert pq.read_table(part).cast(given.schema).equals(given)
    again = spark.read.schema(", ".join(column.ddl() for column in columns)).parquet(str(part))
    assert again.toArrow().cast(given.schema).equals(given)
