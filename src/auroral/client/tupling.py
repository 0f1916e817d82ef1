"""Events as the tuples of the thesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from auroral.client.events import Event, Gap, Stable
from auroral.dpc.tuples import Tuple, TupleView
from auroral.edge.pyvalues import python_values


class Tupling:
    """`begin` is the stime from which on stable rows are due."""

    def __init__(self, bucket: int, begin: int):
        self.bucket = bucket
        self.view = TupleView(begin // bucket)

    def tuples(self, event: Event) -> Iterator[Tuple]:
        """Positions are stimes."""
        for found in self._in_buckets(event):
            yield replace(found, position=found.position * self.bucket)

    def _in_buckets(self, event: Event) -> Iterator[Tuple]:
        first, end = event.lo // self.bucket, event.hi // self.bucket
        if isinstance(event, Gap):
            yield from self.view.gap(end)
            return
        ends = np.searchsorted(event.rows.column(0).to_numpy(), np.arange(first, end + 1) * self.bucket)
        for number in range(end - first):
            rows = _rows(event.rows.slice(ends[number], ends[number + 1] - ends[number]))
            if isinstance(event, Stable):
                yield from self.view.stable(first + number, rows)
            else:
                yield from self.view.tentative(first + number, rows)


def _rows(table: pa.Table) -> tuple[dict[str, Any], ...]:
    columns = [python_values(column) for column in table.columns]
    return tuple(dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True))
