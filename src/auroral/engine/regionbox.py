"""A region as a step of a program: one fold over the rows of all streams that enter it, with its tables as state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auroral.engine.applying import Statement
from auroral.engine.arrowrows import as_numbers, sorted_by
from auroral.engine.fold import Arrived, Row
from auroral.engine.foldbox import FoldBox, FoldInput, input_rows, state_edge
from auroral.engine.foldrun import Folded, table_of
from auroral.engine.foldscan import ROWS_AT_ONCE, Layout, Scan, batch_of, rows_of
from auroral.engine.keyedstate import KeyedState, content_of, entry
from auroral.engine.regionrun import RegionFold
from auroral.engine.relations import stream_columns
from auroral.engine.sqltext import Column, quoted
from auroral.engine.statecodec import decoded, encoded
from auroral.engine.tablestore import Store
from auroral.model.checking import CheckedBox
from auroral.model.regions import TypedRegion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from auroral.engine.compile import Compiler

ENTRY = Column("g0", "BINARY")
"""The key of an entry of the state, see `tablestore`; rows that enter have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionBox(FoldBox):
    """Rows of a region are worked on one after the other, whatever their keys are."""

    fold: RegionFold

    def run(self, rows: pa.Table, state: KeyedState, lo: int, hi: int) -> Folded:
        """Only entries that are asked for are looked up, unless a condition wants to see all rows of a table."""

        def stored(key: bytes) -> Any:
            found = state.get(encoded((key,)))
            return None if found is None else content_of(found)

        def all_stored() -> Iterator[tuple[bytes, Any]]:
            return ((decoded(key)[0], content_of(one)) for key, one in state.entries.items())

        store = Store(self.fold.contents, stored, all_stored)
        ordered, keys, read = sorted_by(rows, self.layout.order), len(self.layout.keys), self.layout.arrived()
        values = zip(
            *(as_numbers(column).to_pylist() for column in ordered.select(self.layout.names).columns), strict=True
        )
        found: list[list[Row]] = [[] for _ in self.outputs]
        for given in self.fold.run(store, (read(row[keys:]) for row in values)):
            port, row = self.layout.sorted_out(given)
            found[port].append(row)
        changes = {encoded((key,)): entry(None, one) for key, one in store.changes.items()}
        tables = tuple(table_of(columns, given) for columns, given in zip(self.output_columns, found, strict=True))
        return Folded(tables, state.updated(changes), {})

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        frame = statement(self.with_state()).coalesce(1).sortWithinPartitions("__tag", *self.layout.order)
        return self.scanned(frame, lambda given: _scan(self.fold, self.layout, given, hi))


def region_box(checked: CheckedBox, typed: TypedRegion, compiler: Compiler) -> RegionBox:
    name = checked.box.name
    inputs = [
        FoldInput(stream, ["CAST(NULL AS BINARY)"], [quoted(field) for field in entered.schema.names])
        for stream, entered in typed.entries
    ]
    layout = Layout(
        (ENTRY.name,),
        tuple(len(compiler.order(one.stream)) for one in inputs),
        tuple(len(one.values) for one in inputs),
        tuple(stream in compiler.ordered for stream in checked.box.outputs),
    )
    return RegionBox(
        name=name,
        fold=RegionFold(typed),
        rows="(\n" + "\nUNION ALL\n".join(input_rows(compiler, layout, n, one) for n, one in enumerate(inputs)) + "\n)",
        layout=layout,
        outputs=tuple(
            (stream, stream_columns(compiler.stream(stream), stream in compiler.ordered))
            for stream in checked.box.outputs
        ),
        state=state_edge(compiler, name, [ENTRY]),
    )


def _scan(fold: RegionFold, layout: Layout, given: Sequence[Sequence[Column]], hi: int) -> Scan:
    """Columns are tag, due, state, then those of the layout. All of the state comes first."""
    keys, kept, read = len(layout.keys), len(layout.ordered), layout.arrived()

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stored: dict[bytes, bytes] = {}

        def entering() -> Iterator[Arrived]:
            for row in rows_of(batches):
                if row[0] == 0:
                    stored[row[3]] = row[2]
                else:
                    yield read(row[3 + keys :])

        def known(key: bytes) -> Any:
            return decoded(stored[key]) if key in stored else None

        store = Store(fold.contents, known, lambda: ((key, decoded(one)) for key, one in stored.items()))
        found: Iterator[tuple[int, Row]] = map(layout.sorted_out, fold.run(store, entering()))
        while together := list(islice(found, ROWS_AT_ONCE)):
            yield batch_of(together, given)
        if given[kept] and store.changes:
            changes = sorted(store.changes.items())
            entries = [(hi - 1, key, None, None if one is None else encoded(one)) for key, one in changes]
            yield batch_of([(kept, entry) for entry in entries], given)

    return over
