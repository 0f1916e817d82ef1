"""Rows as Arrow IPC streams: written once, into their place in the message, and read where they lie."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from auroral.wire.errors import WireError
from auroral.wire.limits import MOST_ROWS
from auroral.wire.unfolding import check_schema, check_stream

ALIGNMENT = 64
"""Bytes. Arrow wants buffers to begin at such places; every part of a message does."""
_READ = pa.ipc.IpcReadOptions(use_threads=False)


def padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def size_of(rows: pa.RecordBatch | pa.Table) -> int:
    """Bytes of their stream: what writing it takes, without writing."""
    sink = pa.MockOutputStream()
    write(rows, sink)
    return int(sink.size())


def write(rows: pa.RecordBatch | pa.Table, sink: pa.NativeFile) -> None:
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write(rows)


def read(data: pa.Buffer, batch: bool, count: int, where: str) -> pa.RecordBatch | pa.Table:
    """Nothing is copied, nor unfolded. Every offset and length is checked: a wrong one would be followed out of the buffer."""
    try:
        check_stream(data, where)
        source = pa.BufferReader(data)
        with pa.ipc.open_stream(source, options=_READ) as stream:
            check_schema(stream.schema, where)
            found = stream.read_next_batch() if batch else stream.read_all()
            more = batch and next(iter(stream), None) is not None
        found.validate(full=True)
    except StopIteration:
        raise WireError("a batch of rows without a batch", where, "one") from None
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, UnicodeDecodeError) as error:
        raise WireError(f"rows that are no Arrow stream: {str(error)[:200]}", where, "an Arrow IPC stream") from error
    if more or source.tell() != data.size:
        raise WireError("something stands behind the rows", where, "one Arrow IPC stream")
    if not found.num_rows == count <= MOST_ROWS:
        raise WireError(f"{found.num_rows} rows came where {count} were announced", where, "as many")
    return found


def check(rows: pa.RecordBatch | pa.Table, where: str) -> None:
    """WireError for rows that `read` would refuse: offsets that lead astray, texts that are none, numbers beyond their type's range."""
    check_schema(rows.schema, where)
    try:
        rows.validate(full=True)
    except pa.ArrowException as error:
        raise WireError(
            f"rows that are not valid: {str(error)[:200]}", where, "what Arrow's own check takes"
        ) from error


def is_rows(value: Any) -> bool:
    return isinstance(value, pa.RecordBatch | pa.Table)
