import pyarrow as pa
import pyarrow.parquet as pq

from auroral.model.parquet_layout import stored_layout
from model.every_type import ROWS


def test_rows_of_every_type_come_back_as_they_were(tmp_path):
    inside = pa.table({"state": [{"n": 1, "t": "x"}, None, {"n": None, "t": None}], "values": [[1, 2], None, []]})
    rows = ROWS.append_column("state", inside["state"]).append_column("values", inside["values"])
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
