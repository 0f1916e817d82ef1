"""A fold as a step of a program: what it reads of its input ports as SQL, and what becomes of what it gives.

To add a fold: write it on the interface of `fold`, and say in `foldboxes.fold_box` which rows and values it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from auroral.engine.applying import Statement
from auroral.engine.fold import Fold
from auroral.engine.foldrun import Folded, run_fold
from auroral.engine.foldscan import Layout, Scan, fold_scan
from auroral.engine.keyedstate import KeyedState
from auroral.engine.relations import StateEdge, kept_name, stream_columns
from auroral.engine.sqltext import (
    STIME,
    UNKNOWN,
    Column,
    Cte,
    aliased,
    quoted,
    relation,
    select,
    string_literal,
    struct_type,
)
from auroral.model.checking import CheckedBox
from auroral.model.types import FieldType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from auroral.engine.compile import Compiler


@dataclass(frozen=True, slots=True)
class FoldInput:
    """What a fold reads of one input port, as SQL over the stream's fields: the parts of a row's key, which are of the same types on all
    ports, and the values that `Fold.row` is handed. Rows that fail a test of `where` are not read."""

    stream: str
    keys: Sequence[str]
    values: Sequence[str]
    where: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldBox:
    """`rows` is a relation of all rows that the box reads in a range: key columns, port, stime, and for each port its order key and values.

    It is run in this process, over rows that were fetched, or in Spark's workers, with the state as rows.
    """

    name: str
    rows: str
    layout: Layout
    outputs: tuple[tuple[str, tuple[Column, ...]], ...]
    state: StateEdge | None
    behind: tuple[Cte, ...] = ()
    """Steps over what the fold gives, where that is not yet what the box does."""
    types: list[str] = field(default_factory=list, compare=False)
    """Of the columns of `rows`, once Spark was asked: they are those of the box's expressions."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of `rows`."""
        return tuple(Column(name, UNKNOWN) for name in self.layout.names)

    @property
    def output_columns(self) -> list[tuple[Column, ...]]:
        return [columns for _, columns in self.outputs]

    @property
    def fetched(self) -> str:
        """What `rows` are called where people read of them."""
        return f"{self.name}@rows"

    @property
    def left_out(self) -> str:
        """The relation that has a row for each that the fold leaves out."""
        return f"{self.name}@left out"

    def run(self, rows: pa.Table, state: KeyedState, lo: int, hi: int) -> Folded:
        raise AssertionError("told by each kind")

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        raise AssertionError("told by each kind")

    def with_state(self) -> str:
        """Rows, and before them the state, told apart by __tag."""
        layout = self.layout
        rows = select(
            ["1 AS __tag", "CAST(NULL AS BIGINT) AS __due", "CAST(NULL AS BINARY) AS __state", "*"], self.rows
        )
        if self.state is None:
            return rows
        nulls = [f"NULL AS {name}" for name in layout.names[len(layout.keys) :]]
        state = select(["0 AS __tag", "__due", "__state", *layout.keys, *nulls], relation(kept_name(self.state)))
        return f"{state}\nUNION ALL\n{rows}"

    def scanned(self, frame: DataFrame, scan: Callable[[Given], Scan]) -> Mapping[str, DataFrame]:
        """The relations that a scan gives, by name."""
        given = [*self.output_columns, self.state.columns if self.state else (), LEFT_OUT]
        ddl = ", ".join(["__kind INT", *(f"__row{i} {struct_type(c)}" for i, c in enumerate(given) if c)])
        scanned = frame.mapInArrow(scan(given), ddl)
        names = [*(name for name, _ in self.outputs), self.state.name if self.state else "", self.left_out]
        return {
            name: scanned.where(f"__kind = {kind}").select(f"__row{kind}.*") for kind, name in enumerate(names) if name
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedFoldBox(FoldBox):
    """Of a fold that works one key at a time."""

    fold: Fold

    def run(self, rows: pa.Table, state: KeyedState, lo: int, hi: int) -> Folded:
        return run_fold(self.fold, self.layout, self.output_columns, rows, state, lo, hi)

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        layout, frame = self.layout, statement(self.with_state())
        frame = frame.repartition(*layout.keys) if layout.keys else frame.coalesce(1)
        frame = frame.sortWithinPartitions(*layout.keys, "__tag", *layout.order)
        return self.scanned(frame, lambda given: fold_scan(self.fold, layout, given, hi))


Given = Sequence[Sequence[Column]]
LEFT_OUT = (Column(STIME, "BIGINT"), Column("__reason", "STRING"))


def fold_step(
    compiler: Compiler,
    checked: CheckedBox,
    fold: Fold,
    inputs: Sequence[FoldInput],
    keys: Sequence[FieldType],
    *,
    outputs: Sequence[tuple[str, tuple[Column, ...]]] | None = None,
    behind: Sequence[Cte] = (),
) -> FoldBox:
    """The step of a box that is this fold over these inputs. `keys` are the types of the parts of a key.

    A fold that does not give the box's own streams gives the relations `outputs`, without order keys, and `behind` are the steps that make
    the streams of them.
    """
    name = checked.box.name
    columns = [Column(f"g{i}", "DOUBLE" if kind.is_float else kind.spark) for i, kind in enumerate(keys)]
    assert all(not compiler.order(one.stream) or one.stream in compiler.ordered for one in inputs), (
        f"{name}: a fold is order-sensitive, and says so in its TypedBox"
    )
    layout = Layout(
        tuple(c.name for c in columns),
        tuple(len(compiler.order(one.stream)) for one in inputs),
        tuple(len(one.values) for one in inputs),
        tuple(outputs is None and stream in compiler.ordered for stream in checked.box.outputs),
    )
    parts = [input_rows(compiler, layout, port, one) for port, one in enumerate(inputs)]
    # What runs in this process counts by itself.
    for reason in () if compiler.single else fold.reasons:
        compiler.count(checked, reason, f"{name}@left out", f"__reason = {string_literal(reason)}")
    return KeyedFoldBox(
        name=name,
        fold=fold,
        rows="(\n" + "\nUNION ALL\n".join(parts) + "\n)",
        layout=layout,
        outputs=tuple(outputs if outputs is not None else _streams(compiler, checked)),
        state=state_edge(compiler, name, columns),
        behind=tuple(behind),
    )


def _streams(compiler: Compiler, checked: CheckedBox) -> list[tuple[str, tuple[Column, ...]]]:
    return [
        (stream, stream_columns(compiler.stream(stream), stream in compiler.ordered)) for stream in checked.box.outputs
    ]


def key_text(name: str, kind: FieldType) -> str:
    """A field as a part of a key, as GROUP BY sees it: one zero, one NaN."""
    return f"nanvl({quoted(name)} + 0D, double('NaN'))" if kind.is_float else quoted(name)


def input_rows(compiler: Compiler, layout: Layout, port: int, read: FoldInput) -> str:
    given = {**dict(zip(layout.keys, read.keys, strict=True)), "__port": str(port), STIME: STIME}
    given |= dict(zip(layout.orders(port), (c.name for c in compiler.order(read.stream)), strict=True))
    given |= dict(zip(layout.values(port), read.values, strict=True))
    tests = [*read.where]
    if compiler.folds_from is not None:
        tests.append(f"{STIME} >= {compiler.folds_from}L")
    items = aliased((given.get(name, "NULL"), name) for name in layout.names)
    return select(items, relation(read.stream), f"WHERE {' AND '.join(tests)}" if tests else "")


def state_edge(compiler: Compiler, box: str, keys: Sequence[Column]) -> StateEdge | None:
    """Where the fold's state is kept; an oracle over all of the input has none."""
    if compiler.batch and compiler.folds_from is None:
        return None
    columns = (Column(STIME, "BIGINT"), *keys, Column("__due", "BIGINT"), Column("__state", "BINARY"))
    edge = StateEdge(f"{box}@state", columns, keys=tuple(c.name for c in keys))
    compiler.keep(edge)
    return edge
