"""What an Arrow stream would take once it is read, seen before it is: rows must not take more memory or time than the bytes that came.

Arrow's reader gives messages without looking into them. Their metadata is a flatbuffer, which it has verified by then; the few fields that
matter are read here, as Arrow's Message.fbs and Schema.fbs have them.

Types are those that streams have, and no others: each value has bytes of its own. Values of dictionaries, unions, views and run ends may all
point at the same ones, and nulls need none: laid out, by a cast or for Spark, they take any memory.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from auroral.wire.errors import WireError
from auroral.wire.limits import MOST_ARRAYS, MOST_BATCHES, MOST_COLUMNS, MOST_NESTED, MOST_SCHEMA

_VERSION, _HEADER = 0, 2
_V5 = 4
_ENDIANNESS = 0
_BUFFERS, _COMPRESSION = 2, 3
_NUMBERS = 4
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


_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_timestamp,
    pa.types.is_date,
)
_ALLOWED = "booleans, numbers, decimals, texts, bytes, timestamps, dates, lists and structs of these"


@dataclass(slots=True)
class Arrays:
    """Of one message: columns by batches, of all its rows. What tells of the columns counts as a batch."""

    count: int = 0

    def add(self, columns: int, batches: int, where: str) -> None:
        if batches > MOST_BATCHES:
            raise WireError(f"rows in more than {MOST_BATCHES} batches", where, "fewer", "combine chunks")
        self.count += columns * (batches + 1)
        if self.count > MOST_ARRAYS:
            raise WireError(f"rows of more than {MOST_ARRAYS} columns by batches", where, "fewer", "combine chunks")


def check_stream(data: pa.Buffer, where: str, arrays: Arrays) -> None:
    """WireError for what only a sender that means harm writes. What is no stream at all is left to the reader, which says so."""
    columns = batches = 0
    for number, message in enumerate(pa.ipc.MessageReader.open_stream(pa.BufferReader(data))):
        metadata = memoryview(message.metadata)
        # Of a batch, every column has numbers, but no name.
        check_metadata(len(metadata) if message.type == "schema" else len(metadata) // _NUMBERS, where)
        try:
            _check(message.type, _Table(metadata, _follow(metadata, 0)), where)
        except (struct.error, IndexError) as error:
            raise WireError(f"metadata of rows end too soon: {error}", where, "an Arrow IPC stream") from error
        if number == 0 and message.type == "schema":
            columns = check_schema(pa.ipc.read_schema(message), where)
        else:
            batches += 1
            Arrays(arrays.count).add(columns, batches, where)
    arrays.add(columns, batches, where)


def check_metadata(size: int, where: str) -> None:
    if size > MOST_SCHEMA:
        raise WireError(f"columns take {size} bytes to tell of", where, f"at most {MOST_SCHEMA}")


def _check(kind: str, message: _Table, where: str) -> None:
    header = message.table(_HEADER)
    if header is None or message.short(_VERSION) != _V5:
        raise WireError("rows of another version of Arrow's format", where, "version 5")
    match kind:
        case "schema":
            if header.short(_ENDIANNESS) != _NATIVE:
                # It would be turned around, each column into memory of its own.
                raise WireError("rows of another order of bytes", where, sys.byteorder)
        case "record batch":
            _check_body(header, where)
        case _:
            raise WireError(f"a {kind[:40]} among the rows", where, "schema, batches")


def _check_body(batch: _Table, where: str) -> None:
    if batch.where(_COMPRESSION) is not None:
        raise WireError("compressed rows", where, "rows as they are: their size is limited, what they unfold to is not")
    if any(before[1] > after[0] for before, after in pairwise(batch.spans(_BUFFERS))):
        raise WireError("columns that share their bytes", where, "one behind the other")


def check_schema(schema: pa.Schema, where: str) -> int:
    """Gives the columns, with all that is in them."""
    if not schema.names:
        raise WireError("rows without columns", where, "one or more")
    columns = sum(_columns(field.type, f"{where}, column {field.name[:60]!r}") for field in schema)
    if columns > MOST_COLUMNS:
        raise WireError(f"rows of {columns} columns, with all that is in them", where, f"at most {MOST_COLUMNS}")
    check_metadata(schema.serialize().size, where)
    return columns


def _columns(type: pa.DataType, where: str, nested: int = 0) -> int:
    if any(is_plain(type) for is_plain in _PLAIN):
        return 1
    if not (pa.types.is_list(type) or (pa.types.is_struct(type) and type.num_fields)):
        raise WireError(f"rows of type {str(type)[:60]}", where, _ALLOWED)
    if nested == MOST_NESTED:
        raise WireError("lists and structs in one another", where, f"at most {MOST_NESTED} deep")
    return 1 + sum(_columns(type.field(number).type, where, nested + 1) for number in range(type.num_fields))
