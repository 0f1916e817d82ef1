import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.model.parquet_layout import stored_layout


def test_rows_of_every_type_come_back_as_they_were(tmp_path):
    rows = pa.table(
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
            "day": pa.array([1, None, -3], pa.date32()),
            "time": pa.array([1, None, -(2**60)], pa.timestamp("us", "UTC")),
            "money": pa.array([Decimal("1.50"), None, Decimal("-9.99")], pa.decimal128(10, 2)),
            "state": pa.array([{"n": 1, "t": "x"}, None, {"n": None, "t": None}]),
            "values": pa.array([[1, 2], None, []]),
        }
    )
    for number, table in enumerate((rows, rows.slice(0, 0))):
        file = tmp_path / f"{number}.parquet"
        pq.write_table(table, file, **stored_layout(table.schema))
        assert pq.read_table(file).equals(table)


def test_numbers_are_stored_as_differences_and_texts_once(tmp_path):
    rows = pa.table({"stime": range(10_000), "text": ["the same"] * 10_000, "value": [0.1] * 10_000})
    file = tmp_path / "rows.parquet"
    pq.write_table(rows, file, **stored_layout(rows.schema))
    stime, text, value = (pq.ParquetFile(file).metadata.row_group(0).column(i) for i in range(3))
    assert "DELTA_BINARY_PACKED" in stime.encodings
    assert stime.total_compressed_size < 10_000
    assert "RLE_DICTIONARY" in text.encodings
    assert text.total_compressed_size < 1_000
    assert value.compression == "UNCOMPRESSED"
