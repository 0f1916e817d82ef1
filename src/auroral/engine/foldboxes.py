"""Which boxes are folds, and what each of them reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auroral.engine.buffer_join import buffer_join
from auroral.engine.combine_fold import combine
from auroral.engine.drop_fold import DropFold
from auroral.engine.fold import Fold
from auroral.engine.foldbox import FoldBox, FoldInput, fold_step, key_text
from auroral.engine.folds import FirstAlignedFold, LandmarkFold, RunsFold
from auroral.engine.local_clock import LocalClockFold
from auroral.engine.lrwaitfor_fold import LRWaitForFold
from auroral.engine.resample_fold import ResampleFold
from auroral.engine.sort_folds import BSortFold, WSortFold
from auroral.engine.sqltext import STIME, columns, quoted
from auroral.engine.tuple_windows import TupleWindowsFold
from auroral.engine.user_fold import UserFold
from auroral.engine.value_windows import ValueWindowsFold
from auroral.engine.xsection_fold import XSectionFold
from auroral.model.boxes.aggregate import (
    TypedAggregateBox,
    TypedFirstAligned,
    TypedLandmark,
    TypedRuns,
    TypedTupleWindows,
    TypedValueWindows,
)
from auroral.model.boxes.combine import TypedCombine
from auroral.model.boxes.drop import TypedRowDrop
from auroral.model.boxes.join import TypedBufferJoin
from auroral.model.boxes.local_clock import CLOCK, TypedOnLocalClock
from auroral.model.boxes.lrwaitfor import TypedLRWaitFor
from auroral.model.boxes.resample import TypedResample
from auroral.model.boxes.sorting import TypedBSort, TypedWSort
from auroral.model.boxes.user_fold import FoldCalls, TypedUserFold
from auroral.model.boxes.xsection import TypedXSection
from auroral.model.checking import CheckedBox
from auroral.model.types import FieldType

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def fold_box(checked: CheckedBox, compiler: Compiler) -> FoldBox | None:
    """The box as a fold, or None where it is none."""
    typed, name = checked.typed, checked.box.name
    match typed:
        case TypedLandmark():
            since = () if typed.origin is None else (f"{STIME} >= {typed.origin}L",)
            return _aggregate(compiler, checked, typed, LandmarkFold(name, typed.functions), since)
        case TypedFirstAligned():
            fold = FirstAlignedFold(name, typed.functions, size=typed.size, advance=typed.advance, named=typed.start)
            return _aggregate(compiler, checked, typed, fold)
        case TypedRuns():
            source = checked.box.inputs[0]
            values = (*groups(compiler, source, typed), *arguments(compiler, source, typed))
            runs = RunsFold(name, typed.functions, groups=len(typed.group_by))
            return fold_step(compiler, checked, runs, [FoldInput(source, (), values)], ())
        case TypedValueWindows() | TypedTupleWindows():
            return _aggregate(compiler, checked, typed, _timed(compiler, checked, typed), field=typed.field)
        case TypedBufferJoin():
            return buffer_join(compiler, checked, typed)
        case TypedCombine():
            return combine(compiler, checked, typed)
        case TypedLRWaitFor():
            return _lrwaitfor(compiler, checked, typed)
        case TypedBSort():
            bounded = BSortFold(_positions(compiler, checked, typed.order_on), typed.slack)
            return _whole_rows(compiler, checked, bounded, typed.group_by)
        case TypedWSort():
            return _whole_rows(compiler, checked, _timed(compiler, checked, typed), typed.group_by)
        case TypedUserFold():
            return _user_fold(compiler, checked, typed)
        case TypedOnLocalClock():
            return _on_local_clock(compiler, checked, typed)
        case TypedRowDrop():
            return _row_drop(compiler, checked, typed)
        case TypedResample():
            between = ResampleFold(typed.within, len(typed.fields))
            return _whole_rows(compiler, checked, between, typed.group_by, [columns(typed.fields)])
        case TypedXSection():
            source = checked.box.inputs[0]
            known = _keys(compiler, source, typed.across)
            section = XSectionFold(name, typed.functions, len(known), typed.within)
            read = FoldInput(source, (), [*known, *arguments(compiler, source, typed)])
            return fold_step(compiler, checked, section, [read], ())
        case _:
            return None


def _timed(compiler: Compiler, checked: CheckedBox, typed: TypedValueWindows | TypedTupleWindows | TypedWSort) -> Fold:
    """The folds that have timeouts."""
    if isinstance(typed, TypedWSort):
        return WSortFold(_positions(compiler, checked, typed.order_on), typed.timeout)
    given = _orders(compiler, checked), _types(compiler, checked, typed.group_by)
    if isinstance(typed, TypedValueWindows):
        return ValueWindowsFold(checked.box.name, typed.functions, typed, *given)
    return TupleWindowsFold(checked.box.name, typed.functions, typed, *given)


def _on_local_clock(compiler: Compiler, checked: CheckedBox, typed: TypedOnLocalClock) -> FoldBox:
    source, clock = checked.box.inputs
    inner = typed.inner
    if isinstance(inner, TypedWSort):
        values = columns(compiler.stream(source).schema.names)
    else:
        values = [*([quoted(inner.field)] if inner.field else []), *arguments(compiler, source, inner)]
    keys = _keys(compiler, source, inner.group_by)
    fold = LocalClockFold(_timed(compiler, checked, inner), len(keys), typed.clock_order)
    read = [FoldInput(source, (), [*keys, *values]), FoldInput(clock, (), columns([CLOCK]))]
    return fold_step(compiler, checked, fold, read, ())


def _user_fold(compiler: Compiler, checked: CheckedBox, typed: TypedUserFold) -> FoldBox:
    read = [
        FoldInput(stream, _keys(compiler, stream, typed.key), columns(compiler.stream(stream).schema.names))
        for stream in checked.box.inputs
    ]
    fold = UserFold(checked.box.name, FoldCalls(typed))
    return fold_step(compiler, checked, fold, read, _types(compiler, checked, typed.key))


def _lrwaitfor(compiler: Compiler, checked: CheckedBox, typed: TypedLRWaitFor) -> FoldBox:
    held, enabler = checked.box.inputs
    schema = compiler.stream(held).schema
    read = [
        FoldInput(held, _keys(compiler, held, typed.group_by), columns([typed.key, *schema.names])),
        FoldInput(enabler, _keys(compiler, enabler, typed.group_by), columns([typed.key])),
    ]
    return fold_step(compiler, checked, LRWaitForFold(typed), read, [schema[name] for name in typed.group_by])


def _row_drop(compiler: Compiler, checked: CheckedBox, typed: TypedRowDrop) -> FoldBox:
    source = checked.box.inputs[0]
    names = compiler.stream(source).schema.names
    read = FoldInput(
        source, _keys(compiler, source, typed.group_by), columns([*([typed.field] if typed.field else []), *names])
    )
    types = _types(compiler, checked, typed.group_by)
    return fold_step(compiler, checked, DropFold(typed, types), [read], types)


def _whole_rows(
    compiler: Compiler,
    checked: CheckedBox,
    fold: Fold,
    group_by: Sequence[str],
    others: Sequence[Sequence[str]] = (),
) -> FoldBox:
    """A fold by groups that is handed all fields of its first input, and of further ones what `others` say."""
    first, *_ = checked.box.inputs
    schema = compiler.stream(first).schema
    values = [columns(schema.names), *others]
    read = [
        FoldInput(stream, _keys(compiler, stream, group_by), given)
        for stream, given in zip(checked.box.inputs, values, strict=True)
    ]
    return fold_step(compiler, checked, fold, read, [schema[name] for name in group_by])


def _positions(compiler: Compiler, checked: CheckedBox, names: Sequence[str]) -> tuple[int, ...]:
    known = compiler.stream(checked.box.inputs[0]).schema.names
    return tuple(known.index(name) for name in names)


def _types(compiler: Compiler, checked: CheckedBox, names: Sequence[str]) -> tuple[FieldType, ...]:
    schema = compiler.stream(checked.box.inputs[0]).schema
    return tuple(schema[name] for name in names)


def _keys(compiler: Compiler, stream: str, names: Sequence[str]) -> list[str]:
    schema = compiler.stream(stream).schema
    return [key_text(name, schema[name]) for name in names]


def _orders(compiler: Compiler, checked: CheckedBox) -> int:
    return len(compiler.order(checked.box.inputs[0]))


def _aggregate(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedAggregateBox,
    fold: Fold,
    where: tuple[str, ...] = (),
    field: str | None = None,
) -> FoldBox:
    """A fold over one input, by the aggregate's groups, that is handed the field that it is on, if any, and the functions' arguments."""
    source = checked.box.inputs[0]
    schema = compiler.stream(source).schema
    values = [*([quoted(field)] if field is not None else []), *arguments(compiler, source, typed)]
    read = FoldInput(source, groups(compiler, source, typed), values, where)
    return fold_step(compiler, checked, fold, [read], [schema[name] for name in typed.group_by])


def groups(compiler: Compiler, source: str, typed: TypedAggregateBox) -> list[str]:
    return _keys(compiler, source, typed.group_by)


def arguments(compiler: Compiler, source: str, typed: TypedAggregateBox) -> list[str]:
    """Those of all functions, one after the other, as `folds.Aggregating` takes them."""
    return [compiler.sql(arg, source) for function in typed.functions for arg in function.args]
