"""Which boxes are folds, and what each of them reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auroral.engine.foldbox import FoldBox, FoldInput, fold_step, key_text
from auroral.engine.folds import FirstAlignedFold, LandmarkFold, RunsFold
from auroral.engine.sqltext import STIME
from auroral.model.boxes.aggregate import TypedAggregateBox, TypedFirstAligned, TypedLandmark, TypedRuns
from auroral.model.checking import CheckedBox

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
        case _:
            return None


def _aggregate(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedAggregateBox,
    fold: LandmarkFold | FirstAlignedFold,
    where: tuple[str, ...] = (),
) -> FoldBox:
    """A fold over one input, by the aggregate's groups, that is handed the functions' arguments."""
    source = checked.box.inputs[0]
    schema = compiler.stream(source).schema
    read = FoldInput(source, groups(compiler, source, typed), arguments(compiler, source, typed), where)
    return fold_step(compiler, checked, fold, [read], [schema[name] for name in typed.group_by])


def groups(compiler: Compiler, source: str, typed: TypedAggregateBox) -> list[str]:
    schema = compiler.stream(source).schema
    return [key_text(name, schema[name]) for name in typed.group_by]


def arguments(compiler: Compiler, source: str, typed: TypedAggregateBox) -> list[str]:
    """Those of all functions, one after the other, as `folds.Aggregating` takes them."""
    return [compiler.sql(arg, source) for function in typed.functions for arg in function.args]
