"""Windows and joins over rows that revise others, in SQL: computed again, and compared with what they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from auroral.engine.aggregate_sql import Aggregation
from auroral.engine.join_sql import condition
from auroral.engine.revision_sql import AT, MARK, SIGN, left_over, sign_sql, standing, time_sql, unmarked
from auroral.engine.sqltext import (
    HI,
    LO,
    STIME,
    Column,
    ColumnText,
    Cte,
    columns,
    floor_div,
    group_by,
    order_column,
    quoted,
    relation,
    select,
)
from auroral.engine.states import box_state
from auroral.model.boxes.aggregate import TypedRevisedAggregate
from auroral.model.boxes.join import TypedRevisedJoin
from auroral.model.checking import CheckedBox
from auroral.model.expression import Typed
from auroral.model.revisions import REVISED
from auroral.model.schema import Field
from auroral.model.stream import StreamType

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler

_BEFORE, _FIRST, _AFTER = -1, 0, 1
"""Which version of a window: before or after the revisions of a bucket, or the one that is given when the window closes."""
_VERSION = ["__m", "__v", "__side"]


def revised_aggregate(compiler: Compiler, checked: CheckedBox, typed: TypedRevisedAggregate) -> list[Cte]:
    """Windows that close in the range, and those closed before of which a row is revised in it, twice: as they were, and as they are."""
    box, source = checked.box.name, checked.box.inputs[0]
    fields, groups = unmarked(compiler.stream(source)), columns(typed.group_by)
    moved = f"{AT} - {typed.phase}L" if typed.phase else AT
    numbers = f"sequence({floor_div(f'{moved} - {typed.size}L', typed.advance)} + 1, {floor_div(moved, typed.advance)})"
    changes = select(
        [
            f"{time_sql()} AS {AT}",
            f"{sign_sql()} AS {SIGN}",
            f"{floor_div(STIME, typed.bucket)} AS __b",
            f"{MARK} IS NOT NULL AS __revises",
            *columns(f.name for f in fields),
        ],
        compiler.with_past(source),
    )
    spread = select(["*", f"explode({numbers}) AS __m"], f"(\n{changes}\n)")
    end = f"__m * {typed.advance}L + {typed.phase + typed.size}L"
    closes = floor_div(f"{end} - 1", typed.bucket)
    in_range = f"{{0}} * {typed.bucket}L >= {LO} AND ({{0}} + 1) * {typed.bucket}L <= {HI}"
    named = [f"{name} AS g{i}" for i, name in enumerate(groups)]
    first = select(
        ["DISTINCT __m", f"{closes} AS __v", f"{_FIRST} AS __side", *named],
        relation(f"{box}@spread"),
        f"WHERE {in_range.format(f'({closes})')}",
    )
    revised = select(
        ["DISTINCT __m", "__b AS __v", f"explode(array({_BEFORE}, {_AFTER})) AS __side", *named],
        relation(f"{box}@spread"),
        f"WHERE __revises AND {in_range.format('__b')} AND {closes} < __b",
    )
    same = " AND ".join(["r.__m = v.__m", *(f"r.{name} <=> v.g{i}" for i, name in enumerate(groups))])
    contents = select(
        ["v.__v", "v.__side", *(f"r.{name}" for name in ["__m", AT, SIGN, *columns(f.name for f in fields)])],
        f"{relation(f'{box}@spread')} r JOIN (\n{first}\nUNION ALL\n{revised}\n) v",
        f"ON {same} AND r.__b <= v.__v + IF(v.__side = {_BEFORE}, -1, 0)",
    )
    seen = [*_VERSION, f"{AT} AS {STIME}", *columns(f.name for f in fields)]
    seen += [f"{value} AS {key.name}" for key, value in _order(fields)]
    ctes = [
        Cte(f"{box}@spread", spread),
        Cte(f"{box}@rows", standing(f"(\n{contents}\n)", fields, _VERSION, seen)),
    ]
    return [*ctes, *_versions(compiler, checked, typed, end), *_given(compiler, checked, typed, end)]


def _versions(compiler: Compiler, checked: CheckedBox, typed: TypedRevisedAggregate, end: str) -> list[Cte]:
    """A row for each version of a window and group."""
    stream = compiler.stream(checked.box.inputs[0])
    order: tuple[Column, ...] = ()
    if any(f.order_sensitive for f in typed.functions):
        order = (Column(STIME, "BIGINT"), *(key for key, _ in _order(unmarked(stream))))
    box = Aggregation.of(compiler, checked, typed)
    box = replace(box, order=order, state=box_state(typed.functions, order, _seen(stream), many_bins=True))
    rows = box.rows(", ".join(_VERSION), source=box.step("rows"))
    group = [*_VERSION, *box.identity]
    windows = select([*group, *box.state.of_rows()], f"(\n{rows}\n)", group_by(group))
    items = box.result_items(f"__m * {typed.advance}L + {typed.phase}L", f"{end} - 1")
    results = box.results(box.step("windows"), _VERSION, [*items, *((name, name) for name in _VERSION)])
    return [box.cte("windows", windows), box.cte("results", results.select)]


def _order(fields: Sequence[Field]) -> list[tuple[Column, str]]:
    """Rows that belong to one stime are in the order of their fields; zeros of both signs are told apart last."""
    values = [(f.type.spark, quoted(f.name)) for f in fields]
    values += [("STRING", f"CAST({quoted(f.name)} AS STRING)") for f in fields if f.type.is_float]
    return [(Column(order_column(i), kind), value) for i, (kind, value) in enumerate(values)]


def _seen(stream: StreamType) -> ColumnText:
    """Of rows that have the stime that they belong to."""
    return lambda _, name: STIME if name == "stime" and stream.schema.get(name) is None else quoted(name)


def _given(compiler: Compiler, checked: CheckedBox, typed: TypedRevisedAggregate, end: str) -> list[Cte]:
    box, target = checked.box.name, checked.box.outputs[0]
    output = compiler.stream(target)
    names = columns(f.name for f in unmarked(output))
    shown = [f"CAST(NULL AS STRING) AS {MARK}" if f.name == REVISED else quoted(f.name) for f in output.schema.fields]
    first = select([STIME, *shown], relation(f"{box}@results"), f"WHERE __side = {_FIRST}")
    changes = select(
        [f"(__v + 1) * {typed.bucket}L - 1 AS {STIME}", f"{STIME} AS {AT}", f"__side AS {SIGN}", *names],
        relation(f"{box}@results"),
        f"WHERE __side <> {_FIRST}",
    )
    revised = select([STIME, *columns(output.schema.names)], f"(\n{left_over(f'({changes})', output)}\n)")
    return [Cte(target, f"SELECT {compiler.one_partition}* FROM (\n{first}\nUNION ALL\n{revised}\n)")]


def revised_join(compiler: Compiler, checked: CheckedBox, typed: TypedRevisedJoin) -> list[Cte]:
    """All pairs of rows that add and take away, of which the later one came in the range: what is left of them."""
    box, target = checked.box.name, checked.box.outputs[0]
    sides = dict(zip(("left", "right"), checked.box.inputs, strict=True))
    width = max(typed.left_size, typed.right_size, 1)
    reach = (
        f"sequence({floor_div(f'{AT} - {typed.right_size}L', width)}, {floor_div(f'{AT} + {typed.left_size}L', width)})"
    )

    def timed(side: str, slice: str) -> Cte:
        stream = compiler.stream(sides[side])
        own = [f"{STIME} AS {AT}", f"1 AS {SIGN}", "FALSE AS __revises"]
        if stream.kept is not None:
            own = [f"{time_sql()} AS {AT}", f"{sign_sql()} AS {SIGN}", f"{MARK} IS NOT NULL AS __revises"]
        rows = select(["*", *own], compiler.with_past(sides[side]))
        return Cte(f"{box}@{side}", select(["*", f"{slice} AS __slice"], f"(\n{rows}\n)"))

    def sql(expression: Typed) -> str:
        def column(qualifier: str | None, name: str) -> str:
            schemas = {side: compiler.stream(stream).schema for side, stream in sides.items()}
            side = qualifier or ("left" if schemas["left"].get(name) is not None else "right")
            return f"{side[0]}.{AT if name == 'stime' and schemas[side].get(name) is None else quoted(name)}"

        return condition(expression, column)

    later = f"greatest(l.{STIME}, r.{STIME})"
    near = f"l.__slice = r.__slice AND r.{AT} BETWEEN l.{AT} - {typed.right_size}L AND l.{AT} + {typed.left_size}L"
    pairs = select(
        [
            f"{later} AS {STIME}",
            f"greatest(l.{AT}, r.{AT}) AS {AT}",
            f"l.{SIGN} * r.{SIGN} AS {SIGN}",
            *(f"{sql(value)} AS {quoted(name)}" for name, value in typed.columns),
        ],
        f"{relation(box + '@left')} l JOIN {relation(box + '@right')} r ON {near} AND ({sql(typed.predicate)})",
        f"WHERE {later} >= {LO}",
    )
    output = compiler.stream(target)
    names = columns(output.schema.names)
    return [
        timed("left", f"explode({reach})"),
        timed("right", floor_div(AT, width)),
        Cte(f"{box}@pairs", pairs),
        Cte(target, select([STIME, *names], f"(\n{left_over(relation(f'{box}@pairs'), output)}\n)")),
    ]
