"""Folds over rows as Spark's workers see them: sorted by key, the key's state first, then its rows in processing order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from auroral.engine.arrowrows import arrow_type, as_numbers, from_python
from auroral.engine.fold import Arrived, Fold, Given, LeftOut, Row, folded
from auroral.engine.sqltext import STIME, Column
from auroral.engine.statecodec import decoded, encoded

ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of what a fold reads: key, port, stime, then order key and values of each port, null in rows of other ports."""

    keys: tuple[str, ...]
    order_sizes: tuple[int, ...]
    value_sizes: tuple[int, ...]
    """By input port."""
    ordered: tuple[bool, ...]
    """By output port: whether its order key is asked for."""

    def orders(self, port: int) -> list[str]:
        return [f"o{port}_{i}" for i in range(self.order_sizes[port])]

    def values(self, port: int) -> list[str]:
        return [f"v{port}_{i}" for i in range(self.value_sizes[port])]

    @property
    def ports(self) -> range:
        return range(len(self.order_sizes))

    @property
    def order(self) -> list[str]:
        """Processing order within a key."""
        return [STIME, "__port", *(name for port in self.ports for name in self.orders(port))]

    @property
    def names(self) -> list[str]:
        return [*self.keys, "__port", STIME, *(n for p in self.ports for n in (*self.orders(p), *self.values(p)))]

    def arrived(self) -> Callable[[Row], Arrived]:
        """Reads a row of these columns, without its key."""
        cuts, at = [], 2
        for orders, values in zip(self.order_sizes, self.value_sizes, strict=True):
            cuts.append((slice(at, at + orders), slice(at + orders, at + orders + values)))
            at += orders + values

        def read(row: Row) -> Arrived:
            order, values = cuts[row[0]]
            return Arrived(row[0], row[1], row[order], row[values])

        return read

    def sorted_out(self, given: Given) -> tuple[int, Row]:
        """Which relation a fold gives something to, and the row: those of output ports first, and last what is left out."""
        if isinstance(given, LeftOut):
            return len(self.ordered) + 1, given
        order = given.order if self.ordered[given.port] else ()
        return given.port, (given.stime, *order, *given.values)


Scan = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def fold_scan(fold: Fold, layout: Layout, given: Sequence[Sequence[Column]], hi: int) -> Scan:
    """What Spark runs over each partition: columns are tag, due, state, then those of the layout. `given` are the columns of all relations
    that come out of it, those without columns not; rows of each are told by __kind."""
    keys, kept = len(layout.keys), len(layout.ordered)
    read = layout.arrived()

    def of_key(rows: list[Row]) -> Iterator[tuple[int, Row]]:
        first, key = rows[0], rows[0][3 : 3 + keys]
        stored = first[0] == 0
        arrived = [read(row[3 + keys :]) for row in rows[stored:]]
        if not arrived and (first[1] is None or first[1] > hi):
            return
        state = decoded(first[2]) if stored else None
        for one in folded(fold, key, state, arrived, hi):
            yield layout.sorted_out(one)
        if given[kept]:
            left = fold.state()
            yield kept, (hi - 1, *key, *((None, None) if left is None else (fold.due(), encoded(left))))

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: list[tuple[int, Row]] = []
        for _, rows in groupby(rows_of(batches), key=lambda row: encoded(row[3 : 3 + keys])):
            found += of_key(list(rows))
            if len(found) >= ROWS_AT_ONCE:
                yield batch_of(found, given)
                found = []
        if found:
            yield batch_of(found, given)

    return over


def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(as_numbers(column).to_pylist() for column in batch.columns), strict=True)


def batch_of(found: Sequence[tuple[int, Row]], given: Sequence[Sequence[Column]]) -> pa.RecordBatch:
    """One column of structs for each relation, filled where the row is one of its own."""
    kinds = [kind for kind, _ in found]
    arrays, names = [pa.array(kinds, pa.int32())], ["__kind"]
    for number, columns in enumerate(given):
        if not columns:
            continue
        mine = [kind == number for kind in kinds]
        fields = [
            from_python(
                [row[i] if own else None for own, (_, row) in zip(mine, found, strict=True)], arrow_type(c.type)
            )
            for i, c in enumerate(columns)
        ]
        mask = pa.array([not own for own in mine])
        arrays.append(pa.StructArray.from_arrays(fields, [c.name for c in columns], mask=mask))
        names.append(f"__row{number}")
    return pa.RecordBatch.from_arrays(arrays, names)
