"""Boxes that run as a scan in Python: folds, and windows with user aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from auroral.engine.applying import ApplyBox, Statement
from auroral.engine.expression import to_sql
from auroral.engine.folds import (
    FirstAlignedFold,
    Fold,
    LandmarkFold,
    RunsFold,
    UserEventWindows,
    UserWindows,
    scan,
)
from auroral.engine.relations import Edge, kept_name, stream_columns
from auroral.engine.sqltext import (
    STIME,
    Column,
    falls_below,
    floor_div,
    quoted,
    relation,
    select,
    string_literal,
)
from auroral.model.boxes.aggregate import (
    TypedAggregateBox,
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRuns,
    TypedStimeAggregate,
)
from auroral.model.boxes.apply import TypedApply
from auroral.model.checking import CheckedBox
from auroral.model.types import FieldType

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
    )
    compiler.count(checked, "rejected", box.rejected, "TRUE")
    return box


def _rows(compiler: Compiler, source: str, typed: TypedAggregateBox) -> tuple[list[str], list[str]]:
    """Select items of a scan's input: group columns g0.., stime, order columns, arguments a0_0..; and their names."""
    schema = compiler.stream(source).schema

    def column(_: str | None, name: str) -> str:
        return STIME if name == "stime" and schema.get(name) is None else quoted(name)

    items = [f"{_as_group(quoted(name), schema[name])} AS g{i}" for i, name in enumerate(typed.group_by)]
    items += [STIME, *(c.name for c in compiler.order(source))]
    for i, function in enumerate(typed.functions):
        items += [f"{to_sql(arg, column)} AS a{i}_{j}" for j, arg in enumerate(function.args)]
    return items, [item.rsplit(" AS ", 1)[-1] for item in items]


def _as_group(text: str, kind: FieldType) -> str:
    """Group values as GROUP BY sees them: one zero, one NaN."""
    return f"nanvl({text} + 0D, double('NaN'))" if kind.is_float else text


@dataclass(frozen=True, slots=True)
class FoldBox:
    """scan(state at lo, rows of the range) -> results and the state of the keys touched, at hi."""

    name: str
    rows: str
    sort: tuple[str, ...]
    state: StateEdge | None
    state_nulls: tuple[str, ...]
    fold: Fold
    output: str
    output_columns: tuple[Column, ...]
    keys: tuple[str, ...]
    single: bool
    kept: str = "TRUE"
    """Which results leave the box: windows that a drop upstream took rows from do not."""

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        text = self.rows
        if self.state is not None:
            state = select([*self.keys, "0 AS __tag", "__state", *self.state_nulls], relation(kept_name(self.state)))
            text = f"{state}\nUNION ALL\n{text}"
        frame = statement(text)
        frame = frame.coalesce(1) if self.single or not self.keys else frame.repartition(*self.keys)
        frame = frame.sortWithinPartitions(*self.sort)
        ddl = f"__kind INT, __row STRUCT<{_struct(self.output_columns)}>"
        if self.state is not None:
            ddl += f", __kept STRUCT<{_struct(self.state.columns)}>"
        scanned = frame.mapInArrow(
            scan(
                self.fold,
                len(self.keys),
                lo,
                hi,
                self.output_columns,
                self.state.columns if self.state else (),
            ),
            ddl,
        )
        frames = {self.output: scanned.where("__kind = 0").select("__row.*").where(self.kept)}
        if self.state is not None:
            frames[self.state.name] = scanned.where("__kind = 1").select("__kept.*")
        return frames


def _struct(given: Sequence[Column]) -> str:
    return ", ".join(f"{quoted(c.name)}: {c.type}" for c in given)


