"""Boxes that run as a scan in Python: folds, and windows with user aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from auroral.engine.aggregate_sql import AggregateBox
from auroral.engine.applying import ApplyBox, Statement
from auroral.engine.drop_sql import windows_left_whole
from auroral.engine.foldboxes import arguments, fold_box, groups
from auroral.engine.partition_scan import Windows, scan
from auroral.engine.regionbox import region_box
from auroral.engine.relations import stream_columns
from auroral.engine.sqltext import STIME, Column, aliased, columns, floor_div, quoted, select
from auroral.engine.user_windows import UserEventWindows, UserWindows
from auroral.model.boxes.aggregate import TypedEventTimeAggregate, TypedStimeAggregate
from auroral.model.boxes.apply import TypedApply
from auroral.model.checking import CheckedBox
from auroral.model.regions import TypedRegion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from auroral.engine.compile import Compiler


class PythonBox(Protocol):
    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        """The relations that the box gives, by name."""
        ...


def python_box(checked: CheckedBox, compiler: Compiler) -> PythonBox | None:
    """The scan that evaluates the box, or None where SQL does."""
    typed = checked.typed
    match typed:
        case TypedRegion():
            return region_box(checked, typed, compiler)
        case TypedApply():
            return _apply_box(checked, typed, compiler)
        case TypedStimeAggregate() if any(f.user for f in typed.functions):
            return _user_windows(checked, typed, compiler)
        case TypedEventTimeAggregate() if any(f.user for f in typed.functions):
            return _user_event_windows(checked, typed, compiler)
        case _:
            return fold_box(checked, compiler)


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
class WindowScan:
    """Windows over the rows of a whole horizon. `rows` are the key columns and then values, which begin with `order`: by these the rows of a
    key are sorted."""

    windows: Windows
    rows: str
    keys: tuple[str, ...]
    order: tuple[str, ...]
    output: str
    columns: tuple[Column, ...]
    single: bool
    kept: str = ""
    """Which results leave the box: windows that a drop upstream took rows from do not."""

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        frame = statement(self.rows)
        frame = frame.coalesce(1) if self.single or not self.keys else frame.repartition(*self.keys)
        frame = frame.sortWithinPartitions(*self.keys, *self.order)
        ddl = ", ".join(c.ddl() for c in self.columns)
        scanned = frame.mapInArrow(scan(self.windows, len(self.keys), lo, hi, self.columns), ddl)
        return {self.output: scanned.where(self.kept or "TRUE")}


@dataclass(frozen=True, slots=True)
class _Scanned(AggregateBox):
    """An aggregate box that is to be scanned: what is common to all of them."""

    @property
    def order(self) -> list[str]:
        return [c.name for c in self.compiler.order(self.source)]

    def windows(self, make: Callable[..., Windows], **options: Any) -> Windows:
        return make(self.box, self.typed.functions, len(self.order), self.output in self.compiler.ordered, **options)

    def scan(
        self,
        windows: Windows,
        tests: Sequence[str] = (),
        *,
        event: Sequence[tuple[str, str]] = (),
        kept: str = "",
    ) -> WindowScan:
        """`event` are (value, name) of what stands before the arguments."""
        keys = [(value, f"g{i}") for i, value in enumerate(groups(self.compiler, self.source, self.typed))]
        order = [STIME, *self.order]
        given = [(text, f"a{i}") for i, text in enumerate(arguments(self.compiler, self.source, self.typed))]
        items = aliased([*keys, *((name, name) for name in order), *event, *given])
        rows = self.compiler.with_past(self.source)
        return WindowScan(
            windows=windows,
            rows=select(items, rows, f"WHERE {' AND '.join(tests)}" if tests else ""),
            keys=tuple(name for _, name in keys),
            order=tuple(order),
            output=self.output,
            columns=stream_columns(self.compiler.stream(self.output), self.output in self.compiler.ordered),
            single=self.compiler.single,
            kept=kept,
        )


def _user_windows(checked: CheckedBox, typed: TypedStimeAggregate, compiler: Compiler) -> WindowScan:
    """Windows of stime with user aggregates: rows of the horizon are read again and scanned group by group."""
    scanned = _Scanned(compiler, checked, typed)
    windows = scanned.windows(UserWindows, typed=typed, in_parts=not compiler.batch)
    number = floor_div(f"{STIME} - {typed.size - 1}L - {typed.phase}L", typed.advance)
    kept = windows_left_whole(typed, columns(typed.group_by), number)
    return scanned.scan(windows, kept=kept)


def _user_event_windows(checked: CheckedBox, typed: TypedEventTimeAggregate, compiler: Compiler) -> WindowScan:
    """Windows of event time with user aggregates, in the same way; late rows are counted and put aside by SQL."""
    scanned = _Scanned(compiler, checked, typed)
    windows = scanned.windows(UserEventWindows, window=typed.window, named=typed.start)
    event = f"unix_micros({quoted(typed.window.field)})"
    tests = [f"{event} <= {STIME} + {typed.window.ahead}L"]
    return scanned.scan(windows, tests, event=[(event, "__event")])
