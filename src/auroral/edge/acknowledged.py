"""How many records of a source log were acknowledged: what is missing of them is damage, not an unfinished write.

The count stands in `writer.lock`. It is written after a record is durable, and not synced itself: it costs no time,
and never says more than is on the disk. After a power cut it may say less; what a run has used by then, its account
knows.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from auroral.edge.logbase import LogState
from auroral.edge.records import DamagedSegment, Torn

LOCK = "writer.lock"
_DIGITS = 20


def note_count(lock_fd: int, count: int) -> None:
    # Only a help against damage: where it cannot be written, the record is durable all the same.
    with suppress(OSError):
        os.pwrite(lock_fd, f"{count:0{_DIGITS}}\n".encode(), 0)


def read_count(folder: Path) -> int:
    """0 where nothing is known."""
    try:
        text = (folder / LOCK).read_bytes()
    except OSError:
        return 0
    return int(text) if len(text) == _DIGITS + 1 and text.strip().isdigit() else 0


def refuse_lost(end: Torn | tuple[Path, int], count: int, acknowledged: int, state: LogState, used: int | None) -> None:
    """Refuse a log that ends before what was acknowledged, or before stime `used`, up to which a run evaluated it.

    `end` is where the log ends, `count` how many records it has.
    """
    if isinstance(end, Torn):
        path, offset, what = end.segment, end.offset, "this last record is damaged"
    else:
        (path, offset), what = end, "the log ends here"
    if count < acknowledged:
        raise DamagedSegment(
            path, offset, f"{what}, but {acknowledged} records were acknowledged, and {count} are whole"
        )
    if used is not None and not state.ended and (state.boundary is None or state.boundary < used):
        raise DamagedSegment(
            path, offset, f"{what}, but the run has used rows up to stime {used}, and some are not here"
        )
