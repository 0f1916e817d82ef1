"""Aggregates over windows of stime: rows to cells, cells to nodes, nodes to windows (see `slices`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auroral.engine.aggregate_sql import Aggregation
from auroral.engine.drop_sql import windows_left_whole
from auroral.engine.relations import SliceEdge
from auroral.engine.slices import Slicing
from auroral.engine.sqltext import (
    HI,
    LO,
    STIME,
    Column,
    Cte,
    floor_div,
    group_by,
    select,
    slot,
)
from auroral.model.boxes.aggregate import TypedStimeAggregate
from auroral.model.checking import CheckedBox

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler


def stime_aggregate(compiler: Compiler, checked: CheckedBox, typed: TypedStimeAggregate) -> list[Cte]:
    bucket = compiler.checked.diagram.bucket
    slicing = Slicing.of(typed.size, typed.advance, typed.phase, bucket)
    cells_are_windows = slicing.length == 1 and slicing.aligned(bucket)
    # Windows that a window_drop leaves out have no state to go on from.
    counted = slicing.overlapping and slicing.aligned(bucket) and not typed.kept_windows
    box = Aggregation.of(compiler, checked, typed, compiler.single and not cells_are_windows, counted)
    if cells_are_windows:
        # Nothing of the past is needed.
        rows = box.rows(f"{_cell(slicing)} AS __i")
        windows = select(["__i", *box.identity, *box.state.of_rows()], f"(\n{rows}\n)", _by("__i", box))
        return [box.cte("windows", windows), _results(box, typed, slicing)]
    stored = (
        Column(STIME, "BIGINT"),
        Column("__l", "INT"),
        Column("__i", "BIGINT"),
        *box.keys,
        *box.state.stored(),
    )
    zero_bins = () if box.state.many_bins else box.state.all_bins
    sums, flags = box.state.subtracted(), box.state.flags()
    # What a window leaves behind is subtracted from the next one.
    past = typed.size + typed.advance if sums else typed.size
    compiler.keep(SliceEdge(f"{box.box}@slices", stored, past, slicing=slicing, bins=zero_bins, sums=sums, flags=flags))
    if compiler.single:
        return [box.cte("merged", _merged(box, slicing)), box.cte("both", _results_and_slices(box, typed, slicing))]
    return _large_form(box, typed, slicing)


def stime_aggregate_of_rows(compiler: Compiler, checked: CheckedBox, typed: TypedStimeAggregate) -> list[Cte]:
    """The oracle's form: each row goes into each of its windows."""
    box = Aggregation.of(compiler, checked, typed)
    moved = f"{STIME} - {typed.phase}L" if typed.phase else STIME
    numbers = f"sequence({floor_div(f'{moved} - {typed.size}L', typed.advance)} + 1, {floor_div(moved, typed.advance)})"
    rows = box.rows(f"explode({numbers}) AS __i")
    end = f"__i * {typed.advance}L + {typed.phase + typed.size}L"
    windows = select(
        ["__i", *box.identity, *box.state.of_rows()],
        f"(\n{rows}\n)",
        f"WHERE {end} > {LO} AND {end} <= {HI}",
        _by("__i", box),
    )
    return [box.cte("windows", windows), _results(box, typed, Slicing(typed.advance, typed.phase, 1, 1))]


def cell_slots(box: str) -> tuple[str, str]:
    """Stand in a program for the first cell of the range, and for the first one after it."""
    return slot(f"first({box})"), slot(f"end({box})")


def targets_slot(box: str) -> str:
    """Stands in a small program for the targets of cell `__c`, which are written into the text for each range."""
    return slot(f"targets({box})")


