"""Boxes that run as a scan in Python: folds, and windows with user aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from auroral.engine.aggregate_sql import AggregateBox
from auroral.engine.applying import ApplyBox, Statement
from auroral.engine.drop_sql import windows_left_whole
from auroral.engine.folds import FirstAlignedFold, Fold, LandmarkFold, RunsFold
from auroral.engine.partition_scan import scan
from auroral.engine.relations import Edge, kept_name, stream_columns
from auroral.engine.sqltext import STIME, Column, aliased, columns, floor_div, quoted, relation, select, struct_type
from auroral.engine.user_windows import UserEventWindows, UserWindows
from auroral.model.boxes.aggregate import (
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRuns,
    TypedStimeAggregate,
)
from auroral.model.boxes.apply import TypedApply
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from auroral.engine.compile import Compiler


class PythonBox(Protocol):
    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        """The relations that the box gives, by name."""
        ...


@dataclass(frozen=True, slots=True)
class StateEdge(Edge):
    """A fold's state: the newest row of each key counts. Deltas are stored under the last microsecond of their range."""

    keys: tuple[str, ...] = ()


def python_box(checked: CheckedBox, compiler: Compiler) -> PythonBox | None:
    """The scan that evaluates the box, or None where SQL does."""
    typed = checked.typed
    match typed:
        case TypedApply():
            return _apply_box(checked, typed, compiler)
        case TypedLandmark() | TypedFirstAligned() | TypedRuns():
            return _fold_box(checked, typed, compiler)
        case TypedStimeAggregate() if any(f.user for f in typed.functions):
            return _user_windows(checked, typed, compiler)
        case TypedEventTimeAggregate() if any(f.user for f in typed.functions):
            return _user_event_windows(checked, typed, compiler)
        case _:
            return None


def _apply_box(checked: CheckedBox, typed: TypedApply, compiler: Compiler) -> ApplyBox:
    box = ApplyBox(
        checked.box.name,
        tuple(compiler.with_past(s) for s in checked.box.inputs),
        tuple(compiler.stream(s).schema.stime_name for s in checked.box.inputs),
        checked.box.outputs[0],
        checked.box.outputs[0] in compiler.ordered,
        typed,
        compiler.checked.diagram.bucket,
        compiler.counts_from,
    )
    compiler.count(checked, "rejected", box.rejected, "TRUE")
    return box


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldBox:
    """scan(state at lo, rows of the range) -> results and the state of the keys touched, at hi.

    `rows` are the key columns, __tag and __state, which tell rows from states, and then `values`: among them `order`, by which
    the rows of a key are sorted.
    """

    fold: Fold
    rows: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    order: tuple[str, ...]
    output: str
    columns: tuple[Column, ...]
    single: bool
    state: StateEdge | None = None
    kept: str = ""
    """Which results leave the box: windows that a drop upstream took rows from do not."""

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        stored: tuple[Column, ...] = ()
        text, ddl = self.rows, f"__kind INT, __row {struct_type(self.columns)}"
        if self.state is not None:
            nulls = [f"NULL AS {name}" for name in self.values]
            state = select([*self.keys, "0 AS __tag", "__state", *nulls], relation(kept_name(self.state)))
            text, stored = f"{state}\nUNION ALL\n{text}", self.state.columns
            ddl += f", __kept {struct_type(stored)}"
        frame = statement(text)
        frame = frame.coalesce(1) if self.single or not self.keys else frame.repartition(*self.keys)
        frame = frame.sortWithinPartitions(*self.keys, "__tag", *self.order)
        scanned = frame.mapInArrow(scan(self.fold, len(self.keys), lo, hi, self.columns, stored), ddl)
        frames = {self.output: scanned.where("__kind = 0").select("__row.*").where(self.kept or "TRUE")}
        if self.state is not None:
            frames[self.state.name] = scanned.where("__kind = 1").select("__kept.*")
        return frames


