"""Parts of an output log are merged, so that it has a few files however long it is written to.

Those that follow one another and have the same size, by the number of parts that each was made from, are merged when there are enough of them: so each row is written again
a few times only, and of n parts so many files are left as a number of that size has digits, times the digit. A merged part is durable before those that it was made from are
removed; a crash in between leaves both, and whoever looks goes by the merged one.
"""

from __future__ import annotations

import pyarrow as pa

from auroral.edge.durable import storage_error, sync_folder
from auroral.edge.parquetsink import Part, write_part
from auroral.node.outputlog import OutputLog

TOGETHER = 16
"""Files that are merged into one."""
MOST_BYTES = 16 << 20
"""Of a merged file, as it is stored; in memory it is several times that. What would be larger is not merged any more."""


def merge(log: OutputLog) -> int:
    """All that can be, of a log that was opened for writing: by how many files there are fewer. One thread at a time; others may append and read meanwhile."""
    fewer = 0
    while (parts := _next(log)) is not None:
        _merge(log, parts)
        fewer += len(parts) - 1
    return fewer


def _next(log: OutputLog) -> list[Part] | None:
    """Those of one size that follow one another."""
    together: list[Part] = []
    for part in log.listed():
        if together and _size(part) != _size(together[-1]):
            together = []
        together.append(part)
        if len(together) == TOGETHER:
            if sum((log.folder / one.name).stat().st_size for one in together) <= MOST_BYTES:
                return together
            together = together[1:]
    return None


def _size(part: Part) -> int:
    """0 for one part, 1 for so many that were merged once, and so on."""
    size, count = 0, part.made_from
    while count >= TOGETHER:
        size, count = size + 1, count // TOGETHER
    return size


def _merge(log: OutputLog, parts: list[Part]) -> None:
    into = Part(parts[0].first, parts[-1].last, parts[0].low, parts[-1].high)
    rows = pa.concat_tables([log.load(part) for part in parts])
    try:
        write_part(log.folder / into.name, rows)
        log.merged(parts, into)
        for part in parts:
            (log.folder / part.name).unlink()
        sync_folder(log.folder)
    except OSError as error:
        raise storage_error(error, f"{rows.num_rows} rows, merged", log.folder / into.name) from error