def _merged(box: Aggregation, slicing: Slicing) -> str:
    """The small form: which node counts in which window or larger node is decided outside and written into the statement.

    Each row is a state, under each target of its cell. Stored nodes come with their targets in place of their own level and
    index; level -1 is a window.

    In the middling form, rows are gathered into cells first, and the statement computes what each cell counts in.
    """
    names = [*box.identity, *box.values]
    items = ["__l", "__i", *names]
    states, targets = box.row_states(_cell(slicing)), targets_slot(box.box)
    if box.compiler.gathered:
        states = select(["__c", *box.identity, *box.state.merge()], f"(\n{states}\n)", _by("__c", box))
        targets = _targets(box, slicing)
    rows = select([f"inline({targets}) AS (__l, __i)", *names], f"(\n{states}\n)")
    together = (
        f"SELECT {box.compiler.one_partition}* FROM (\n{rows}\nUNION ALL\n{select(items, box.step('slices@kept'))}\n)"
    )
    return select(["__l", "__i", *box.identity, *box.state.merge()], f"(\n{together}\n)", _by("__l, __i", box))


def _targets(box: Aggregation, slicing: Slicing) -> str:
    """What cell `__c` counts in, as `Slicing.targets_of` has it; a cell that is only begun is stored as it is."""
    _, hi_cell = cell_slots(box.box)
    n, d = slicing.length, slicing.step
    levels = f"filter(sequence(0, {slicing.levels}), l -> ((shiftright(__c, l) + 1) << l) <= {hi_cell})"
    nodes = f"transform({levels}, l -> named_struct('l', l, 'i', shiftright(__c, l)))"
    first = f"-({floor_div(f'-(__c - {n - 1})', d)}) * {d}L"
    last = f"{floor_div(f'least(__c, {hi_cell} - {n})', d)} * {d}L"
    starts = f"IF({first} <= {last}, sequence({first}, {last}, {d}L), array())"
    windows = f"transform({starts}, s -> named_struct('l', -1, 'i', s))"
    return f"IF(__c >= {hi_cell}, array(named_struct('l', 0, 'i', __c)), concat({nodes}, {windows}))"


def _results_and_slices(box: Aggregation, typed: TypedStimeAggregate, slicing: Slicing) -> str:
    """Windows with their results, and nodes to store, in one relation (see `compile.Both`)."""
    merged, edge = box.step("merged"), box.compiler.kept[f"{box.box}@slices"]
    end = f"least({_END} * {slicing.unit}L + {slicing.phase}L, {HI}) - 1 AS {STIME}"
    node = [end if c.name == STIME else c.name for c in edge.columns]
    result = [f"{value} AS __r{i}" for i, (value, _) in enumerate(_result_items(box, typed, slicing))]
    sample = _sampled(box, typed, slicing)
    if not box.state.bins:
        # What a node's result would be is computed as well and thrown away: cheaper than a second branch of the plan.
        return select([*node, *result], merged, f"WHERE __l >= 0 OR {sample}" if sample else "")
    # Nodes keep a row for each combination of bins, results need them folded.
    output = box.compiler.columns(box.output)
    no_result = [f"CAST(NULL AS {c.type}) AS __r{i}" for i, c in enumerate(output)]
    no_node = ["__l" if c.name == "__l" else f"CAST(NULL AS {c.type}) AS {c.name}" for c in edge.columns]
    folded = box.folded(merged, ["__l", "__i"], "WHERE __l = -1")
    windows = select([*no_node, *result], folded, f"WHERE {sample}" if sample else "")
    nodes = select([*node, *no_result], merged, "WHERE __l >= 0")
    return f"{windows}\nUNION ALL\n{nodes}"


