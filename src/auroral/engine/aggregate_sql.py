"""Aggregates over windows of stime and of event time, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auroral.engine.relations import SliceEdge
from auroral.engine.slices import Slicing
from auroral.engine.sqltext import (
    STIME,
    Column,
    Cte,
    columns,
    falls_below,
    floor_div,
    order_column,
    quoted,
    select,
    string_literal,
    struct_type,
    unquoted,
)
from auroral.engine.states import BoxState, box_state
from auroral.model.boxes.aggregate import (
    TypedAggregateBox,
    TypedEventTimeAggregate,
    TypedStimeAggregate,
    WindowStart,
)
from auroral.model.checking import CheckedBox
from auroral.model.types import Kind
from auroral.model.windows import LatePolicy

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def stime_aggregate(compiler: Compiler, checked: CheckedBox, typed: TypedStimeAggregate) -> list[Cte]:
    """Rows to cells, cells to nodes, nodes to windows."""
    bucket = compiler.checked.diagram.bucket
    slicing = Slicing.of(typed.size, typed.advance, typed.phase, bucket)
    source, box = checked.box.inputs[0], checked.box.name
    state = _state(compiler, typed, source)
    keys = _group_columns(compiler, typed, source)
    names = [*(c.name for c in keys), *state.bins]
    stored = (Column(STIME, "BIGINT"), Column("__l", "INT"), Column("__i", "BIGINT"), *keys, *state.stored())
    if slicing.length == 1 and slicing.aligned(bucket):
        # Each cell is a window: nothing of the past is needed.
        rows = _rows(compiler, typed, source, state, f"{_cell(slicing, STIME)} AS __i")
        merged = Cte(
            f"{box}@windows",
            select(["__i", *names, *state.of_rows()], f"(\n{rows}\n)", _group_by(["__i", *names])),
        )
        return [merged, *_results(compiler, checked, typed, state, keys, f"{box}@windows", slicing)]
    compiler.keep(SliceEdge(f"{box}@slices", stored, typed.size, slicing, () if state.many_bins else state.all_bins))
    lo_cell, hi_cell = cell_slots(box)
    if compiler.single:
        return [
            _cells(compiler, typed, source, box, state, names, slicing, bucket, lo_cell),
            _assigned(compiler, box, state, names),
            _results_and_slices(compiler, checked, typed, state, keys, slicing),
        ]
    cells, recent = (
        quoted(box + "@cells"),
        f"{quoted(box + '@cells')} WHERE __i > {hi_cell} - {2 * slicing.length}",
    )
    return [
        _cells(compiler, typed, source, box, state, names, slicing, bucket, lo_cell),
        _nodes(f"{box}@new", cells, state, names, slicing, lo_cell, hi_cell),
        _with_stored(compiler, f"{box}@all", f"{box}@new", box, state, names, lo_cell),
        _windows(box, state, names, slicing, lo_cell, hi_cell),
        # What is stored for later windows is made from the newest cells alone, so that catching up does not make all twice.
        _nodes(f"{box}@recent", recent, state, names, slicing, lo_cell, hi_cell),
        _with_stored(compiler, f"{box}@recent all", f"{box}@recent", box, state, names, lo_cell),
        _stored(box, state, names, slicing, lo_cell, hi_cell),
        *_results(compiler, checked, typed, state, keys, f"{box}@windows", slicing),
    ]


def _cells(
    compiler: Compiler,
    typed: TypedStimeAggregate,
    source: str,
    box: str,
    state: BoxState,
    names: Sequence[str],
    slicing: Slicing,
    bucket: int,
    lo_cell: str,
) -> Cte:
    rows = _rows(compiler, typed, source, state, f"{_cell(slicing, STIME)} AS __i")
    cells = select(["__i", *names, *state.of_rows()], f"(\n{rows}\n)", _group_by(["__i", *names]))
    if slicing.aligned(bucket) or compiler.single:
        return Cte(f"{box}@cells", cells)
    # A cell may have begun in the bucket before: what is stored of it counts with the new rows.
    items = ", ".join(["__i", *names, *(c.name for c in state.columns)])
    begun = select([items], quoted(box + "@slices@kept"), f"WHERE __l = 0 AND __i = {lo_cell}")
    return Cte(
        f"{box}@cells",
        select(["__i", *names, *state.merge()], f"(\n{cells}\nUNION ALL\n{begun}\n)", _group_by(["__i", *names])),
    )


def cell_slots(box: str) -> tuple[str, str]:
    """Stand in a program for the first cell of the range, and for the first one after it."""
    return f":first({box})", f":end({box})"


def targets_slot(box: str) -> str:
    """Stands in a small program for the targets of each cell, which are written into the text for each range."""
    return f":targets({box})"


def _assigned(compiler: Compiler, box: str, state: BoxState, names: Sequence[str]) -> Cte:
    """The small form: which node counts in which window or larger node is decided outside and written into the statement.

    Stored nodes come with their targets in place of their own level and index; level -1 is a window.
    """
    values = [c.name for c in state.columns]
    items = ", ".join(["__l", "__i", *names, *values])
    exploded = select([f"explode({targets_slot(box)}) AS __t", *names, *values], quoted(box + "@cells"))
    new = select(["__t.l AS __l", "__t.i AS __i", *names, *values], f"(\n{exploded}\n)")
    stored = f"SELECT {items} FROM {quoted(box + '@slices@kept')}"
    together = f"SELECT {compiler.one_partition}{items} FROM (\n{new}\nUNION ALL\n{stored}\n)"
    merged = select(["__l", "__i", *names, *state.merge()], f"(\n{together}\n)", _group_by(["__l", "__i", *names]))
    return Cte(f"{box}@merged", merged)


def _results_and_slices(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedStimeAggregate,
    state: BoxState,
    keys: Sequence[Column],
    slicing: Slicing,
) -> Cte:
    """Windows with their results, and nodes to store, in one relation (see `compile.Both`)."""
    box = checked.box.name
    merged, edge = quoted(box + "@merged"), compiler.kept[f"{box}@slices"]
    end = f"least({_END} * {slicing.unit}L + {slicing.phase}L, :hi) - 1"
    kept = _row([f"{end if c.name == STIME else c.name} AS {c.name}" for c in edge.columns])
    row = _row(_items(compiler, checked, typed, state, keys, slicing))
    where = _kept_where(typed, keys, slicing)
    if state.bins:
        # Nodes keep a row for each combination of bins, results need them folded.
        group = ["__l", "__i", *(c.name for c in keys)]
        folded = select([*group, *state.fold()], merged, "WHERE __l = -1", _group_by(group))
        no_node, no_row = (_null_struct(c) for c in (edge.columns, compiler.columns(checked.box.outputs[0])))
        windows = select(["__l", f"{row} AS __row", f"{no_node} AS __kept"], f"(\n{folded}\n)", where)
        nodes = select(["__l", f"{no_row} AS __row", f"{kept} AS __kept"], merged, "WHERE __l >= 0")
        return Cte(f"{box}@both", f"{windows}\nUNION ALL\n{nodes}")
    items = ["__l", f"IF(__l = -1, {row}, NULL) AS __row", f"IF(__l >= 0, {kept}, NULL) AS __kept"]
    return Cte(f"{box}@both", select(items, _finished(state, merged), where.replace("WHERE ", "WHERE __l >= 0 OR ")))


def _row(items: Sequence[str]) -> str:
    """`value AS name` items as one struct."""
    pairs = (item.rsplit(" AS ", 1) for item in items)
    return f"named_struct({', '.join(f'{string_literal(unquoted(name))}, {value}' for value, name in pairs)})"


def _null_struct(columns: Sequence[Column]) -> str:
    return f"CAST(NULL AS {struct_type(columns)})"


def _finished(state: BoxState, relation: str) -> str:
    """The relation with the columns that final results are computed from."""
    for stage in state.finishing():
        relation = f"(SELECT *, {', '.join(f'{p.sql} AS {p.name}' for p in stage)} FROM {relation})"
    return relation


def _nodes(
    name: str, cells: str, state: BoxState, names: Sequence[str], slicing: Slicing, lo_cell: str, hi_cell: str
) -> Cte:
    """All nodes inside the range: each whole cell counts in itself and in its ancestors there."""
    inside = f"(shiftright(__i, l) << l) >= {lo_cell} AND ((shiftright(__i, l) + 1) << l) <= {hi_cell}"
    levels = f"filter(sequence(0, {slicing.levels}), l -> {inside})"
    exploded = select([f"explode({levels}) AS __l", "__i AS __c", *names, *(c.name for c in state.columns)], cells)
    grouped = ["__l", "shiftright(__c, __l)", *names]
    return Cte(
        name,
        select(
            ["__l", "shiftright(__c, __l) AS __i", *names, *state.merge()],
            f"(\n{exploded}\n)",
            _group_by(grouped),
        ),
    )


def _with_stored(
    compiler: Compiler, name: str, new: str, box: str, state: BoxState, names: Sequence[str], lo_cell: str
) -> Cte:
    items = ", ".join(["__l", "__i", *names, *(c.name for c in state.columns)])
    return Cte(
        name,
        f"SELECT {compiler.one_partition}{items} FROM (\nSELECT {items} FROM {quoted(new)}\n"
        f"UNION ALL SELECT {items} FROM {quoted(box + '@slices@kept')} WHERE (__i + 1) << __l <= {lo_cell})",
    )


_START, _END = "(__i << __l)", "((__i + 1) << __l)"
_PARENT_START, _PARENT_END = "(shiftright(__i, 1) << (__l + 1))", "((shiftright(__i, 1) + 1) << (__l + 1))"


def _windows(box: str, state: BoxState, names: Sequence[str], slicing: Slicing, lo_cell: str, hi_cell: str) -> Cte:
    """Each node goes into the windows of which it is a largest part: those that hold it, but not its parent."""
    n, d = slicing.length, slicing.step
    # A parent that straddles the range's start, or is too large for a window, is never used in a node's place.
    alone = f"(__l = {slicing.levels} OR {_straddles(lo_cell)})"
    first = f"greatest({_END} - {n}, {lo_cell} - {n} + 1, IF({alone} OR {_START} = {_PARENT_START}, {_END} - {n}, {_PARENT_START} + 1))"
    last = f"least({_START}, {hi_cell} - {n}, IF({alone} OR {_END} = {_PARENT_END}, {_START}, {_PARENT_END} - {n} - 1))"
    values = [c.name for c in state.columns]
    bounded = select([*names, *values, f"{first} AS __first", f"{last} AS __last"], quoted(box + "@all"))
    whole_first, whole_last = f"-({floor_div('-__first', d)}) * {d}L", f"{floor_div('__last', d)} * {d}L"
    starts = f"IF({whole_first} <= {whole_last}, sequence({whole_first}, {whole_last}, {d}L), array())"
    exploded = select([f"explode({starts}) AS __i", *names, *values], f"(\n{bounded}\n)")
    return Cte(
        f"{box}@windows",
        select(["__i", *names, *state.merge()], f"(\n{exploded}\n)", _group_by(["__i", *names])),
    )


def _straddles(lo_cell: str) -> str:
    return f"({_PARENT_START} < {lo_cell} AND {lo_cell} < {_PARENT_END})"


def _stored(box: str, state: BoxState, names: Sequence[str], slicing: Slicing, lo_cell: str, hi_cell: str) -> Cte:
    """What later windows may read: new nodes, those that straddle the range's start and end in it, and begun cells."""
    values = [c.name for c in state.columns]
    items = ["__l", "__i", *names, *values]
    end = f"{_END} * {slicing.unit}L + {slicing.phase}L - 1 AS {STIME}"
    needed = f"{_END} > {hi_cell} - {slicing.length} + 1"
    new = select([end, *items], quoted(box + "@recent"), f"WHERE {needed}")
    above = f"filter(sequence(__l + 1, {slicing.levels + 1}), l -> l <= {slicing.levels} AND ((shiftright(__i, l - __l) + 1) << l) <= {hi_cell})"
    exploded = select(
        [f"explode({above}) AS __up", "__l AS __from", "__i AS __part", *names, *values],
        quoted(box + "@recent all"),
        f"WHERE {_straddles(lo_cell)}",
    )
    ancestor = "shiftright(__part, __up - __from)"
    merged = select(
        ["__up AS __l", f"{ancestor} AS __i", *names, *state.merge()],
        f"(\n{exploded}\n)",
        _group_by(["__up", ancestor, *names]),
    )
    straddling = select([end, *items], f"(\n{merged}\n)", f"WHERE {needed}")
    begun = select(
        [f":hi - 1 AS {STIME}", "0 AS __l", "__i", *names, *values],
        quoted(box + "@cells"),
        f"WHERE __i >= {hi_cell}",
    )
    return Cte(f"{box}@slices", "\nUNION ALL\n".join([new, straddling, begun]))


