"""Rows as Arrow IPC streams, read where they lie in a message."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from auroral.wire.errors import WireError
from auroral.wire.limits import MOST_ROWS
from auroral.wire.measuring import checked
from auroral.wire.unfolding import Arrays, check_stream

ALIGNMENT = 64
"""Bytes. Arrow wants buffers to begin at such places; every part of a message does."""
_READ = pa.ipc.IpcReadOptions(use_threads=False)


def padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def read(data: pa.Buffer, batch: bool, count: int, where: str, arrays: Arrays) -> pa.RecordBatch | pa.Table:
    """Nothing is copied, nor unfolded. Every offset and length is checked: a wrong one would be followed out of the buffer. What it has of
    columns by batches is added to those of its message."""
    try:
        check_stream(data, where, arrays)
        source = pa.BufferReader(data)
        with pa.ipc.open_stream(source, options=_READ) as stream:
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
    checked(found)
    return found


def is_rows(value: Any) -> bool:
    return isinstance(value, pa.RecordBatch | pa.Table)
