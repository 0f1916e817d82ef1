"""What Spark's workers run for windows over the rows of a horizon: a scan over rows sorted by key and processing order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from auroral.engine.arrowrows import arrow_type, as_numbers, from_python
from auroral.engine.fold import Row
from auroral.engine.folds import same
from auroral.engine.sqltext import Column


class Windows(Protocol):
    """`start` is called for each key, then `row` for each of its rows, then `end`, which gives the results of [lo, hi)."""

    def start(self, key: Row, lo: int, hi: int) -> None: ...

    def row(self, values: Row) -> None: ...

    def end(self) -> Iterator[Row]: ...


def scan(
    windows: Windows, keys: int, lo: int, hi: int, result: Sequence[Column]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark runs over each partition: columns are keys, then a row's values."""

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results: list[Row] = []
        key: Row | None = None
        for batch in batches:
            for values in zip(*(as_numbers(column).to_pylist() for column in batch.columns), strict=True):
                of_row = values[:keys]
                if key is None or not same(key, of_row):
                    if key is not None:
                        results.extend(windows.end())
                    key = of_row
                    windows.start(of_row, lo, hi)
                windows.row(values[keys:])
        if key is not None:
            results.extend(windows.end())
        if results:
            arrays = [from_python([row[i] for row in results], arrow_type(c.type)) for i, c in enumerate(result)]
            yield pa.RecordBatch.from_arrays(arrays, [c.name for c in result])

    return over