def stime_aggregate_of_rows(compiler: Compiler, checked: CheckedBox, typed: TypedStimeAggregate) -> list[Cte]:
    """The oracle's form: each row goes into each of its windows."""
    source, box = checked.box.inputs[0], checked.box.name
    state = _state(compiler, typed, source)
    keys = _group_columns(compiler, typed, source)
    names = [*(c.name for c in keys), *state.bins]
    moved = f"{STIME} - {typed.phase}L" if typed.phase else STIME
    numbers = f"sequence({floor_div(f'{moved} - {typed.size}L', typed.advance)} + 1, {floor_div(moved, typed.advance)})"
    rows = _rows(compiler, typed, source, state, f"explode({numbers}) AS __m")
    slicing = Slicing(typed.advance, typed.phase, 1, 1)
    end = f"__m * {typed.advance}L + {typed.phase + typed.size}L"
    windows = select(
        ["__m AS __i", *names, *state.of_rows()],
        f"(\n{rows}\n)",
        f"WHERE {end} > :lo AND {end} <= :hi",
        _group_by(["__m", *names]),
    )
    merged = Cte(f"{box}@windows", windows)
    return [merged, *_results(compiler, checked, typed, state, keys, f"{box}@windows", slicing)]


def event_time_aggregate(compiler: Compiler, checked: CheckedBox, typed: TypedEventTimeAggregate) -> list[Cte]:
    """Windows on a field of its own, closed `lateness` after their end, with rows of the whole horizon read again."""
    window, source, box = typed.window, checked.box.inputs[0], checked.box.name
    state = _state(compiler, typed, source)
    keys = _group_columns(compiler, typed, source)
    event = f"unix_micros({quoted(window.field)})"
    numbers = (
        f"sequence({floor_div(f'{event} - {window.size}L', window.advance)} + 1, {floor_div(event, window.advance)})"
    )
    close = f"__m * {window.advance}L + {window.size + window.lateness}L"
    past = compiler.with_past(source)
    on_time = f"{event} <= {STIME} + {window.ahead}L"
    rows = _rows(
        compiler,
        typed,
        source,
        state,
        f"explode({numbers}) AS __m",
        relation=past,
        where=on_time,
        also=[STIME],
    )
    assigned = Cte(f"{box}@assigned", rows)
    names = [*(c.name for c in keys), *state.bins]
    regular = select(
        ["__m", f"{close} - 1 AS __at", *names, *state.of_rows()],
        quoted(box + "@assigned"),
        f"WHERE {STIME} < {close} AND {close} > :lo AND {close} <= :hi",
        _group_by(["__m", *names]),
    )
    parts = [regular]
    ctes = [assigned]
    if window.late is LatePolicy.CORRECT:
        group = [c.name for c in keys]
        late = select(
            ["DISTINCT __m", f"{STIME} AS __at", *group],
            quoted(box + "@assigned"),
            f"WHERE {STIME} >= {close} AND {STIME} < {close} + {window.correct_for}L AND {STIME} >= :lo",
        )
        same = " AND ".join(["r.__m = c.__m", *(f"r.{g} <=> c.{g}" for g in group)])
        kept = ", ".join(f"r.{name}" for name in _row_names(state, typed, compiler, source))
        joined = f"(SELECT c.__at, r.__m, {', '.join(f'r.{n}' for n in names)}{', ' + kept if kept else ''} FROM {quoted(box + '@assigned')} r JOIN (\n{late}\n) c ON {same} AND r.{STIME} <= c.__at)"
        parts.append(select(["__m", "__at", *names, *state.of_rows()], joined, _group_by(["__m", "__at", *names])))
    ctes.append(Cte(f"{box}@windows", "\nUNION ALL\n".join(parts)))
    ctes += _event_results(compiler, checked, typed, state, keys)
    patience = window.lateness + window.correct_for
    last_close = f"{floor_div(event, window.advance)} * {window.advance}L + {window.size + patience}L"
    too_late = f"({quoted(window.field)} IS NULL OR ({on_time} AND {STIME} >= {last_close}))"
    ahead = f"{event} > {STIME} + {window.ahead}L"
    compiler.count(checked, "late", f"SELECT count(*) FROM {quoted(source)} WHERE {too_late}")
    compiler.count(checked, "ahead", f"SELECT count(*) FROM {quoted(source)} WHERE {ahead}")
    if window.late is LatePolicy.SIDE:
        side = checked.box.outputs[1]
        items = [*compiler.head(source, side), *columns(compiler.stream(source).schema.names)]
        ctes.append(Cte(side, select(items, quoted(source), f"WHERE {too_late} OR {ahead}")))
    return ctes


