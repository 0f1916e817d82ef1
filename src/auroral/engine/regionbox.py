"""A region as a step of a program: one fold over the rows of all streams that enter it, with its tables as state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auroral.engine.applying import Statement
from auroral.engine.fold import Arrived, Row
from auroral.engine.foldbox import FoldInput, input_rows, state_edge
from auroral.engine.foldscan import ROWS_AT_ONCE, Layout, Scan, batch_of, rows_of
from auroral.engine.regionrun import RegionFold
from auroral.engine.relations import StateEdge, kept_name, stream_columns
from auroral.engine.sqltext import Column, quoted, relation, select, struct_type
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
class RegionBox:
    name: str
    fold: RegionFold
    rows: str
    layout: Layout
    outputs: tuple[tuple[str, tuple[Column, ...]], ...]
    state: StateEdge | None

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        """In one of Spark's workers: rows of a region are worked on one after the other."""
        layout = self.layout
        rows = select(["1 AS __tag", "CAST(NULL AS BINARY) AS __state", "*"], self.rows)
        if self.state is not None:
            nulls = [f"NULL AS {name}" for name in layout.names[len(layout.keys) :]]
            state = select(["0 AS __tag", "__state", *layout.keys, *nulls], relation(kept_name(self.state)))
            rows = f"{state}\nUNION ALL\n{rows}"
        frame = statement(rows).coalesce(1).sortWithinPartitions("__tag", *layout.order)
        given = [*(columns for _, columns in self.outputs), self.state.columns if self.state else ()]
        ddl = ", ".join(["__kind INT", *(f"__row{i} {struct_type(c)}" for i, c in enumerate(given) if c)])
        scanned = frame.mapInArrow(_scan(self.fold, layout, given, hi), ddl)
        names = [*(name for name, _ in self.outputs), self.state.name if self.state else ""]
        return {
            name: scanned.where(f"__kind = {kind}").select(f"__row{kind}.*") for kind, name in enumerate(names) if name
        }


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
    """Columns are tag, state, then those of the layout. All of the state comes first."""
    keys, kept, read = len(layout.keys), len(layout.ordered), layout.arrived()

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stored: dict[bytes, bytes] = {}

        def entering() -> Iterator[Arrived]:
            for row in rows_of(batches):
                if row[0] == 0:
                    stored[row[2]] = row[1]
                else:
                    yield read(row[2 + keys :])

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
