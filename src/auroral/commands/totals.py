"""How many rows files have, for a progress bar: counted beside the run, which does not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.edge.pacing import InputSpec

_PIECE = 1 << 22


class CountedRows:
    """`rows()` is None until all files are counted; for good, where an input is no file or cannot be counted."""

    def __init__(self, inputs: Mapping[str, InputSpec]):
        self._rows: int | None = None
        paths = [Path(spec.path) for spec in inputs.values()]
        if paths and all(path.is_file() or path.is_dir() for path in paths):
            threading.Thread(target=self._count, args=(paths,), name="auroral-count", daemon=True).start()

    def rows(self) -> int | None:
        return self._rows

    def _count(self, paths: Iterable[Path]) -> None:
        try:
            self._rows = sum(rows_of(path) for path in paths)
        except (OSError, pa.ArrowException):
            # The run itself says what is wrong with a file.
            return


def rows_of(path: Path) -> int:
    """Rows of a file. Of text, lines: where a quoted value has line ends, that is a little too many."""
    if path.is_dir():
        return sum(rows_of(part) for part in path.rglob("*.parquet"))
    if path.suffix.lower() == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    with path.open("rb") as file:
        lines, last = 0, b"\n"
        while piece := file.read(_PIECE):
            lines, last = lines + piece.count(b"\n"), piece[-1:]
    lines += last != b"\n"
    return max(0, lines - (path.suffix.lower() == ".csv"))