def _row_names(state: BoxState, typed: TypedAggregateBox, compiler: Compiler, source: str) -> list[str]:
    prepared = [p.name for stage in state.stages() for p in stage if p.name not in state.bins]
    return [*prepared, *(c.name for c in _order(compiler, typed, source) if c.name != STIME), STIME]


def _state(compiler: Compiler, typed: TypedAggregateBox, source: str) -> BoxState:
    schema = compiler.stream(source).schema

    def column(_: str | None, name: str) -> str:
        return STIME if name == "stime" and schema.get(name) is None else quoted(name)

    return box_state(typed.functions, _order(compiler, typed, source), column, compiler.many_bins)


def _order(compiler: Compiler, typed: TypedAggregateBox, source: str) -> list[Column]:
    """The processing order, where some function depends on it."""
    if not typed.order_sensitive:
        return []
    return [Column(STIME, "BIGINT"), *compiler.order(source)]


def _group_columns(compiler: Compiler, typed: TypedAggregateBox, source: str) -> list[Column]:
    schema = compiler.stream(source).schema
    return [Column(f"g{i}", schema[name].spark) for i, name in enumerate(typed.group_by)]


def _rows(
    compiler: Compiler,
    typed: TypedAggregateBox,
    source: str,
    state: BoxState,
    number: str,
    relation: str | None = None,
    where: str = "",
    also: Sequence[str] = (),
) -> str:
    """Rows with their cell or window number, group columns g0.., and what the functions prepare from a row."""
    groups = [f"{quoted(name)} AS g{i}" for i, name in enumerate(typed.group_by)]
    order = dict.fromkeys([*also, *(c.name for c in _order(compiler, typed, source))])
    stages = state.stages()
    first = [f"{p.sql} AS {p.name}" for p in stages[0]] if stages else []
    text = select([number, *groups, *order, *first], relation or quoted(source), f"WHERE {where}" if where else "")
    for stage in stages[1:]:
        text = select(["*", *(f"{p.sql} AS {p.name}" for p in stage)], f"(\n{text}\n)")
    return text


