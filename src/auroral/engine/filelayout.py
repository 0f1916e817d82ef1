"""How Spark writes rows to Parquet files of our own: like `model.parquet_layout`, in the form that it reads and writes fastest."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.engine.sqltext import Column

_TEXTS = ("STRING", "BINARY")


def spark_layout(columns: Sequence[Column]) -> dict[str, str]:
    """Options for `DataFrame.write`. Spark compresses all columns of a file or none."""
    texts = any(column.type in _TEXTS for column in columns)
    plain = {f"parquet.enable.dictionary#{column.name}": "false" for column in columns if column.type not in _TEXTS}
    # The second form of pages is the one that has differences of numbers.
    return {"parquet.writer.version": "v2", "compression": "snappy" if texts else "uncompressed", **plain}
