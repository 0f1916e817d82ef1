"""What a job for a range reads of an aggregate's slices, and what stands in its statements for the range's cells."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine.edgelog import EdgeLog
from auroral.engine.relations import SliceEdge
from auroral.engine.slice_sql import cell_slots, targets_slot
from auroral.engine.slices import Slicing


def stored_nodes(log: EdgeLog, edge: SliceEdge, lo: int, hi: int, bucket: int, small: bool) -> Iterator[pa.Table]:
    """Stored nodes that the range's windows read; for a small job, each under the targets that it counts in."""
    slicing = edge.slicing
    first, last = slicing.cell(lo), slicing.cell(hi)
    targets = slicing.targets(first, last) if small else {}
    if not slicing.aligned(bucket):
        begun = _of_node(log.read(edge, slicing.stime(first), lo), (0, first))
        yield from (_moved(begun, target) for target in targets.get(first, [(0, first)]))
    for node, into in slicing.history(first, last).items():
        stime = slicing.stime_of(*node)
        for segment in log.best(edge, stime, stime + 1):
            rows = _of_node(segment.load(edge), node)
            if small:
                yield from (_moved(rows, target) for target in into)
            else:
                yield rows


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


def _of_node(rows: pa.Table, node: tuple[int, int]) -> pa.Table:
    return rows.filter(pc.and_(pc.equal(rows.column("__l"), node[0]), pc.equal(rows.column("__i"), node[1])))


def _moved(rows: pa.Table, target: tuple[int, int]) -> pa.Table:
    """The rows under another node or window."""
    level = pa.repeat(pa.scalar(target[0], pa.int32()), rows.num_rows)
    index = pa.repeat(pa.scalar(target[1], pa.int64()), rows.num_rows)
    at = rows.schema.get_field_index
    return rows.set_column(at("__l"), "__l", level).set_column(at("__i"), "__i", index)
