"""What Spark's workers run for a fold: a scan over rows sorted by key and processing order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from auroral.engine.arrowrows import arrow_type, as_numbers, from_python
from auroral.engine.folds import Fold, Row, same
from auroral.engine.sqltext import Column


def scan(
    fold: Fold, keys: int, lo: int, hi: int, result: Sequence[Column], kept: Sequence[Column]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark runs over each partition: columns are keys, tag, state, then a row's values."""

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results: list[Row] = []
        states: list[Row] = []
        key: Row | None = None

        def close() -> None:
            results.extend(fold.end())
            if kept and key is not None:
                states.append((hi - 1, *key, pickle.dumps(fold.state(), protocol=4)))

        touched = False
        for batch in batches:
            for values in zip(*(as_numbers(column).to_pylist() for column in batch.columns), strict=True):
                of_row, tag, stored = values[:keys], values[keys], values[keys + 1]
                if key is None or not same(key, of_row):
                    if touched:
                        close()
                    key, touched = of_row, False
                    fold.start(of_row, pickle.loads(stored) if tag == 0 else None, lo, hi)
                if tag == 1:
                    touched = True
                    results.extend(fold.row(values[keys + 2 :]))
        if touched:
            close()
        yield from _batches(results, states, result, kept)

    return over


def _batches(
    results: list[Row], states: list[Row], result: Sequence[Column], kept: Sequence[Column]
) -> Iterator[pa.RecordBatch]:
    total = len(results) + len(states)
    if total == 0:
        return
    kinds = pa.array([0] * len(results) + [1] * len(states), pa.int32())
    structs = []
    for given, chosen, offset in ((results, result, 0), (states, kept, len(results))):
        if not chosen:
            continue
        arrays = []
        for i, column in enumerate(chosen):
            values = [None] * offset + [row[i] for row in given] + [None] * (total - offset - len(given))
            arrays.append(from_python(values, arrow_type(column.type)))
        mask = pa.array([not offset <= n < offset + len(given) for n in range(total)])
        structs.append(pa.StructArray.from_arrays(arrays, [c.name for c in chosen], mask=mask))
    names = ["__kind", "__row", "__kept"][: 1 + len(structs)]
    yield pa.RecordBatch.from_arrays([kinds, *structs], names)