def _results(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedStimeAggregate,
    state: BoxState,
    keys: Sequence[Column],
    windows: str,
    slicing: Slicing,
) -> list[Cte]:
    items = _items(compiler, checked, typed, state, keys, slicing)
    return _finish(checked, state, keys, windows, ["__i"], items, _kept_where(typed, keys, slicing))


def _items(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedStimeAggregate,
    state: BoxState,
    keys: Sequence[Column],
    slicing: Slicing,
) -> list[str]:
    begin = f"__i * {slicing.unit}L + {slicing.phase}L"
    return _result_items(compiler, checked, typed, state, keys, begin, f"{begin} + {typed.size - 1}L")


def _kept_where(typed: TypedStimeAggregate, keys: Sequence[Column], slicing: Slicing) -> str:
    """Windows that a window_drop before the aggregate dropped do not appear half filled."""
    number = f"__i DIV {slicing.step}"
    kept = [f"NOT {falls_below(_sample_hash(s.box, keys, number, s.batch), s.rate)}" for s in typed.kept_windows]
    return f"WHERE ({' AND '.join(kept)})" if kept else ""


def _sample_hash(box: str, keys: Sequence[Column], number: str, batch: int) -> str:
    return f"xxhash64({', '.join([string_literal(box), *(c.name for c in keys), floor_div(number, batch)])})"


