"""Windows on a field of its own, closed `lateness` after their end, with rows of the whole horizon read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auroral.engine.aggregate_sql import Aggregation
from auroral.engine.sqltext import HI, LO, STIME, Cte, columns, floor_div, group_by, quoted, relation, select
from auroral.model.boxes.aggregate import TypedEventTimeAggregate
from auroral.model.checking import CheckedBox
from auroral.model.windows import LatePolicy

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def event_time_aggregate(compiler: Compiler, checked: CheckedBox, typed: TypedEventTimeAggregate) -> list[Cte]:
    window, box = typed.window, Aggregation.of(compiler, checked, typed)
    event = f"unix_micros({quoted(window.field)})"
    numbers = (
        f"sequence({floor_div(f'{event} - {window.size}L', window.advance)} + 1, {floor_div(event, window.advance)})"
    )
    close = f"__m * {window.advance}L + {window.size + window.lateness}L"
    on_time = f"{event} <= {STIME} + {window.ahead}L"
    assigned = box.rows(
        f"explode({numbers}) AS __m", source=compiler.with_past(box.source), where=on_time, also=[STIME]
    )
    regular = select(
        ["__m", f"{close} - 1 AS __at", *box.identity, *box.state.of_rows()],
        box.step("assigned"),
        f"WHERE {STIME} < {close} AND {close} > {LO} AND {close} <= {HI}",
        group_by(["__m", *box.identity]),
    )
    corrected = [_corrections(box, typed, close)] if window.late is LatePolicy.CORRECT else []
    ctes = [
        box.cte("assigned", assigned),
        box.cte("windows", "\nUNION ALL\n".join([regular, *corrected])),
        box.results(box.step("windows"), ["__m", "__at"], box.result_items(f"__m * {window.advance}L", "__at")),
    ]
    return [*ctes, *late_rows(compiler, checked, typed)]


def late_rows(compiler: Compiler, checked: CheckedBox, typed: TypedEventTimeAggregate) -> list[Cte]:
    """Rows that are late for every window of theirs, or too far ahead: counted and, where the box says so, given out."""
    window, source = typed.window, checked.box.inputs[0]
    event = f"unix_micros({quoted(window.field)})"
    patience = window.lateness + window.correct_for
    last_close = f"{floor_div(event, window.advance)} * {window.advance}L + {window.size + patience}L"
    ahead = f"{event} > {STIME} + {window.ahead}L"
    on_time = f"{event} <= {STIME} + {window.ahead}L"
    too_late = f"({quoted(window.field)} IS NULL OR ({on_time} AND {STIME} >= {last_close}))"
    compiler.count(checked, "late", source, too_late)
    compiler.count(checked, "ahead", source, ahead)
    if window.late is not LatePolicy.SIDE:
        return []
    side = checked.box.outputs[1]
    items = [*compiler.head(source, side), *columns(compiler.stream(source).schema.names)]
    return [Cte(side, select(items, relation(source), f"WHERE {too_late} OR {ahead}"))]


def _corrections(box: Aggregation, typed: TypedEventTimeAggregate, close: str) -> str:
    """Closed windows once more, for each late row that is still in time to correct them."""
    late = select(
        ["DISTINCT __m", f"{STIME} AS __at", *box.groups],
        box.step("assigned"),
        f"WHERE {STIME} >= {close} AND {STIME} < {close} + {typed.window.correct_for}L AND {STIME} >= {LO}",
    )
    same = " AND ".join(["r.__m = c.__m", *(f"r.{g} <=> c.{g}" for g in box.groups)])
    prepared = [p.name for stage in box.state.stages() for p in stage if p.name not in box.state.bins]
    carried = [*box.identity, *prepared, *(c.name for c in box.order if c.name != STIME), STIME]
    items = ["c.__at", "r.__m", *(f"r.{name}" for name in carried)]
    joined = select(items, f"{box.step('assigned')} r", f"JOIN (\n{late}\n) c", f"ON {same} AND r.{STIME} <= c.__at")
    group = ["__m", "__at", *box.identity]
    return select(["__m", "__at", *box.identity, *box.state.of_rows()], f"(\n{joined}\n)", group_by(group))
