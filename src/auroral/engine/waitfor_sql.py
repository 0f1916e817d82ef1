"""Rows that wait for a row of another stream, in SQL: a join, of which each row has its first partner only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auroral.engine.join_sql import condition
from auroral.engine.sqltext import LO, STIME, Cte, columns, floor_div, order_column, quoted, relation, select
from auroral.model.boxes.waitfor import TypedWaitFor
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def waitfor(compiler: Compiler, checked: CheckedBox, typed: TypedWaitFor) -> list[Cte]:
    """Enablers of a row lie at most one timeout behind it, and so does its first one: the past of both inputs tells which that is."""
    box, target = checked.box.name, checked.box.outputs[0]
    buffered, enabler = checked.box.inputs
    schemas = {"buffered": compiler.stream(buffered).schema, "enabler": compiler.stream(enabler).schema}
    keys = {"b": [c.name for c in compiler.order(buffered)], "e": [c.name for c in compiler.order(enabler)]}
    wait = typed.timeout - 1

    def column(qualifier: str | None, name: str) -> str:
        side = qualifier or ("buffered" if schemas["buffered"].get(name) is not None else "enabler")
        return f"{side[0]}.{STIME if name == 'stime' and schemas[side].get(name) is None else quoted(name)}"

    # Rows that nothing tells apart wait each for itself.
    same = ", ".join([STIME, *keys["b"]])
    copies = f"row_number() OVER (PARTITION BY {same} ORDER BY {STIME}) AS __copy"
    reach = f"explode(sequence({floor_div(STIME, typed.timeout)}, {floor_div(f'{STIME} + {wait}L', typed.timeout)}))"
    waiting = f"(\n{select(['*', copies], compiler.with_past(buffered))}\n)"
    own = [f"b.{name}" for name in (STIME, *keys["b"], "__copy")]
    first = ", ".join(f"e.{name}" for name in (STIME, *keys["e"]))
    turn = f"row_number() OVER (PARTITION BY {', '.join(own)} ORDER BY {first}) AS __turn"
    order = []
    if target in compiler.ordered:
        names = [*(f"e.{name}" for name in keys["e"]), f"b.{STIME}", *(f"b.{name}" for name in keys["b"])]
        order = [f"{name} AS {order_column(i)}" for i, name in enumerate(names)]
    fields = [quoted(name) for name in schemas["buffered"].names]
    near = f"b.__slice = e.__slice AND e.{STIME} BETWEEN b.{STIME} AND b.{STIME} + {wait}L"
    matches = f"{near} AND ({condition(typed.predicate, column)})"
    pairs = select(
        [f"e.{STIME} AS {STIME}", *order, *(f"b.{name} AS {name}" for name in fields), turn],
        f"{relation(box + '@waiting')} b JOIN {relation(box + '@enablers')} e ON {matches}",
    )
    kept = [STIME, *(order_column(i) for i in range(len(order))), *columns(schemas["buffered"].names)]
    return [
        Cte(f"{box}@waiting", select(["*", f"{reach} AS __slice"], waiting)),
        Cte(
            f"{box}@enablers",
            select(["*", f"{floor_div(STIME, typed.timeout)} AS __slice"], compiler.with_past(enabler)),
        ),
        Cte(target, select(kept, f"(\n{pairs}\n)", f"WHERE __turn = 1 AND {STIME} >= {LO}")),
    ]