def _event_results(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedEventTimeAggregate,
    state: BoxState,
    keys: Sequence[Column],
) -> list[Cte]:
    begin = f"__m * {typed.window.advance}L"
    items = _result_items(compiler, checked, typed, state, keys, begin, "__at")
    return _finish(checked, state, keys, f"{checked.box.name}@windows", ["__m", "__at"], items, "")


def _result_items(
    compiler: Compiler,
    checked: CheckedBox,
    typed: TypedAggregateBox,
    state: BoxState,
    keys: Sequence[Column],
    begin: str,
    stime: str,
) -> list[str]:
    """The columns of a result: stime, order key where it is needed, group, start of the window, functions."""
    groups = [c.name for c in keys]
    order = []
    if checked.box.outputs[0] in compiler.ordered:
        keyed = [f"timestamp_micros({begin})"] if isinstance(typed, TypedEventTimeAggregate) else []
        order = [f"{value} AS {order_column(i)}" for i, value in enumerate([*keyed, *groups])]
    fields = [f"{g} AS {quoted(name)}" for g, name in zip(groups, typed.group_by, strict=True)]
    start = [f"{_start_value(typed.start, begin)} AS {quoted(typed.start.field.name)}"] if typed.start else []
    return [f"{stime} AS {STIME}", *order, *fields, *start, *state.finals([f.name for f in typed.functions])]