@dataclass(frozen=True, slots=True)
class _Scanned(AggregateBox):
    """An aggregate box that is to be scanned: what is common to all of them."""

    @property
    def order(self) -> list[str]:
        return [c.name for c in self.compiler.order(self.source)]

    def fold(self, make: Callable[..., Fold], **options: Any) -> Fold:
        groups, ordered = len(self.typed.group_by), self.output in self.compiler.ordered
        return make(self.box, self.typed.functions, groups, len(self.order), ordered, **options)

    def scan(
        self,
        fold: Fold,
        relation: str,
        tests: Sequence[str] = (),
        *,
        by_key: bool = True,
        event: Sequence[tuple[str, str]] = (),
        state: StateEdge | None = None,
        kept: str = "",
    ) -> FoldBox:
        """The scan of `fold` over the rows of `relation`; `event` are (value, name) of what stands before the arguments."""
        groups = [(value, f"g{i}") for i, value in enumerate(self._groups())]
        keys, beside = (groups, []) if by_key else ([], groups)
        order = [STIME, *self.order]
        values = [*beside, *((name, name) for name in order), *event, *self._arguments()]
        items = aliased([*keys, ("1", "__tag"), ("CAST(NULL AS BINARY)", "__state"), *values])
        return FoldBox(
            fold=fold,
            rows=select(items, relation, f"WHERE {' AND '.join(tests)}" if tests else ""),
            keys=tuple(name for _, name in keys),
            values=tuple(name for _, name in values),
            order=tuple(order),
            output=self.output,
            columns=stream_columns(self.compiler.stream(self.output), self.output in self.compiler.ordered),
            single=self.compiler.single,
            state=state,
            kept=kept,
        )

    def state(self, by_key: bool) -> StateEdge | None:
        """Where the fold's state is kept; an oracle over all of the input has none."""
        if self.compiler.batch and self.compiler.folds_from is None:
            return None
        schema = self.compiler.stream(self.source).schema
        kinds = [schema[name] for name in self.typed.group_by if by_key]
        keys = [Column(f"g{i}", "DOUBLE" if kind.is_float else kind.spark) for i, kind in enumerate(kinds)]
        columns = (Column(STIME, "BIGINT"), *keys, Column("__state", "BINARY"))
        edge = StateEdge(f"{self.box}@state", columns, keys=tuple(c.name for c in keys))
        self.compiler.keep(edge)
        return edge

    def _groups(self) -> Iterator[str]:
        """Group values as GROUP BY sees them: one zero, one NaN."""
        schema = self.compiler.stream(self.source).schema
        for name in self.typed.group_by:
            yield f"nanvl({quoted(name)} + 0D, double('NaN'))" if schema[name].is_float else quoted(name)

    def _arguments(self) -> list[tuple[str, str]]:
        return [
            (self.compiler.sql(arg, self.source), f"a{i}_{j}")
            for i, function in enumerate(self.typed.functions)
            for j, arg in enumerate(function.args)
        ]


def _fold_box(checked: CheckedBox, typed: TypedLandmark | TypedFirstAligned | TypedRuns, compiler: Compiler) -> FoldBox:
    scanned = _Scanned(compiler, checked, typed)
    first = [typed.origin if isinstance(typed, TypedLandmark) else None, compiler.folds_from]
    match typed:
        case TypedLandmark():
            fold = scanned.fold(LandmarkFold)
        case TypedRuns():
            fold = scanned.fold(RunsFold)
        case TypedFirstAligned():
            fold = scanned.fold(FirstAlignedFold, size=typed.size, advance=typed.advance, named=typed.start)
    by_key = not isinstance(typed, TypedRuns)
    tests = [f"{STIME} >= {stime}L" for stime in first if stime is not None]
    return scanned.scan(fold, relation(scanned.source), tests, by_key=by_key, state=scanned.state(by_key))


def _user_windows(checked: CheckedBox, typed: TypedStimeAggregate, compiler: Compiler) -> FoldBox:
    """Windows of stime with user aggregates: rows of the horizon are read again and scanned group by group."""
    scanned = _Scanned(compiler, checked, typed)
    fold = scanned.fold(UserWindows, typed=typed, in_parts=not compiler.batch)
    number = floor_div(f"{STIME} - {typed.size - 1}L - {typed.phase}L", typed.advance)
    kept = windows_left_whole(typed, columns(typed.group_by), number)
    return scanned.scan(fold, compiler.with_past(scanned.source), kept=kept)


def _user_event_windows(checked: CheckedBox, typed: TypedEventTimeAggregate, compiler: Compiler) -> FoldBox:
    """Windows of event time with user aggregates, in the same way; late rows are counted and put aside by SQL."""
    scanned = _Scanned(compiler, checked, typed)
    fold = scanned.fold(UserEventWindows, window=typed.window, named=typed.start)
    event = f"unix_micros({quoted(typed.window.field)})"
    tests = [f"{event} <= {STIME} + {typed.window.ahead}L"]
    return scanned.scan(fold, compiler.with_past(scanned.source), tests, event=[(event, "__event")])
