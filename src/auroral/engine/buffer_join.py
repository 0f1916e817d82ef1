"""Joins with what buffers hold: a fold gives all pairs that meet, and SQL behind it keeps those for which the predicate holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from auroral.engine.expression import to_sql
from auroral.engine.fold import Given, Result, Row
from auroral.engine.foldbox import FoldBox, FoldInput, fold_step, key_text
from auroral.engine.join_sql import condition
from auroral.engine.numbers import Number, from_plain, number_of, plain
from auroral.engine.sqltext import STIME, Column, Cte, columns, order_column, quoted, relation, select
from auroral.model.boxes.join import TypedBufferJoin
from auroral.model.checking import CheckedBox
from auroral.model.expression import Typed
from auroral.model.expression.typed import FieldRef, Infix
from auroral.model.schema import Schema
from auroral.model.types import Kind

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler

Waiting = tuple[int, Row, Row]
"""Of a row in a buffer: stime, order key, fields."""

LOOKED_UP = (Kind.BYTE, Kind.SHORT, Kind.INT, Kind.LONG, Kind.STRING, Kind.TIMESTAMP, Kind.DATE, Kind.BINARY)
"""Kinds of fields that Python finds equal exactly where SQL does."""


@dataclass(slots=True)
class BufferJoinFold:
    """A row's values are all fields of its side; `positions` are those of the buffers' fields.

    Where a buffer counts rows or goes by the largest value, there is one key for all rows. `equal` are then positions of fields of both sides
    that the predicate wants to be equal: most pairs need not be given at all. Other rows stay whatever else comes, and those fields are the key.
    """

    typed: TypedBufferJoin
    positions: tuple[int | None, int | None]
    equal: tuple[tuple[int, int], ...]
    buffers: tuple[list[Waiting], list[Waiting]] = field(default_factory=lambda: ([], []))
    largest: list[Number | None] = field(default_factory=lambda: [None, None])

    reasons: ClassVar[tuple[str, ...]] = ()

    def start(self, key: Row, state: Any) -> None:
        left, right, largest = state or ([], [], (None, None))
        self.buffers, self.largest = (left, right), [from_plain(value) for value in largest]

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        new = (stime, order, values)
        if self.typed.looks[port]:
            for waiting in self.buffers[1 - port]:
                left, right = (new, waiting) if port == 0 else (waiting, new)
                if all(left[2][a] == right[2][b] and left[2][a] is not None for a, b in self.equal):
                    yield Result(stime, (), (left[0], *left[1], *left[2], right[0], *right[1], *right[2]))
        self._keep(port, new)

    def _keep(self, port: int, new: Waiting) -> None:
        buffer, kept, position = self.buffers[port], self.typed.buffers[port], self.positions[port]
        if kept.rows is not None:
            buffer.append(new)
            del buffer[: max(0, len(buffer) - kept.rows)]
        elif kept.size is None or position is None:
            buffer.append(new)
        elif (value := number_of(new[2][position])) is not None:
            largest = self.largest[port]
            if largest is None or value > largest:
                self.largest[port] = largest = value
                # All that is kept has a number.
                buffer[:] = [one for one in buffer if number_of(one[2][position]) + kept.size >= largest]  # type: ignore[operator]
            if value + kept.size >= largest:
                buffer.append(new)

    def due(self) -> int | None:
        lifetimes = [(self.typed.lifetime(side), buffer) for side, buffer in enumerate(self.buffers)]
        ends = [buffer[0][0] + lifetime for lifetime, buffer in lifetimes if lifetime is not None and buffer]
        return min(ends, default=None)

    def boundary(self, stime: int) -> Iterator[Given]:
        for side, buffer in enumerate(self.buffers):
            lifetime = self.typed.lifetime(side)
            if lifetime is not None:
                buffer[:] = [waiting for waiting in buffer if waiting[0] + lifetime > stime]
        return iter(())

    def state(self) -> Any:
        if not any(self.buffers) and self.largest == [None, None]:
            return None
        return (*self.buffers, tuple(plain(value) for value in self.largest))


def buffer_join(compiler: Compiler, checked: CheckedBox, typed: TypedBufferJoin) -> FoldBox:
    box, inputs = checked.box, checked.box.inputs
    schemas = [compiler.stream(stream).schema for stream in inputs]
    fields = [buffer.field for buffer in typed.buffers]
    left, right = (
        None if name is None else schema.names.index(name) for schema, name in zip(schemas, fields, strict=True)
    )
    equal = tuple(_equalities(typed.predicate, schemas))
    apart = all(kept.rows in (None, 0) and kept.size is None for kept in typed.buffers)
    fold = BufferJoinFold(typed, (left, right), () if apart else equal)
    read, keys = [], [schemas[0].fields[pair[0]].type for pair in equal] if apart else []
    for port, (stream, schema) in enumerate(zip(inputs, schemas, strict=True)):
        names = [schema.names[pair[port]] for pair in equal] if apart else []
        # Null is equal to nothing.
        there = [f"{quoted(name)} IS NOT NULL" for name in names]
        read.append(FoldInput(stream, [key_text(name, schema[name]) for name in names], columns(schema.names), there))
    pairs = (f"{box.name}@pairs", (Column(STIME, "BIGINT"), *_columns(compiler, inputs)))
    return fold_step(compiler, checked, fold, read, keys, outputs=[pairs], behind=[_matching(compiler, checked, typed)])


def _side(port: int, part: str, number: int | str = "") -> str:
    return f"__{'lr'[port]}{part}{number}"


def _columns(compiler: Compiler, inputs: Sequence[str]) -> Iterator[Column]:
    """Of a pair, behind its stime: stime, order key and fields of both sides."""
    for port, stream in enumerate(inputs):
        yield Column(_side(port, "s"), "BIGINT")
        yield from (Column(_side(port, "k", i), key.type) for i, key in enumerate(compiler.order(stream)))
        for i, one in enumerate(compiler.stream(stream).schema.fields):
            yield Column(_side(port, "f", i), one.type.spark)


def _matching(compiler: Compiler, checked: CheckedBox, typed: TypedBufferJoin) -> Cte:
    inputs, target = checked.box.inputs, checked.box.outputs[0]
    schemas = [compiler.stream(stream).schema for stream in inputs]

    def column(qualifier: str | None, name: str) -> str:
        port = ("left", "right").index(qualifier) if qualifier else int(schemas[0].get(name) is None)
        if name == "stime" and schemas[port].get(name) is None:
            return _side(port, "s")
        return _side(port, "f", schemas[port].names.index(name))

    items = [STIME]
    if target in compiler.ordered:
        keys = [
            name
            for port, stream in enumerate(inputs)
            for name in (_side(port, "s"), *(_side(port, "k", i) for i, _ in enumerate(compiler.order(stream))))
        ]
        items += [f"{name} AS {order_column(i)}" for i, name in enumerate(keys)]
    items += [f"{to_sql(expression, column)} AS {quoted(name)}" for name, expression in typed.columns]
    pairs = relation(f"{checked.box.name}@pairs")
    return Cte(target, select(items, pairs, f"WHERE {condition(typed.predicate, column)}"))


def _equalities(predicate: Typed, schemas: Sequence[Schema]) -> Iterator[tuple[int, int]]:
    match predicate:
        case Infix(op="and", left=left, right=right):
            yield from _equalities(left, schemas)
            yield from _equalities(right, schemas)
        case Infix(op="=", left=FieldRef() as a, right=FieldRef() as b) if (
            a.type == b.type and a.type.kind in LOOKED_UP
        ):
            sides = {ref.qualifier: ref.name for ref in (a, b)}
            if sides.keys() == {"left", "right"}:
                places = [schema.get(sides[side]) for schema, side in zip(schemas, ("left", "right"), strict=True)]
                if None not in places:
                    yield schemas[0].names.index(sides["left"]), schemas[1].names.index(sides["right"])
