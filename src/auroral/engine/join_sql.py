"""Joins of two streams within a window of stime, in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auroral.engine.expression import to_sql
from auroral.engine.sqltext import (
    HI,
    LO,
    STIME,
    Column,
    ColumnText,
    Cte,
    floor_div,
    order_column,
    quoted,
    relation,
    select,
)
from auroral.model.boxes.join import JoinKind, TypedJoin
from auroral.model.checking import CheckedBox
from auroral.model.expression import Typed, user_functions
from auroral.model.expression.typed import Infix

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def join(compiler: Compiler, checked: CheckedBox, typed: TypedJoin) -> list[Cte]:
    """Pairs whose later row is in the range; for outer joins, rows of one side whose wait ends in it unmatched.

    A time slice is a further equality key: rows that lie too far apart never meet.
    """
    box, target = checked.box.name, checked.box.outputs[0]
    left, right = checked.box.inputs
    width = max(typed.left_size, typed.right_size, 1)
    reach = f"sequence({floor_div(f'{STIME} - {typed.right_size}L', width)}, {floor_div(f'{STIME} + {typed.left_size}L', width)})"
    sliced = [
        Cte(f"{box}@left", select(["*", f"explode({reach}) AS __slice"], compiler.with_past(left))),
        Cte(f"{box}@right", select(["*", f"{floor_div(STIME, width)} AS __slice"], compiler.with_past(right))),
    ]
    near = f"l.__slice = r.__slice AND r.{STIME} BETWEEN l.{STIME} - {typed.right_size}L AND l.{STIME} + {typed.left_size}L"
    predicate = _sql(compiler, typed.predicate, left, right)
    matches = f"{near} AND ({predicate})"
    later = f"greatest(l.{STIME}, r.{STIME})"
    pairs = select(
        [
            f"{later} AS {STIME}",
            *_order(compiler, left, right, target, "both"),
            *_columns(compiler, typed, left, right),
        ],
        f"{relation(box + '@left')} l JOIN {relation(box + '@right')} r ON {matches}",
        f"WHERE {later} >= {LO}",
    )
    if typed.kind is JoinKind.INNER:
        return [*sliced, Cte(target, pairs)]
    unmatched = _unmatched(compiler, typed, box, left, right, target, matches)
    return [
        *sliced,
        Cte(target, f"SELECT {compiler.one_partition}* FROM (\n{pairs}\nUNION ALL\n{unmatched}\n)"),
    ]


def _unmatched(compiler: Compiler, typed: TypedJoin, box: str, left: str, right: str, target: str, matches: str) -> str:
    """Rows of the outer side that no row of the other matches, at the end of their wait."""
    if typed.kind is JoinKind.LEFT:
        own, other, alias, wait = left, f"{relation(box + '@right')} r", "l", typed.left_size
    else:
        own, other, alias, wait = right, f"{relation(box + '@left')} l", "r", typed.right_size
    # The sliced left side has a row several times; here each row is asked once, against every slice.
    without_slice = matches.replace("l.__slice = r.__slice AND ", "", 1)
    ends = f"{alias}.{STIME} + {wait}L"
    row = f"(SELECT * FROM {compiler.with_past(own)} {alias} WHERE {ends} >= {LO} AND {ends} < {HI}) {alias}"
    if typed.kind is JoinKind.RIGHT:
        row = row.replace(
            "SELECT *",
            f"SELECT *, {floor_div(STIME, max(typed.left_size, typed.right_size, 1))} AS __slice",
            1,
        )
        without_slice = matches
    else:
        other = f"{compiler.with_past(right)} r"
    side = typed.kind.value
    empty = _columns(compiler, typed, left, right, missing="r" if side == "left" else "l")
    return select(
        [f"{ends} AS {STIME}", *_order(compiler, left, right, target, side), *empty],
        f"{row} LEFT ANTI JOIN {other} ON {without_slice}",
    )


def _sql(compiler: Compiler, typed: Typed, left: str, right: str) -> str:
    schemas = {"left": compiler.stream(left).schema, "right": compiler.stream(right).schema}

    def column(qualifier: str | None, name: str) -> str:
        side = qualifier or ("left" if schemas["left"].get(name) is not None else "right")
        text = STIME if name == "stime" and schemas[side].get(name) is None else quoted(name)
        return f"{side[0]}.{text}"

    return condition(typed, column)


def condition(typed: Typed, column: ColumnText) -> str:
    """Part by part and side by side, so that Spark still finds the equalities where there are calls of user functions."""
    match typed:
        case Infix(op="and", left=left, right=right) if user_functions(typed):
            return f"({condition(left, column)}) AND ({condition(right, column)})"
        case Infix(op="=", left=left, right=right) if user_functions(typed):
            return f"({to_sql(left, column)}) = ({to_sql(right, column)})"
        case _:
            return to_sql(typed, column)


def _columns(compiler: Compiler, typed: TypedJoin, left: str, right: str, missing: str | None = None) -> list[str]:
    """The output fields; of an unmatched row, with the other side's fields NULL."""
    items = []
    schemas = {"left": compiler.stream(left).schema, "right": compiler.stream(right).schema}
    for name, expression in typed.columns:

        def column(qualifier: str | None, field: str) -> str:
            side = qualifier or ("left" if schemas["left"].get(field) is not None else "right")
            system = field == "stime" and schemas[side].get(field) is None
            if side[0] == missing:
                return f"CAST(NULL AS {'BIGINT' if system else schemas[side][field].spark})"
            return f"{side[0]}.{STIME if system else quoted(field)}"

        items.append(f"{to_sql(expression, column)} AS {quoted(name)}")
    return items


def _order(compiler: Compiler, left: str, right: str, target: str, present: str) -> list[str]:
    if target not in compiler.ordered:
        return []
    values = []
    for side, stream in (("left", left), ("right", right)):
        for key in (Column(STIME, "BIGINT"), *compiler.order(stream)):
            values.append(f"{side[0]}.{key.name}" if present in (side, "both") else f"CAST(NULL AS {key.type})")
    return [f"{value} AS {order_column(i)}" for i, value in enumerate(values)]
