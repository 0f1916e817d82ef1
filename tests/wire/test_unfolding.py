"""Rows that take more than the bytes that came: refused before any of it is there."""

from __future__ import annotations

import functools
import json
import struct

import pyarrow as pa
import pytest

from auroral.dpc.values import Content, Stable
from auroral.engine.arrowrows import arrow_type
from auroral.wire import unfolding
from auroral.wire.codec import from_bytes, to_bytes
from auroral.wire.errors import WireError

PLAIN = pa.table({"a": [1, 2, None], "b": ["x", None, "z"]})


def ipc(*tables: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as stream:
        for table in tables:
            stream.write(table)
    return bytes(sink.getvalue().to_pybytes())


def message(rows: bytes, count: int) -> bytes:
    header = json.dumps(["stable", "s", 1, 1, [[1, count, len(rows), False]], []]).encode()
    begin = len(header).to_bytes(4, "big") + header
    return begin + bytes(-len(begin) % 64) + rows + bytes(-len(rows) % 64)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_small_message_that_would_become_a_large_one(codec: str) -> None:
    rows = ipc(pa.table({"v": _zeros(8_000_000)}), compression=codec)
    bomb = message(rows, 8_000_000)
    assert len(bomb) < 300_000
    usual, seen = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(seen)
    try:
        with pytest.raises(WireError, match="compressed rows"):
            from_bytes(bomb)
    finally:
        pa.set_memory_pool(usual)
    assert seen.max_memory() < 1_000_000


def _zeros(count: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(bytes(8 * count))])


def test_columns_that_share_their_bytes() -> None:
    """Thousands of them would each be looked through."""
    rows = bytearray(ipc(pa.table({"a": pa.array([1, 2], pa.int64()), "b": pa.array([3, 4], pa.int64())})))
    at = rows.index(struct.pack("<4q", 16, 0, 16, 16))
    rows[at : at + 32] = struct.pack("<4q", 16, 0, 0, 16)
    with pytest.raises(WireError, match="columns that share their bytes"):
        from_bytes(message(bytes(rows), 2))


TEXT = pa.array(["x" * 1000])
MANY = 1000


def point_at_one(indices: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(indices, TEXT)


@pytest.mark.parametrize(
    "column",
    [
        point_at_one(pa.array([0] * MANY, pa.int8())),
        pa.UnionArray.from_dense(pa.array([0] * MANY, pa.int8()), pa.array([0] * MANY, pa.int32()), [TEXT]),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [TEXT]),
        pa.nulls(MANY),
        pa.array([{}] * MANY, pa.struct([])),
        pa.array([b""] * MANY, pa.binary(0)),
        pa.array([[]] * MANY, pa.list_(pa.int64(), 0)),
        pa.array(["x"], pa.string_view()),
        pa.array([b"x"], pa.binary_view()),
        pa.array([[1]], pa.list_view(pa.int64())),
        pa.array([[1]], pa.large_list_view(pa.int64())),
        pa.RunEndEncodedArray.from_arrays([1], [7]),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16], pa.binary(16))),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([[["x"]]], pa.list_(pa.list_(pa.string_view()))),
        pa.array([{"f": "x"}], pa.struct([("f", pa.string_view())])),
        pa.array([[None]], pa.list_(pa.null())),
    ],
    ids=lambda column: str(column.type),
)
def test_types_that_no_stream_has(column: pa.Array) -> None:
    """Many of their values may point at the same bytes, or at none."""
    table = pa.table({"c": column})
    with pytest.raises(WireError, match="column 'c': rows of type"):
        from_bytes(message(ipc(table), len(column)))
    with pytest.raises(WireError, match="column 'c': rows of type"):
        to_bytes(Stable("s", 1, 2, (Content(1, len(column), table),)))


def test_rows_without_columns() -> None:
    """They could be any number, at no cost."""
    none = pa.RecordBatch.from_struct_array(pa.array([{}] * MANY, pa.struct([])))
    with pytest.raises(WireError, match="rows without columns"):
        from_bytes(message(ipc(none), MANY))
    with pytest.raises(WireError, match="rows without columns"):
        to_bytes(Stable("s", 1, 2, (Content(1, MANY, none),)))


@pytest.mark.parametrize("kind", [pa.int64(), pa.list_(pa.string()), pa.struct([("f", pa.bool_())])], ids=str)
def test_values_without_their_bytes(kind: pa.DataType) -> None:
    """A length is only a number: Arrow's own check finds that there is nothing behind it."""
    rows = bytearray(ipc(pa.table({"c": pa.nulls(3, kind)})))
    at = 0
    while (at := rows.find(struct.pack("<q", 3), at)) >= 0:
        rows[at : at + 8] = struct.pack("<q", 1 << 30)
        at += 8
    with pytest.raises(WireError, match="no Arrow stream"):
        from_bytes(message(bytes(rows), 1 << 30))


