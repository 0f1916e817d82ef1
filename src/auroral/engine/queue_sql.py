"""Update queues in SQL: the newest row of each key of a bucket, in the place that the kind of queue gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auroral.engine.sqltext import HI, STIME, Cte, columns, floor_div, order_column, relation, select
from auroral.model.boxes.queue import SUPERSEDED, Cuts, TypedQueue
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def queued(compiler: Compiler, checked: CheckedBox, typed: TypedQueue) -> list[Cte]:
    (source,), (target,), box = checked.box.inputs, checked.box.outputs, checked.box.name
    schema = compiler.stream(source).schema
    order = ", ".join([STIME, *(c.name for c in compiler.order(source))])
    keys = columns(typed.key)
    number = floor_div(STIME, typed.bucket)
    rows = select(["*", f"{number} AS __b"], relation(source), f"WHERE ({number} + 1) * {typed.bucket}L <= {HI}")
    placed = select(
        [
            "*",
            f"row_number() OVER (PARTITION BY __b ORDER BY {order}) - 1 AS __place",
            "count(*) OVER (PARTITION BY __b) AS __rows",
        ],
        f"(\n{rows}\n)",
    )
    mine, all_rows = f"PARTITION BY {', '.join(['__b', *keys])}", "PARTITION BY __b"
    by_key = select(
        [
            "*",
            f"row_number() OVER ({mine} ORDER BY __place DESC) AS __newest",
            f"min({STIME}) OVER ({mine}) AS __first_stime",
            f"min(__place) OVER ({mine}) AS __first",
            f"count(*) OVER ({mine}) AS __updates",
            f"max(IF(__place = {'__rows DIV 2' if typed.kind.middle else '0'}, {STIME}, NULL)) OVER ({all_rows}) AS __ahead",
        ],
        f"(\n{placed}\n)",
    )
    compiler.count(checked, SUPERSEDED, f"{box}@queue", "__newest > 1")
    stime, place, kept = "__first_stime", "__first", relation(f"{box}@queue")
    if typed.kind.cuts is Cuts.ORDERED:
        kept = _in_order_of_keys(kept, typed)
        stime, place = "__slot_stime", "__slot"
    elif typed.kind.cuts is not Cuts.NONE:
        cuts = "__updates > 1" if typed.kind.cuts is Cuts.UPDATED else "__updates = 1"
        stime = f"IF({cuts}, least(__first_stime, __ahead), __first_stime)"
    keyed = [f"CAST({place} AS BIGINT) AS {order_column(0)}"] if target in compiler.ordered else []
    where = "" if typed.kind.cuts is Cuts.ORDERED else "WHERE __newest = 1"
    return [
        Cte(f"{box}@queue", by_key),
        Cte(target, select([f"{stime} AS {STIME}", *keyed, *columns(schema.names)], kept, where)),
    ]


def _in_order_of_keys(queue: str, typed: TypedQueue) -> str:
    """The newest rows, numbered by key, beside the places that they take, numbered as they follow one another."""
    key = ", ".join(columns(typed.key))
    turns = select(["*", f"row_number() OVER (PARTITION BY __b ORDER BY {key}) AS __turn"], queue, "WHERE __newest = 1")
    slots = select(
        [
            "__b AS __slot_b",
            "__first AS __slot",
            "__first_stime AS __slot_stime",
            "row_number() OVER (PARTITION BY __b ORDER BY __first) AS __slot_turn",
        ],
        queue,
        "WHERE __newest = 1",
    )
    return f"(SELECT * FROM (\n{turns}\n) JOIN (\n{slots}\n) ON __b = __slot_b AND __turn = __slot_turn)"
