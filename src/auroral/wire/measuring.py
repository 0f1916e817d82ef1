"""What rows take in a message, found out once for as long as somebody has them: they are sent to many readers, and passed on.

To look at every value takes long, and the event loop must not be kept by it for each reader again. Rows are known by their identity: nobody
changes them once they are made, and parts of them are others.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from auroral.wire.errors import WireError
from auroral.wire.unfolding import check_schema

Rows: TypeAlias = "pa.RecordBatch | pa.Table"


@dataclass(frozen=True, slots=True)
class Measured:
    size: int
    """Bytes of their stream."""
    columns: int
    """With all that is in them."""
    batches: int


@dataclass(frozen=True, slots=True)
class _Seen:
    rows: weakref.ref[Rows]
    takes: Measured | None
    """None of those that were only checked."""


_seen: dict[int, _Seen] = {}
"""By identity. Each step on it is a single one, so that threads need no lock: a reference may die within any."""


def measured(rows: Rows) -> Measured:
    """From any thread: whoever makes rows may do this before it gives them to the loop. WireError for rows that their reader would refuse:
    of types that no stream has, with offsets that lead astray, texts that are none, numbers beyond their type's range."""
    seen = _seen_of(rows)
    if seen is not None and seen.takes is not None:
        return seen.takes
    columns = check_schema(rows.schema, "content")
    try:
        if seen is None:
            _check_values(rows)
        # Behind the check: a wrong offset would be followed.
        size, batches = _written(rows)
    except pa.ArrowException as error:
        raise WireError(
            f"rows that are not valid: {str(error)[:200]}", "content", "what Arrow's own check takes, and IPC can write"
        ) from error
    takes = Measured(size, columns, batches)
    _remember(rows, takes)
    return takes


def checked(rows: Rows) -> None:
    """They came in a message, and were checked there."""
    _remember(rows, None)


def write(rows: Rows, sink: pa.NativeFile) -> pa.ipc.WriteStats:
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write(rows)
        return stream.stats


def _check_values(rows: Rows) -> None:
    rows.validate(full=True)


def _written(rows: Rows) -> tuple[int, int]:
    """Bytes and batches of their stream, without having been written."""
    sink = pa.MockOutputStream()
    batches = write(rows, sink).num_record_batches
    return int(sink.size()), int(batches)


def _seen_of(rows: Rows) -> _Seen | None:
    seen = _seen.get(id(rows))
    return seen if seen is not None and seen.rows() is rows else None


def _remember(rows: Rows, takes: Measured | None) -> None:
    number = id(rows)

    def forget(gone: weakref.ref[Rows]) -> None:
        if (seen := _seen.get(number)) is not None and seen.rows is gone:
            _seen.pop(number, None)

    _seen[number] = _Seen(weakref.ref(rows, forget), takes)
