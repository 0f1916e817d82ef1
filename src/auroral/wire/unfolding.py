"""What an Arrow stream would take once it is read, seen before it is: rows must not take more memory or time than the bytes that came.

Arrow's reader gives messages without looking into them. Their metadata is a flatbuffer, which it has verified by then; the few fields that
matter are read here, as Arrow's Message.fbs and Schema.fbs have them.
"""

from __future__ import annotations

import struct
import sys
from itertools import pairwise

import pyarrow as pa

from auroral.wire.errors import WireError

_VERSION, _HEADER = 0, 2
_V5 = 4
_ENDIANNESS = 0
_BUFFERS, _COMPRESSION = 2, 3
_DATA, _DELTA = 1, 2
_NATIVE = 0 if sys.byteorder == "little" else 1
_SIGNED, _UNSIGNED, _SHORT, _UNSIGNED_SHORT = (struct.Struct(kind) for kind in ("<i", "<I", "<h", "<H"))
_SPAN = struct.Struct("<qq")


class _Table:
    """Of a flatbuffer: where it begins, and where its fields lie."""

    def __init__(self, data: memoryview, at: int):
        self.data, self.at = data, at
        self._fields = at - _SIGNED.unpack_from(data, at)[0]
        self._size = _UNSIGNED_SHORT.unpack_from(data, self._fields)[0]

    def where(self, field: int) -> int | None:
        """None where it is not there, and has its default."""
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return None
        lies: int = _UNSIGNED_SHORT.unpack_from(self.data, self._fields + entry)[0]
        return self.at + lies if lies else None

    def short(self, field: int) -> int:
        at = self.where(field)
        return 0 if at is None else int(_SHORT.unpack_from(self.data, at)[0])

    def flag(self, field: int) -> bool:
        at = self.where(field)
        return at is not None and self.data[at] != 0

    def table(self, field: int) -> _Table | None:
        at = self.where(field)
        return None if at is None else _Table(self.data, _follow(self.data, at))

    def spans(self, field: int) -> list[tuple[int, int]]:
        """Begin and end of each buffer."""
        at = self.where(field)
        if at is None:
            return []
        begin = _follow(self.data, at)
        count = _UNSIGNED.unpack_from(self.data, begin)[0]
        lie = self.data[begin + 4 : begin + 4 + count * _SPAN.size]
        return [(offset, offset + length) for offset, length in _SPAN.iter_unpack(lie)]


def _follow(data: memoryview, at: int) -> int:
    return at + int(_UNSIGNED.unpack_from(data, at)[0])


def check_stream(data: pa.Buffer, where: str) -> None:
    """WireError for what only a sender that means harm writes. What is no stream at all is left to the reader, which says so."""
    for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(data)):
        metadata = memoryview(message.metadata)
        try:
            _check(message.type, _Table(metadata, _follow(metadata, 0)), where)
        except (struct.error, IndexError) as error:
            raise WireError(f"metadata of rows end too soon: {error}", where, "an Arrow IPC stream") from error


def _check(kind: str, message: _Table, where: str) -> None:
    header = message.table(_HEADER)
    if header is None or message.short(_VERSION) != _V5:
        raise WireError("rows of another version of Arrow's format", where, "version 5")
    match kind:
        case "schema":
            if header.short(_ENDIANNESS) != _NATIVE:
                # It would be turned around, each column into memory of its own.
                raise WireError("rows of another order of bytes", where, sys.byteorder)
        case "dictionary":
            if header.flag(_DELTA):
                # Each of many would be put together with all before it, once more.
                raise WireError("a dictionary in parts", where, "whole ones")
            _check_body(header.table(_DATA), where)
        case "record batch":
            _check_body(header, where)
        case _:
            raise WireError(f"a {kind[:40]} among the rows", where, "schema, dictionaries, batches")


def _check_body(batch: _Table | None, where: str) -> None:
    if batch is None:
        raise WireError("a dictionary without values", where, "whole ones")
    if batch.where(_COMPRESSION) is not None:
        raise WireError("compressed rows", where, "rows as they are: their size is limited, what they unfold to is not")
    if any(before[1] > after[0] for before, after in pairwise(batch.spans(_BUFFERS))):
        raise WireError("columns that share their bytes", where, "one behind the other")


def check_schema(schema: pa.Schema, where: str) -> None:
    """Types whose values may all point at the same bytes: to look at each takes any time, to lay them out any memory."""
    for field in schema:
        _check_type(field.type, f"{where}, column {field.name[:60]!r}")


def _check_type(type: pa.DataType, where: str) -> None:
    if isinstance(type, pa.BaseExtensionType):
        _check_type(type.storage_type, where)
        return
    refused = (
        pa.types.is_string_view,
        pa.types.is_binary_view,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
        pa.types.is_run_end_encoded,
    )
    if any(refuses(type) for refuses in refused):
        raise WireError(f"rows of type {str(type)[:60]}", where, "types whose values have bytes of their own")
    if pa.types.is_dictionary(type):
        _check_type(type.value_type, where)
    for number in range(type.num_fields):
        _check_type(type.field(number).type, where)
