"""An aggregate box as SQL: rows with what the functions need, and results from merged states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auroral.engine.sqltext import (
    STIME,
    Column,
    Cte,
    aliased,
    columns,
    floor_div,
    group_by,
    order_column,
    quoted,
    relation,
    select,
)
from auroral.engine.states import BoxState, box_state
from auroral.model.boxes.aggregate import TypedAggregateBox, TypedEventTimeAggregate, WindowStart
from auroral.model.checking import CheckedBox
from auroral.model.types import Kind

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


@dataclass(frozen=True, slots=True)
class AggregateBox:
    """An aggregate box that is being compiled, to SQL or to a scan."""

    compiler: Compiler
    checked: CheckedBox
    typed: TypedAggregateBox

    @property
    def box(self) -> str:
        return self.checked.box.name

    @property
    def source(self) -> str:
        return self.checked.box.inputs[0]

    @property
    def output(self) -> str:
        return self.checked.box.outputs[0]


@dataclass(frozen=True, slots=True)
class Aggregation(AggregateBox):
    """What every form of an aggregate's SQL is written from: its source, group columns g0.. and the functions' states."""

    keys: tuple[Column, ...]
    order: tuple[Column, ...]
    """The processing order, where some function depends on it."""
    state: BoxState

    @staticmethod
    def of(
        compiler: Compiler, checked: CheckedBox, typed: TypedAggregateBox, short: bool = False, counted: bool = False
    ) -> Aggregation:
        """For `short` and `counted`, see `states.box_state`."""
        source = checked.box.inputs[0]
        schema = compiler.stream(source).schema
        keys = tuple(Column(f"g{i}", schema[name].spark) for i, name in enumerate(typed.group_by))
        order = (Column(STIME, "BIGINT"), *compiler.order(source)) if typed.order_sensitive else ()

        def column(_: str | None, name: str) -> str:
            return STIME if name == "stime" and schema.get(name) is None else quoted(name)

        state = box_state(typed.functions, order, column, compiler.many_bins, short, counted)
        return Aggregation(compiler, checked, typed, keys, order, state)

    @property
    def groups(self) -> list[str]:
        return [c.name for c in self.keys]

    @property
    def identity(self) -> list[str]:
        """The columns that tell state rows of one window apart."""
        return [*self.groups, *self.state.bins]

    @property
    def values(self) -> list[str]:
        return [c.name for c in self.state.columns]

    def step(self, name: str) -> str:
        """The name of a step of this box, as a relation."""
        return relation(f"{self.box}@{name}")

    def cte(self, name: str, text: str) -> Cte:
        return Cte(f"{self.box}@{name}", text)

    def rows(self, number: str, source: str | None = None, where: str = "", also: Sequence[str] = ()) -> str:
        """Rows with their cell or window number, group columns, and what the functions prepare from a row."""
        carried = dict.fromkeys([*also, *(c.name for c in self.order)])
        first, *later = [[f"{p.sql} AS {p.name}" for p in stage] for stage in self.state.stages()] or [[]]
        text = select(
            [number, *self._named_groups(), *carried, *first],
            source or relation(self.source),
            f"WHERE {where}" if where else "",
        )
        for stage in later:
            text = select(["*", *stage], f"(\n{text}\n)")
        return text

    def row_states(self, number: str) -> str:
        """Each row as a state of its own, with its cell number."""
        if not self.state.stages():
            return select([f"{number} AS __c", *self._named_groups(), *self.state.of_row()], relation(self.source))
        rows = self.rows(f"{number} AS __c")
        return select(["__c", *self.identity, *self.state.of_row()], f"(\n{rows}\n)")

    def _named_groups(self) -> list[str]:
        return [f"{quoted(name)} AS g{i}" for i, name in enumerate(self.typed.group_by)]

    def result_items(self, begin: str, stime: str) -> list[tuple[str, str]]:
        """The columns of a result, values and names: stime, order key where it is needed, group, start of the window, functions."""
        items = [(stime, STIME)]
        if self.output in self.compiler.ordered:
            keyed = [f"timestamp_micros({begin})"] if isinstance(self.typed, TypedEventTimeAggregate) else []
            items += [(value, order_column(i)) for i, value in enumerate([*keyed, *self.groups])]
        items += zip(self.groups, columns(self.typed.group_by), strict=True)
        if start := self.typed.start:
            items.append((_start_value(start, begin), quoted(start.field.name)))
        return [*items, *zip(self.state.finals(), columns(f.name for f in self.typed.functions), strict=True)]

    def folded(self, windows: str, identity: Sequence[str], where: str = "") -> str:
        """A relation with one row for each window and group: states in several bins become one row."""
        if not self.state.bins:
            return windows
        group = [*identity, *self.groups]
        return f"(\n{select([*group, *self.state.fold()], windows, where, group_by(group))}\n)"

    def results(self, windows: str, identity: Sequence[str], items: Sequence[tuple[str, str]], where: str = "") -> Cte:
        """One row for each window and group, with the functions' results."""
        return Cte(self.output, select(aliased(items), self.folded(windows, identity), where))


def _start_value(start: WindowStart, begin: str) -> str:
    """The window's start as a value of the field that names it."""
    moved = f"{begin} - {start.offset}L" if start.offset else begin
    if start.field.type.kind is Kind.TIMESTAMP:
        return f"timestamp_micros({moved})"
    return f"CAST({floor_div(moved, start.unit)} AS {start.field.type.spark})"