def _large_form(box: Aggregation, typed: TypedStimeAggregate, slicing: Slicing) -> list[Cte]:
    lo_cell, hi_cell = cell_slots(box.box)
    # What is stored for later windows is made from the newest rows alone, so that catching up does not make all twice.
    newest = f"{STIME} >= ({hi_cell} - {2 * slicing.length - 1}) * {slicing.unit}L + {slicing.phase}L"
    return [
        box.cte("cells", _cells(box, slicing, lo_cell)),
        box.cte("new", _new_nodes(box, slicing, lo_cell, hi_cell)),
        box.cte("all", _with_stored(box, box.step("new"), lo_cell)),
        box.cte("windows", _windows(box, slicing, lo_cell, hi_cell)),
        box.cte("recent cells", _cells(box, slicing, lo_cell, newest)),
        box.cte("recent", _nodes(box, box.step("recent cells"), slicing, lo_cell, hi_cell)),
        box.cte("recent all", _with_stored(box, box.step("recent"), lo_cell)),
        box.cte("slices", _stored(box, slicing, lo_cell, hi_cell)),
        _results(box, typed, slicing),
    ]


def _cells(box: Aggregation, slicing: Slicing, lo_cell: str, where: str = "") -> str:
    rows = box.rows(f"{_cell(slicing)} AS __i", where=where)
    cells = select(["__i", *box.identity, *box.state.of_rows()], f"(\n{rows}\n)", _by("__i", box))
    if _no_cell_is_begun(box, slicing):
        return cells
    # A cell may have begun in the bucket before: what is stored of it counts with the new rows.
    items = ["__i", *box.identity, *box.values]
    begun = select(items, box.step("slices@kept"), f"WHERE __l = 0 AND __i = {lo_cell}")
    both = f"(\n{select(items, f'({cells})')}\nUNION ALL\n{begun}\n)"
    return select(["__i", *box.identity, *box.state.merge()], both, _by("__i", box))


FEW_WINDOWS = 12
"""Windows that a cell counts in, up to which large jobs put cells into windows as they are, without larger nodes. Chosen: see docs."""


def _new_nodes(box: Aggregation, slicing: Slicing, lo_cell: str, hi_cell: str) -> str:
    """What the range's windows are put together from, besides what is stored."""
    if slicing.length // slicing.step > FEW_WINDOWS:
        return _nodes(box, box.step("cells"), slicing, lo_cell, hi_cell)
    return select(["0 AS __l", "__i", *box.identity, *box.values], box.step("cells"))


def _nodes(box: Aggregation, cells: str, slicing: Slicing, lo_cell: str, hi_cell: str) -> str:
    """All nodes inside the range: each whole cell counts in itself and in its ancestors there."""
    inside = f"(shiftright(__i, l) << l) >= {lo_cell} AND ((shiftright(__i, l) + 1) << l) <= {hi_cell}"
    levels = f"filter(sequence(0, {slicing.levels}), l -> {inside})"
    exploded = select([f"explode({levels}) AS __l", "__i AS __c", *box.identity, *box.values], cells)
    return select(
        ["__l", "shiftright(__c, __l) AS __i", *box.identity, *box.state.merge()],
        f"(\n{exploded}\n)",
        _by("__l, shiftright(__c, __l)", box),
    )


def _with_stored(box: Aggregation, new: str, lo_cell: str) -> str:
    items = ["__l", "__i", *box.identity, *box.values]
    stored = select(items, box.step("slices@kept"), f"WHERE (__i + 1) << __l <= {lo_cell}")
    return f"{select(items, new)}\nUNION ALL\n{stored}"


_START, _END = "(__i << __l)", "((__i + 1) << __l)"
_PARENT_START, _PARENT_END = "(shiftright(__i, 1) << (__l + 1))", "((shiftright(__i, 1) + 1) << (__l + 1))"


