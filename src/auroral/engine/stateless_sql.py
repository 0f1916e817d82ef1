"""Boxes that look at one row at a time, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auroral.engine.sqltext import STIME, Cte, columns, order_column, quoted, relation, select
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def filtered(compiler: Compiler, checked: CheckedBox, typed: TypedFilter) -> list[Cte]:
    """Each row goes to the first output whose predicate it meets; what meets none, to the output behind them."""
    (source,) = checked.box.inputs
    fields = columns(compiler.stream(source).schema.names)
    ctes = []
    earlier: list[str] = []
    for position, target in enumerate(checked.box.outputs):
        tests = [f"({sql}) IS NOT TRUE" for sql in earlier]
        if position < len(typed.predicates):
            predicate = compiler.sql(typed.predicates[position], source)
            tests.append(f"({predicate})" if tests else predicate)
            earlier.append(predicate)
        items = [*compiler.head(source, target), *fields]
        ctes.append(Cte(target, select(items, relation(source), "WHERE " + " AND ".join(tests))))
    return ctes


def mapped(compiler: Compiler, checked: CheckedBox, typed: TypedMap) -> list[Cte]:
    (source,), (target,) = checked.box.inputs, checked.box.outputs
    made = [f"{compiler.sql(value, source)} AS {quoted(name)}" for name, value in typed.columns]
    return [Cte(target, select([*compiler.head(source, target), *made], relation(source)))]


def united(compiler: Compiler, checked: CheckedBox) -> list[Cte]:
    # A serializing union has a control output before that of the rows.
    *controls, target = checked.box.outputs
    sources = checked.box.inputs
    parts = []
    for index, source in enumerate(sources):
        items = [STIME]
        if target in compiler.ordered:
            values = _union_order(compiler, sources, index)
            items += [f"{value} AS {order_column(i)}" for i, value in enumerate(values)]
        for wanted, own in zip(
            compiler.stream(target).schema.fields, compiler.stream(source).schema.fields, strict=True
        ):
            name, kind = quoted(wanted.name), wanted.type.spark
            items.append(name if own.type.spark == kind else f"CAST({name} AS {kind}) AS {name}")
        parts.append(select(items, relation(source)))
    text = "\nUNION ALL\n".join(parts)
    if len(parts) > 1:
        text = f"SELECT {compiler.one_partition}* FROM (\n{text}\n)"
    return [*(_nothing(stream) for stream in controls), Cte(target, text)]


def _union_order(compiler: Compiler, sources: Sequence[str], index: int) -> list[str]:
    values = [str(index)]
    for position, source in enumerate(sources):
        for column in compiler.order(source):
            values.append(column.name if position == index else f"CAST(NULL AS {column.type})")
    return values


def unchanged(compiler: Compiler, checked: CheckedBox, typed: TypedIdentity) -> list[Cte]:
    ctes = []
    for port, target in enumerate(checked.box.outputs):
        if port not in typed.data_ports:
            ctes.append(_nothing(target))
            continue
        source = checked.box.inputs[typed.data_ports.index(port)]
        items = [*compiler.head(source, target), *columns(compiler.stream(source).schema.names)]
        pause = f"WHERE java_method('java.lang.Thread', 'sleep', {typed.cost_ms}L) IS NOT NULL"
        where = pause if typed.cost_ms and not compiler.batch else ""
        ctes.append(Cte(target, select(items, relation(source), where)))
    return ctes


def _nothing(stream: str) -> Cte:
    return Cte(stream, f"SELECT CAST(NULL AS BIGINT) AS {STIME} WHERE FALSE")
