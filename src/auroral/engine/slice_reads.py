"""What a job for a range reads of an aggregate's slices, and what stands in its statements for the range's cells."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine.edgelog import EdgeLog
from auroral.engine.relations import SliceEdge
from auroral.engine.running import RunningWindows, moved, of_node, stored
from auroral.engine.slice_sql import cell_slots, targets_slot
from auroral.engine.slices import Slicing


def stored_nodes(log: EdgeLog, edge: SliceEdge, lo: int, hi: int, bucket: int) -> Iterator[pa.Table]:
    """Stored nodes that a large job's windows read."""
    first, last = edge.slicing.cell(lo), edge.slicing.cell(hi)
    if not edge.slicing.aligned(bucket):
        yield _begun(log, edge, lo, first)
    for node in edge.slicing.history(first, last):
        yield from stored(log, edge, node)


def stored_states(
    log: EdgeLog, running: RunningWindows, edge: SliceEdge, lo: int, hi: int, bucket: int
) -> Iterator[pa.Table]:
    """What a small or middling job reads: states, each under the targets that it counts in."""
    slicing = edge.slicing
    first, last = slicing.cell(lo), slicing.cell(hi)
    if not slicing.aligned(bucket):
        begun = _begun(log, edge, lo, first)
        targets = slicing.targets_of(first, first, last) if first < last else [(0, first)]
        yield from (moved(begun, target) for target in targets)
    successor = running.successor(log, edge, lo, hi)
    yield from successor or ()
    for node, into in slicing.history(first, last, windows=successor is None).items():
        for rows in stored(log, edge, node):
            yield from (moved(rows, target) for target in into)


def _begun(log: EdgeLog, edge: SliceEdge, lo: int, cell: int) -> pa.Table:
    """What is stored of a cell that began in the bucket before."""
    return of_node(log.read(edge, edge.slicing.stime(cell), lo), (0, cell))


def slots(edge: SliceEdge, lo: int, hi: int, small: bool) -> dict[str, str]:
    """The texts of a range's slots: its cells and, in a small job, what each cell counts in."""
    box, slicing = edge.name.removesuffix("@slices"), edge.slicing
    first, end = cell_slots(box)
    cells = {first: f"{slicing.cell(lo)}L", end: f"{slicing.cell(hi)}L"}
    return cells | ({targets_slot(box): _targets_text(slicing, lo, hi)} if small else {})


def needs_more_bins(edge: SliceEdge, stored: list[pa.Table]) -> bool:
    """Whether there are stored states that the smaller plan would take to be of bin 0."""
    return any(pc.any(pc.not_equal(table.column(b), 0)).as_py() for table in stored for b in edge.bins)


def lacks_values(edge: SliceEdge, made: pa.Table) -> bool:
    """Whether a state to be stored lacks a value that the smaller plan does not take: no window has asked for it yet."""
    return any(pc.any(pc.greater_equal(made.column(b.removesuffix("b") + "f"), 8)).as_py() for b in edge.bins)


def _targets_text(slicing: Slicing, lo: int, hi: int) -> str:
    """SQL for the targets of a cell: an array for each cell of the range; a cell only begun is stored as it is."""
    cases = []
    for cell, into in slicing.targets(slicing.cell(lo), slicing.cell(hi)).items():
        structs = ", ".join(f"named_struct('l', {level}, 'i', {index}L)" for level, index in into)
        cases.append((cell, f"array({structs})"))
    own = "array(named_struct('l', 0, 'i', __c))"
    if len(cases) == 1 and slicing.aligned(hi - lo):
        return cases[0][1]
    return "CASE __c " + " ".join(f"WHEN {cell}L THEN {text}" for cell, text in cases) + f" ELSE {own} END"