def _windows(box: Aggregation, slicing: Slicing, lo_cell: str, hi_cell: str) -> str:
    """Each node goes into the windows of which it is a largest part: those that hold it, but not its parent."""
    n, d = slicing.length, slicing.step
    # A parent that straddles the range's start, or is too large for a window, is never used in a node's place.
    alone = f"(__l = {slicing.levels} OR {_straddles(lo_cell)})"
    if n // d <= FEW_WINDOWS:
        alone = f"({_START} >= {lo_cell} OR {alone})"
    first = f"greatest({_END} - {n}, {lo_cell} - {n} + 1, IF({alone} OR {_START} = {_PARENT_START}, {_END} - {n}, {_PARENT_START} + 1))"
    last = f"least({_START}, {hi_cell} - {n}, IF({alone} OR {_END} = {_PARENT_END}, {_START}, {_PARENT_END} - {n} - 1))"
    names = [*box.identity, *box.values]
    bounded = select([*names, f"{first} AS __first", f"{last} AS __last"], box.step("all"))
    whole_first, whole_last = f"-({floor_div('-__first', d)}) * {d}L", f"{floor_div('__last', d)} * {d}L"
    starts = f"IF({whole_first} <= {whole_last}, sequence({whole_first}, {whole_last}, {d}L), array())"
    exploded = select([f"explode({starts}) AS __i", *names], f"(\n{bounded}\n)")
    return select(["__i", *box.identity, *box.state.merge()], f"(\n{exploded}\n)", _by("__i", box))


def _straddles(lo_cell: str) -> str:
    return f"({_PARENT_START} < {lo_cell} AND {lo_cell} < {_PARENT_END})"


def _stored(box: Aggregation, slicing: Slicing, lo_cell: str, hi_cell: str) -> str:
    """What later windows may read: new nodes, those that straddle the range's start and end in it, and begun cells."""
    names = [*box.identity, *box.values]
    end = f"{_END} * {slicing.unit}L + {slicing.phase}L - 1 AS {STIME}"
    needed = f"{_END} > {hi_cell} - {slicing.length} + 1"
    items = [end, "__l", "__i", *names]
    new = select(items, box.step("recent"), f"WHERE {needed}")
    above = f"filter(sequence(__l + 1, {slicing.levels + 1}), l -> l <= {slicing.levels} AND ((shiftright(__i, l - __l) + 1) << l) <= {hi_cell})"
    exploded = select(
        [f"explode({above}) AS __up", "__l AS __from", "__i AS __part", *names],
        box.step("recent all"),
        f"WHERE {_straddles(lo_cell)}",
    )
    ancestor = "shiftright(__part, __up - __from)"
    merged = select(
        ["__up AS __l", f"{ancestor} AS __i", *box.identity, *box.state.merge()],
        f"(\n{exploded}\n)",
        _by(f"__up, {ancestor}", box),
    )
    straddling = select(items, f"(\n{merged}\n)", f"WHERE {needed}")
    if _no_cell_is_begun(box, slicing):
        return f"{new}\nUNION ALL\n{straddling}"
    begun = [f"{HI} - 1 AS {STIME}", "0 AS __l", "__i", *names]
    return "\nUNION ALL\n".join([new, straddling, select(begun, box.step("recent cells"), f"WHERE __i >= {hi_cell}")])


def _no_cell_is_begun(box: Aggregation, slicing: Slicing) -> bool:
    """Whether each cell ends in the bucket in which it begins."""
    return slicing.aligned(box.compiler.checked.diagram.bucket)


def _results(box: Aggregation, typed: TypedStimeAggregate, slicing: Slicing) -> Cte:
    sample = _sampled(box, typed, slicing)
    items = _result_items(box, typed, slicing)
    return box.results(box.step("windows"), ["__i"], items, f"WHERE {sample}" if sample else "")


def _result_items(box: Aggregation, typed: TypedStimeAggregate, slicing: Slicing) -> list[tuple[str, str]]:
    begin = f"__i * {slicing.unit}L + {slicing.phase}L"
    return box.result_items(begin, f"{begin} + {typed.size - 1}L")


def _sampled(box: Aggregation, typed: TypedStimeAggregate, slicing: Slicing) -> str:
    return windows_left_whole(typed, box.groups, f"__i DIV {slicing.step}")


def _cell(slicing: Slicing) -> str:
    return floor_div(f"{STIME} - {slicing.phase}L" if slicing.phase else STIME, slicing.unit)


def _by(numbers: str, box: Aggregation) -> str:
    return group_by([numbers, *box.identity])
