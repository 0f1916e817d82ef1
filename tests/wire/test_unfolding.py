"""Rows that take more than the bytes that came: refused before any of it is there."""

from __future__ import annotations

import json
import struct

import pyarrow as pa
import pytest

from auroral.dpc.values import Content, Stable
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


def test_a_compressed_dictionary() -> None:
    words = pa.array(["word" * 100] * 9).dictionary_encode()
    table = pa.table({"d": words})
    assert from_bytes(message(ipc(table), 9)).contents[0].rows.equals(table)
    with pytest.raises(WireError, match="compressed rows"):
        from_bytes(message(ipc(table, compression="zstd"), 9))


def test_a_dictionary_in_parts() -> None:
    """Each part would be put together with all before it: many small ones behind a large one take any memory."""
    parts = [pa.table({"d": pa.array(words).dictionary_encode()}) for words in (["a", "b"], ["a", "b", "c"])]
    with pytest.raises(WireError, match="a dictionary in parts"):
        from_bytes(message(ipc(*parts, emit_dictionary_deltas=True), 5))
    assert from_bytes(message(ipc(*parts), 5)).contents[0].count == 5


def test_columns_that_share_their_bytes() -> None:
    """Thousands of them would each be looked through."""
    rows = bytearray(ipc(pa.table({"a": pa.array([1, 2], pa.int64()), "b": pa.array([3, 4], pa.int64())})))
    at = rows.index(struct.pack("<4q", 16, 0, 16, 16))
    rows[at : at + 32] = struct.pack("<4q", 16, 0, 0, 16)
    with pytest.raises(WireError, match="columns that share their bytes"):
        from_bytes(message(bytes(rows), 2))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x"], pa.string_view()),
        pa.array([b"x"], pa.binary_view()),
        pa.array([[1]], pa.list_view(pa.int64())),
        pa.array([[1]], pa.large_list_view(pa.int64())),
        pa.RunEndEncodedArray.from_arrays([1], [7]),
        pa.array([[["x"]]], pa.list_(pa.list_(pa.string_view()))),
        pa.array([{"f": "x"}], pa.struct([("f", pa.string_view())])),
    ],
    ids=lambda column: str(column.type),
)
def test_values_that_may_all_point_at_the_same_bytes(column: pa.Array) -> None:
    with pytest.raises(WireError, match="column 'c': rows of type"):
        from_bytes(message(ipc(pa.table({"c": column})), 1))


def test_another_version_of_the_format() -> None:
    with pytest.raises(WireError, match="another version"):
        from_bytes(message(ipc(PLAIN, metadata_version=pa.ipc.MetadataVersion.V4), 3))


def test_another_order_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned around, each column would take memory of its own."""
    monkeypatch.setattr(unfolding, "_NATIVE", 1 - unfolding._NATIVE)
    with pytest.raises(WireError, match="another order of bytes"):
        from_bytes(message(ipc(PLAIN), 3))


def test_usual_rows_are_read() -> None:
    table = pa.table(
        {
            "a": [1, None],
            "s": ["x", ""],
            "l": [[1], None],
            "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "t": [{"x": 1.5}, None],
            "d": pa.array(["q", "q"]).dictionary_encode(),
            "n": pa.nulls(2),
        }
    )
    (content,) = from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, 2, table),)))).contents
    assert content.rows.equals(table)
