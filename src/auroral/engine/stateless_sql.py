"""Boxes that look at one row at a time, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auroral.engine.expression import error_sql, to_sql, value_sql
from auroral.engine.reached import WHY, first_of, or_stop
from auroral.engine.revision_sql import consolidated
from auroral.engine.sqltext import STIME, Cte, columns, order_column, quoted, relation, select
from auroral.model.boxes.splice import TypedSplice
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.checking import CheckedBox
from auroral.model.expression import Typed, user_functions
from auroral.model.expression.typed import Choice, Constant, Infix
from auroral.model.on_error import ERROR_FIELD, OnError
from auroral.model.types import BOOL

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def filtered(compiler: Compiler, checked: CheckedBox, typed: TypedFilter) -> list[Cte]:
    """Each row goes to the first output whose predicate it meets; what meets none, to the output behind them."""
    (source,), cases = checked.box.inputs, typed.predicates
    column, fields = compiler.column(source), columns(compiler.stream(source).schema.names)
    rejected, side = _rejected(compiler, checked, _as_choice(cases))
    ctes = []
    for position, target in enumerate(checked.box.outputs[: len(cases) + typed.else_port]):
        tests = [f"({value_sql(case, column)}) IS NOT TRUE" for case in cases[:position]]
        if position < len(cases):
            predicate = value_sql(cases[position], column)
            tests.append(f"({predicate})" if tests else predicate)
        where = " AND ".join(tests)
        if rejected is not None:
            where = f"{rejected} IS NULL AND ({where})"
        else:
            where = or_stop(error_sql(_as_choice(cases[: position + 1]), column, WHY), where, "BOOLEAN")
            if position == 0 and (known := _known_first(cases[0])) is not None:
                where = f"({value_sql(known, column)}) IS NOT FALSE AND {where}"
        items = [*compiler.head(source, target), *fields]
        ctes.append(Cte(target, select(items, relation(source), f"WHERE {where}")))
    return [*ctes, *side]


def _as_choice(predicates: Sequence[Typed]) -> Typed:
    """A case statement as one expression: each predicate is reached only where none before it holds."""
    rest: Typed = Constant(BOOL, False)
    for predicate in reversed(predicates):
        rest = Choice(BOOL, predicate, Constant(BOOL, True), rest)
    return rest


def _known_first(predicate: Typed) -> Typed | None:
    """What can be asked before any function is called: it may decide, and spares the calls then."""
    while isinstance(predicate, Infix) and predicate.op == "and" and user_functions(predicate):
        if not user_functions(predicate.left):
            return predicate.left
        predicate = predicate.left
    return None


def mapped(compiler: Compiler, checked: CheckedBox, typed: TypedMap) -> list[Cte]:
    (source,), (target, *_) = checked.box.inputs, checked.box.outputs
    rejected, side = _rejected(compiler, checked, *(value for _, value in typed.columns))
    column = compiler.column(source)
    write = to_sql if rejected is None else value_sql
    made = [f"{write(value, column)} AS {quoted(name)}" for name, value in typed.columns]
    where = "" if rejected is None else f"WHERE {rejected} IS NULL"
    text = select([*compiler.head(source, target), *made], relation(source), where)
    if compiler.stream(source).kept is None:
        return [Cte(target, text), *side]
    return [Cte(target, consolidated(f"(\n{text}\n)", compiler.stream(target))), *side]


def _rejected(compiler: Compiler, checked: CheckedBox, *reached: Typed) -> tuple[str | None, list[Cte]]:
    """The first error of a row that the box rejects, and the error stream if the box has one; `reached` are its expressions."""
    (source,), typed = checked.box.inputs, checked.typed
    if typed.on_error is not OnError.REJECT:
        return None, []
    error = first_of(error_sql(expression, compiler.column(source)) for expression in reached)
    assert error is not None, "the checker lets no box reject in which nothing can fail"
    compiler.count(checked, "rejected", source, f"{error} IS NOT NULL")
    if typed.error_port is None:
        return error, []
    side = checked.box.outputs[typed.error_port]
    items = [*compiler.head(source, side), *columns(compiler.stream(source).schema.names)]
    items.append(f"{error} AS {quoted(ERROR_FIELD)}")
    return error, [Cte(side, select(items, relation(source), f"WHERE {error} IS NOT NULL"))]


def united(compiler: Compiler, checked: CheckedBox, typed: TypedUnion) -> list[Cte]:
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
        parts.append(select(items, relation(source), _within(typed, index)))
    text = "\nUNION ALL\n".join(parts)
    if len(parts) > 1:
        text = f"SELECT {compiler.one_partition}* FROM (\n{text}\n)"
    return [*(_nothing(stream) for stream in controls), Cte(target, text)]


def _within(typed: TypedUnion, port: int) -> str:
    if not isinstance(typed, TypedSplice):
        return ""
    since, until = typed.span(port)
    tests = [f"{STIME} >= {since}"] if since is not None else []
    tests += [f"{STIME} < {until}"] if until is not None else []
    return f"WHERE {' AND '.join(tests)}" if tests else ""


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
