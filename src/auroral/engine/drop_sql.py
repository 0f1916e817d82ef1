"""Boxes that leave rows out by a hash, in SQL: the same rows on every replica, and all of them counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auroral.engine.sqltext import STIME, Cte, columns, falls_below, floor_div, relation, select, string_literal
from auroral.model.boxes.aggregate import TypedStimeAggregate
from auroral.model.boxes.drop import TypedRandomDrop, TypedWindowDrop
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def random_drop(compiler: Compiler, checked: CheckedBox, typed: TypedRandomDrop) -> list[Cte]:
    """A row's fate hangs on its values and its ordinal among equal ones."""
    (source,), (target,) = checked.box.inputs, checked.box.outputs
    names = columns(compiler.stream(source).schema.names)
    order = ", ".join(c.name for c in compiler.order(source) if source in compiler.ordered) or "0"
    equal = ", ".join([STIME, *names])
    ordinal = f"CAST(row_number() OVER (PARTITION BY {equal} ORDER BY {order}) - 1 AS BIGINT) AS __n"
    numbered = f"{checked.box.name}@numbered"
    hashed = f"xxhash64({', '.join([string_literal(typed.seed), STIME, *names, '__n'])})"
    dropped = falls_below(hashed, typed.rate)
    compiler.count(checked, "shed", numbered, dropped)
    kept = columns(c.name for c in compiler.columns(target))
    return [
        Cte(numbered, select([*columns(c.name for c in compiler.columns(source)), ordinal], relation(source))),
        Cte(target, select(kept, relation(numbered), f"WHERE NOT {dropped}")),
    ]


def window_drop(compiler: Compiler, checked: CheckedBox, typed: TypedWindowDrop) -> list[Cte]:
    """A row goes where all windows that it lies in go: windows are dropped whole, in batches."""
    (source,), (target,) = checked.box.inputs, checked.box.outputs
    moved = f"{STIME} - {typed.phase}L" if typed.phase else STIME
    first = floor_div(f"{moved} - {typed.size}L", typed.advance) + " + 1"
    last = floor_div(moved, typed.advance)
    hashed = f"xxhash64({', '.join([string_literal(typed.sample.box), *columns(typed.group_by), 'm'])})"
    batches = f"sequence({floor_div(first, typed.sample.batch)}, {floor_div(last, typed.sample.batch)})"
    dropped = f"forall({batches}, m -> {falls_below(hashed, typed.sample.rate)})"
    compiler.count(checked, "shed", source, dropped)
    items = [*compiler.head(source, target), *columns(compiler.stream(source).schema.names)]
    return [Cte(target, select(items, relation(source), f"WHERE NOT {dropped}"))]


def windows_left_whole(typed: TypedStimeAggregate, groups: Sequence[str], number: str) -> str:
    """Whether window_drops before an aggregate left window `number` of a group whole: the others do not appear half filled.

    Empty where there is no such drop.
    """
    tests = []
    for sample in typed.kept_windows:
        hashed = f"xxhash64({', '.join([string_literal(sample.box), *groups, floor_div(number, sample.batch)])})"
        tests.append(f"NOT {falls_below(hashed, sample.rate)}")
    return f"({' AND '.join(tests)})" if tests else ""