def _fold_box(checked: CheckedBox, typed: TypedLandmark | TypedFirstAligned | TypedRuns, compiler: Compiler) -> FoldBox:
    source, output = checked.box.inputs[0], checked.box.outputs[0]
    items, names = _rows(compiler, source, typed)
    schema = compiler.stream(source).schema
    groups = len(typed.group_by)
    per_key = not isinstance(typed, TypedRuns)
    key_names = tuple(names[:groups]) if per_key else ()
    key_columns = (
        tuple(
            Column(f"g{i}", "DOUBLE" if schema[n].is_float else schema[n].spark) for i, n in enumerate(typed.group_by)
        )
        if per_key
        else ()
    )
    first = [typed.origin if isinstance(typed, TypedLandmark) else None, compiler.folds_from]
    tests = [f"{STIME} >= {stime}L" for stime in first if stime is not None]
    where = f"WHERE {' AND '.join(tests)}" if tests else ""
    rest = items if not per_key else items[groups:]
    rest_names = names if not per_key else names[groups:]
    rows = select(
        [*(items[:groups] if per_key else []), "1 AS __tag", "CAST(NULL AS BINARY) AS __state", *rest],
        relation(source),
        where,
    )
    state = None
    if not compiler.batch or compiler.folds_from is not None:
        state = StateEdge(
            f"{checked.box.name}@state",
            (Column(STIME, "BIGINT"), *key_columns, Column("__state", "BINARY")),
            keys=key_names,
        )
        compiler.keep(state)
    order = [c.name for c in compiler.order(source)]
    ordered = output in compiler.ordered
    fold: Fold
    match typed:
        case TypedLandmark():
            fold = LandmarkFold(checked.box.name, typed.functions, groups, len(order), ordered)
        case TypedRuns():
            fold = RunsFold(checked.box.name, typed.functions, groups, len(order), ordered)
        case TypedFirstAligned():
            assert typed.start is not None
            fold = FirstAlignedFold(
                checked.box.name,
                typed.functions,
                groups,
                len(order),
                ordered,
                size=typed.size,
                advance=typed.advance,
                named=typed.start,
            )
    return FoldBox(
        checked.box.name,
        rows,
        (*key_names, "__tag", STIME, *order),
        state,
        tuple(f"NULL AS {name}" for name in rest_names),
        fold,
        output,
        stream_columns(compiler.stream(output), ordered),
        key_names,
        compiler.single,
    )


def _user_windows(checked: CheckedBox, typed: TypedStimeAggregate, compiler: Compiler) -> FoldBox:
    """Windows of stime with user aggregates: rows of the horizon are read again and scanned group by group."""
    source, output = checked.box.inputs[0], checked.box.outputs[0]
    items, names = _rows(compiler, source, typed)
    groups = len(typed.group_by)
    rows = select(
        [*items[:groups], "1 AS __tag", "CAST(NULL AS BINARY) AS __state", *items[groups:]],
        compiler.with_past(source),
    )
    order = [c.name for c in compiler.order(source)]
    ordered = output in compiler.ordered
    fold = UserWindows(
        checked.box.name, typed.functions, groups, len(order), ordered, typed=typed, in_parts=not compiler.batch
    )
    return FoldBox(
        checked.box.name,
        rows,
        (*names[:groups], "__tag", STIME, *order),
        None,
        (),
        fold,
        output,
        stream_columns(compiler.stream(output), ordered),
        tuple(names[:groups]),
        compiler.single,
        _kept_windows(typed),
    )


def _user_event_windows(checked: CheckedBox, typed: TypedEventTimeAggregate, compiler: Compiler) -> FoldBox:
    """Windows of event time with user aggregates, in the same way; late rows are counted and put aside by SQL."""
    source, output = checked.box.inputs[0], checked.box.outputs[0]
    items, names = _rows(compiler, source, typed)
    groups, order = len(typed.group_by), [c.name for c in compiler.order(source)]
    arguments = groups + 1 + len(order)
    event = f"unix_micros({quoted(typed.window.field)})"
    rows = select(
        [
            *items[:groups],
            "1 AS __tag",
            "CAST(NULL AS BINARY) AS __state",
            *items[groups:arguments],
            f"{event} AS __event",
            *items[arguments:],
        ],
        compiler.with_past(source),
        f"WHERE {event} <= {STIME} + {typed.window.ahead}L",
    )
    ordered = output in compiler.ordered
    fold = UserEventWindows(
        checked.box.name, typed.functions, groups, len(order), ordered, window=typed.window, named=typed.start
    )
    return FoldBox(
        checked.box.name,
        rows,
        (*names[:groups], "__tag", STIME, *order),
        None,
        (),
        fold,
        output,
        stream_columns(compiler.stream(output), ordered),
        tuple(names[:groups]),
        compiler.single,
    )


def _kept_windows(typed: TypedStimeAggregate) -> str:
    """A condition on results: the same as SQL aggregates have on theirs."""
    number = floor_div(f"{STIME} - {typed.size - 1}L - {typed.phase}L", typed.advance)
    groups = [quoted(name) for name in typed.group_by]
    tests = []
    for sample in typed.kept_windows:
        hashed = f"xxhash64({', '.join([string_literal(sample.box), *groups, floor_div(number, sample.batch)])})"
        tests.append(f"NOT {falls_below(hashed, sample.rate)}")
    return " AND ".join(tests) or "TRUE"