def test_another_version_of_the_format() -> None:
    with pytest.raises(WireError, match="another version"):
        from_bytes(message(ipc(PLAIN, metadata_version=pa.ipc.MetadataVersion.V4), 3))


def test_another_order_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned around, each column would take memory of its own."""
    monkeypatch.setattr(unfolding, "_NATIVE", 1 - unfolding._NATIVE)
    with pytest.raises(WireError, match="another order of bytes"):
        from_bytes(message(ipc(PLAIN), 3))


def test_a_schema_of_very_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes far more memory than the bytes that tell of it."""
    table = pa.table({f"column{number}": [1] for number in range(100)})
    assert from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, 1, table),))))
    monkeypatch.setattr(unfolding, "MOST_SCHEMA", 5000)
    with pytest.raises(WireError, match="columns take"):
        from_bytes(message(ipc(table), 1))
    with pytest.raises(WireError, match="columns take"):
        to_bytes(Stable("s", 1, 2, (Content(1, 1, table.slice(0)),)))


def test_very_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in lists and structs counts too."""
    monkeypatch.setattr(unfolding, "MOST_COLUMNS", 8)
    parts = pa.array([[{"x": 1, "y": [2]}]])
    table = pa.table({"a": parts, "b": [1], "c": [1], "d": [1]})
    with pytest.raises(WireError, match="rows of 9 columns"):
        from_bytes(message(ipc(table.append_column("e", [[1]])), 1))
    with pytest.raises(WireError, match="rows of 9 columns"):
        to_bytes(Stable("s", 1, 2, (Content(1, 1, table.append_column("e", [[1]])),)))
    assert from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, 1, table),))))


@pytest.mark.parametrize("deep", [32, 33, 3000])
def test_lists_in_one_another(deep: int) -> None:
    kind = functools.reduce(lambda inner, _: pa.list_(inner), range(deep), pa.int64())
    table = pa.table({"c": pa.array([None], kind)})
    if deep == 32:
        assert from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, 1, table),))))
        return
    with pytest.raises(WireError, match="at most 32 deep"):
        to_bytes(Stable("s", 1, 2, (Content(1, 1, table),)))
    if deep == 33:
        with pytest.raises(WireError, match="at most 32 deep"):
            from_bytes(message(ipc(table), 1))


def test_very_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"v": pa.chunked_array([pa.array([1])] * 20)})
    monkeypatch.setattr(unfolding, "MOST_BATCHES", 19)
    with pytest.raises(WireError, match="rows in more than 19"):
        from_bytes(message(ipc(table), 20))
    with pytest.raises(WireError, match="rows in more than 19"):
        to_bytes(Stable("s", 1, 2, (Content(1, 20, table),)))
    assert from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, 20, table.combine_chunks()),))))


def test_columns_by_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes memory of its own, however few bytes it comes with: in all buckets of a message together."""
    table = pa.concat_tables([pa.table({"a": [1], "b": [[2]]})] * 4)
    monkeypatch.setattr(unfolding, "MOST_ARRAYS", 14)
    with pytest.raises(WireError, match="more than 14 columns by batches"):
        from_bytes(message(ipc(table), 4))
    with pytest.raises(WireError, match="more than 14 columns by batches"):
        to_bytes(Stable("s", 1, 2, (Content(1, 4, table),)))
    monkeypatch.setattr(unfolding, "MOST_ARRAYS", 29)
    twice = Stable("s", 1, 2, (Content(1, 4, table), Content(2, 4, table)))
    with pytest.raises(WireError, match="more than 29 columns by batches"):
        to_bytes(twice)
    monkeypatch.setattr(unfolding, "MOST_ARRAYS", 30)
    both = to_bytes(twice)
    assert from_bytes(both) == twice
    monkeypatch.setattr(unfolding, "MOST_ARRAYS", 29)
    with pytest.raises(WireError, match="more than 29 columns by batches"):
        from_bytes(both)


def test_all_that_streams_have_is_read() -> None:
    columns = [
        *(
            "TINYINT",
            "SMALLINT",
            "INT",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "STRING",
            "TIMESTAMP",
            "BOOLEAN",
            "DATE",
            "BINARY",
        ),
        "DECIMAL(38,9)",
        "ARRAY<STRING>",
        "STRUCT<c0: BIGINT, c1: ARRAY<STRUCT<x: DECIMAL(10,2)>>>",
    ]
    fields = [pa.field(str(number), arrow_type(kind)) for number, kind in enumerate(columns)]
    fields += [pa.field("large", pa.large_string()), pa.field("bytes", pa.large_binary())]
    schema = pa.schema(fields)
    some = pa.table({"a": [1, None], "s": ["x", ""], "l": [[1], None], "t": [{"x": 1.5, "y": ["z"]}, None]})
    for table in (schema.empty_table(), pa.table([pa.nulls(3, field.type) for field in schema], schema), some):
        (content,) = from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, table.num_rows, table),)))).contents
        assert content.rows.equals(table)
