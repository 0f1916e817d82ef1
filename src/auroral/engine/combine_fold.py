"""Rows of several streams put together by a key: a fold puts them together, and SQL behind it computes the fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auroral.engine.expression import to_sql
from auroral.engine.fold import Given, Result, Row, Untimed
from auroral.engine.foldbox import FoldBox, FoldInput, fold_step, key_text
from auroral.engine.sqltext import STIME, Column, Cte, columns, order_column, quoted, relation, select
from auroral.model.boxes.combine import TypedCombine
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


@dataclass(slots=True)
class CombineFold(Untimed):
    """A row's values are all fields of its input. `queues` are, by port, the rows that wait: stime, order key and fields."""

    ports: int
    queues: list[list[tuple[int, Row, Row]]] = field(default_factory=list)

    def start(self, key: Row, state: Any) -> None:
        self.queues = state or [[] for _ in range(self.ports)]

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        self.queues[port].append((stime, order, values))
        if all(self.queues):
            together = [queue.pop(0) for queue in self.queues]
            yield Result(stime, (), tuple(part for came, key, fields in together for part in (came, *key, *fields)))

    def state(self) -> Any:
        return self.queues if any(self.queues) else None


def combine(compiler: Compiler, checked: CheckedBox, typed: TypedCombine) -> FoldBox:
    box, inputs = checked.box, checked.box.inputs
    schemas = [compiler.stream(stream).schema for stream in inputs]
    read = [
        FoldInput(stream, [key_text(typed.key, schema[typed.key])], columns(schema.names))
        for stream, schema in zip(inputs, schemas, strict=True)
    ]
    given = [Column(STIME, "BIGINT")]
    keys: list[str] = []
    for port, (stream, schema) in enumerate(zip(inputs, schemas, strict=True)):
        order = [Column(f"__{port}k{i}", key.type) for i, key in enumerate(compiler.order(stream))]
        keys += [f"__{port}s", *(c.name for c in order)]
        fields = [Column(f"__{port}f{i}", one.type.spark) for i, one in enumerate(schema.fields)]
        given += [Column(f"__{port}s", "BIGINT"), *order, *fields]

    def column(qualifier: str | None, name: str) -> str:
        port = (
            typed.names.index(qualifier)
            if qualifier
            else next(n for n, schema in enumerate(schemas) if schema.get(name) is not None)
        )
        system = name == "stime" and schemas[port].get(name) is None
        return f"`__{port}s`" if system else f"`__{port}f{schemas[port].names.index(name)}`"

    target = box.outputs[0]
    items = [STIME]
    if target in compiler.ordered:
        items += [f"{quoted(name)} AS {order_column(i)}" for i, name in enumerate(keys)]
    items += [f"{to_sql(expression, column)} AS {quoted(name)}" for name, expression in typed.columns]
    together = f"{box.name}@together"
    return fold_step(
        compiler,
        checked,
        CombineFold(len(inputs)),
        read,
        [schemas[0][typed.key]],
        outputs=[(together, tuple(given))],
        behind=[Cte(target, select(items, relation(together)))],
    )
