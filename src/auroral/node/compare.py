"""Two tables as multisets of rows, bit for bit: NaN is NaN, and 0.0 is not -0.0."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from auroral.edge.pyvalues import python_value
from auroral.engine.arrowrows import as_numbers, canonical, logical_hash

SLICE_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Difference:
    """`count` more of this row on one `side`, `run` or `batch`."""

    side: str
    stime: int
    row: dict[str, Any]
    count: int

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"only in the {self.side}: stime {self.stime} {self.row}{times}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows differ, and the first of them by stime."""

    only_run: int
    only_batch: int
    first: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        return not self.only_run and not self.only_batch


def compare(run: pa.Table, batch: pa.Table, most: int = 20) -> Comparison:
    """Both tables have the same columns, the stime first, in any order of rows."""
    only_run, only_batch = 0, 0
    first: list[Difference] = []
    for here, there in _slices(canonical(run), canonical(batch)):
        if here.num_rows == there.num_rows and logical_hash(here) == logical_hash(there):
            continue
        ours, theirs = _counted(here), _counted(there)
        for side, extra in (("run", ours - theirs), ("batch", theirs - ours)):
            total = sum(extra.values())
            only_run, only_batch = (
                only_run + (total if side == "run" else 0),
                only_batch + (total if side == "batch" else 0),
            )
            if len(first) < most:
                table = here if side == "run" else there
                first += _shown(side, table, extra, most)
    first.sort(key=lambda difference: difference.stime)
    return Comparison(only_run, only_batch, tuple(first[:most]))


def _slices(run: pa.Table, batch: pa.Table) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Cut both at the same stimes, so that only slices that differ are looked at row by row."""
    ours, theirs = run.column(0).to_numpy(), batch.column(0).to_numpy()
    a = b = 0
    while a < len(ours) or b < len(theirs):
        ends = [stimes[at + SLICE_ROWS] for stimes, at in ((ours, a), (theirs, b)) if at + SLICE_ROWS < len(stimes)]
        if ends:
            # At least one stime further, however many rows share it.
            low = min(stimes[at] for stimes, at in ((ours, a), (theirs, b)) if at < len(stimes))
            end = max(min(ends), low + 1)
            next_a, next_b = int(np.searchsorted(ours, end)), int(np.searchsorted(theirs, end))
        else:
            next_a, next_b = len(ours), len(theirs)
        yield run.slice(a, next_a - a), batch.slice(b, next_b - b)
        a, b = next_a, next_b


def _counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(bitwise_rows(table))


def bitwise_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows that are equal where all their bits are, except that NaN is NaN."""
    columns = [[_bits(value) for value in as_numbers(column).to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _bits(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    # There are many NaNs, and which one a sum gives depends on the processor: as in `logical_hash`.
    return struct.pack("<d", math.nan if math.isnan(value) else value)


def _shown(side: str, table: pa.Table, extra: Counter[tuple[Any, ...]], most: int) -> list[Difference]:
    wanted = sorted(extra, key=lambda row: int(row[0]))[:most]
    shown = []
    for row in wanted:
        values = [
            struct.unpack("<d", v)[0] if isinstance(v, bytes) and _is_float(f) else _date(v) if _is_date(f) else v
            for v, f in zip(row, table.schema, strict=True)
        ]
        named = dict(zip(table.column_names[1:], values[1:], strict=True))
        shown.append(Difference(side, int(row[0]), named, extra[row]))
    return shown


def _is_float(field: pa.Field) -> bool:
    return bool(pa.types.is_floating(field.type))


def _is_date(field: pa.Field) -> bool:
    return bool(pa.types.is_date32(field.type))


def _date(days: int | None) -> Any:
    return None if days is None else python_value(pa.array([days], pa.int32()).cast(pa.date32()), 0)