def _finish(
    checked: CheckedBox,
    state: BoxState,
    keys: Sequence[Column],
    windows: str,
    identity: Sequence[str],
    items: Sequence[str],
    where: str,
) -> list[Cte]:
    """One row for each window and group, with the functions' results."""
    groups = [c.name for c in keys]
    ctes = []
    if state.bins:
        folded = f"{checked.box.name}@folded"
        grouped = _group_by([*identity, *groups])
        ctes.append(Cte(folded, select([*identity, *groups, *state.fold()], quoted(windows), grouped)))
        windows = folded
    return [*ctes, Cte(checked.box.outputs[0], select(items, _finished(state, quoted(windows)), where))]


def _start_value(start: WindowStart, begin: str) -> str:
    """The window's start as a value of the field that names it."""
    moved = f"{begin} - {start.offset}L" if start.offset else begin
    if start.field.type.kind is Kind.TIMESTAMP:
        return f"timestamp_micros({moved})"
    return f"CAST({floor_div(moved, start.unit)} AS {start.field.type.spark})"


def _cell(slicing: Slicing, stime: str) -> str:
    return floor_div(f"{stime} - {slicing.phase}L" if slicing.phase else stime, slicing.unit)


def _group_by(names: Sequence[str]) -> str:
    return "GROUP BY " + ", ".join(names)
