"""How Spark writes rows to Parquet files of our own: like `model.parquet_layout`, in the form that it reads and writes fastest."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.engine.sqltext import Column

_TEXTS = ("STRING", "BINARY")

_UNREAD = {
    # The segment has a checksum of its own, and whoever reads it reads all of it: nobody looks at these.
    "parquet.page.write-checksum.enabled": "false",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
    # Without Hadoop's checksum file beside each file, for which it starts a program (chmod) as well. Spark has the file system of the usual
    # class in its cache, and would go on with that.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}


def spark_layout(columns: Sequence[Column]) -> dict[str, str]:
    """Options for `DataFrame.write`. Spark compresses all columns of a file or none."""
    texts = any(column.type in _TEXTS for column in columns)
    plain = {f"parquet.enable.dictionary#{column.name}": "false" for column in columns if column.type not in _TEXTS}
    # The second form of pages is the one that has differences of numbers.
    return {"parquet.writer.version": "v2", "compression": "snappy" if texts else "uncompressed", **plain, **_UNREAD}
