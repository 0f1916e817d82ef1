"""Diagrams, box by box: all rows of every stream up to a boundary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from auroral.model.boxes.aggregate import (
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRevisedAggregate,
    TypedRuns,
    TypedStimeAggregate,
    TypedTupleWindows,
    TypedValueWindows,
)
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.combine import TypedCombine
from auroral.model.boxes.drop import TypedRandomDrop, TypedRowDrop, TypedWindowDrop
from auroral.model.boxes.join import TypedBufferJoin, TypedJoin, TypedRevisedJoin
from auroral.model.boxes.local_clock import TypedOnLocalClock
from auroral.model.boxes.lrwaitfor import TypedLRWaitFor
from auroral.model.boxes.queue import TypedQueue
from auroral.model.boxes.resample import TypedResample
from auroral.model.boxes.revisable import TypedRevisable, TypedSettled
from auroral.model.boxes.sorting import TypedBSort, TypedWSort
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.user_fold import TypedUserFold
from auroral.model.boxes.waitfor import TypedWaitFor
from auroral.model.boxes.xsection import TypedXSection
from auroral.model.checking import Checked, CheckedBox
from auroral.model.errors import DiagramError, Problem, unknown_name
from auroral.model.regions import TypedRegion
from auroral.model.stream import StreamType
from auroral.reference.apply import Applied, ApplyMachine
from auroral.reference.buffer_join import BufferJoinMachine
from auroral.reference.combine import CombineMachine
from auroral.reference.drop import RandomDropMachine, RowDropMachine, WindowDropMachine
from auroral.reference.folds import FirstAlignedMachine, LandmarkMachine, RunsMachine
from auroral.reference.join import JoinMachine
from auroral.reference.local_clock import LocalClockMachine
from auroral.reference.lrwaitfor import LRWaitForMachine
from auroral.reference.machine import Machine, Outlet
from auroral.reference.queue import QueueMachine
from auroral.reference.resample import ResampleMachine
from auroral.reference.revisions import (
    RevisableMachine,
    RevisedAggregateMachine,
    RevisedJoinMachine,
    SettledMachine,
)
from auroral.reference.row_windows import TupleWindowsMachine, ValueWindowsMachine
from auroral.reference.rows import Row, canonical_key, processing_key
from auroral.reference.sorting import BSortMachine, WSortMachine
from auroral.reference.stateless import FilterMachine, IdentityMachine, MapMachine, RevisedMapMachine, UnionMachine
from auroral.reference.tables import RegionMachine
from auroral.reference.user_fold import UserFoldMachine
from auroral.reference.waitfor import WaitForMachine
from auroral.reference.windows import EventTimeMachine, StimeMachine
from auroral.reference.xsection import XSectionMachine


@dataclass(frozen=True, slots=True)
class Result:
    """Rows by stream: outputs in canonical order, other streams in processing order.

    `ledger` counts the rows that a box let go, by (box, reason); the reasons are `late`, `ahead`, `shed` and `rejected`.
    """

    streams: Mapping[str, tuple[Row, ...]]
    ledger: Mapping[tuple[str, str], int]


def evaluate(
    checked: Checked,
    sources: Mapping[str, Sequence[Row]],
    until: int,
    flush: bool = False,
    functions: Mapping[str, Applied] | None = None,
) -> Result:
    """All rows with a stime below `until`, the boundary of every source; later source rows are left out.

    With `flush`, boundaries then go on for ever without further source rows: what boundaries close is closed,
    and results may lie at or past `until`. Windows that only a row closes stay open. `functions` stand in for
    those of `apply` boxes, by box name; a bucket that `until` cuts is not applied.
    """
    checked.runnable()
    _check_sources(checked, sources)
    streams = {
        name: sorted((row for row in rows if row.stime < until), key=processing_key) for name, rows in sources.items()
    }
    ledger: Counter[tuple[str, str]] = Counter()
    end = math.inf if flush else until
    for box in checked.boxes:
        outlet = Outlet(box.box.name, [[] for _ in box.box.outputs], ledger)
        inputs = [checked.streams[stream] for stream in box.box.inputs]
        machine = _machine(box, inputs, outlet, functions or {}, checked.diagram.bucket)
        _feed(machine, [streams[stream] for stream in box.box.inputs], end)
        for stream, rows in zip(box.box.outputs, outlet.rows, strict=True):
            assert all(row.stime < end for row in rows), f"{box.box.name} ran ahead of the boundary"
            streams[stream] = sorted(rows, key=processing_key)
    for output in checked.diagram.outputs:
        streams[output.stream] = sorted(streams[output.stream], key=canonical_key)
    return Result({name: tuple(rows) for name, rows in streams.items()}, dict(ledger))


def _check_sources(checked: Checked, sources: Mapping[str, Sequence[Row]]) -> None:
    names = tuple(given.stream for given in checked.diagram.inputs)
    problems = [unknown_name("input", name, names) for name in sources if name not in names]
    problems += [
        Problem(f"no rows are given for input {name!r}", next_step="give an empty list: missing is not empty")
        for name in names
        if name not in sources
    ]
    if problems:
        raise DiagramError(problems)


def _feed(machine: Machine, inputs: Sequence[Sequence[Row]], end: float) -> None:
    """Rows by stime, port and their own order, with a boundary before each stime and one at the end."""
    arriving = [(row.stime, port, row) for port, rows in enumerate(inputs) for row in rows]
    # The sort is stable and each input already in its order.
    arriving.sort(key=lambda arrival: arrival[:2])
    for stime, together in groupby(arriving, key=lambda arrival: arrival[0]):
        machine.on_boundary(stime)
        for _, port, row in together:
            machine.on_row(port, row)
    machine.on_boundary(end)


def _machine(
    checked: CheckedBox,
    inputs: Sequence[StreamType],
    outlet: Outlet,
    functions: Mapping[str, Applied],
    bucket: int,
) -> Machine:
    match checked.typed:
        case TypedFilter() as box:
            return FilterMachine(box, inputs, outlet)
        case TypedMap() as box:
            return (MapMachine if inputs[0].kept is None else RevisedMapMachine)(box, inputs, outlet)
        case TypedUnion() as box:
            return UnionMachine(box, inputs, outlet)
        case TypedIdentity() as box:
            return IdentityMachine(box, outlet)
        case TypedStimeAggregate() as box:
            return StimeMachine(box, inputs, outlet)
        case TypedEventTimeAggregate() as box:
            return EventTimeMachine(box, inputs, outlet)
        case TypedFirstAligned() as box:
            return FirstAlignedMachine(box, inputs, outlet)
        case TypedLandmark() as box:
            return LandmarkMachine(box, inputs, outlet)
        case TypedRuns() as box:
            return RunsMachine(box, inputs, outlet)
        case TypedValueWindows() as box:
            return ValueWindowsMachine(box, inputs, outlet)
        case TypedTupleWindows() as box:
            return TupleWindowsMachine(box, inputs, outlet)
        case TypedQueue() as box:
            return QueueMachine(box, inputs, outlet)
        case TypedRevisable() as box:
            return RevisableMachine(box, inputs, outlet)
        case TypedSettled() as box:
            return SettledMachine(box, inputs, outlet)
        case TypedRevisedAggregate() as box:
            return RevisedAggregateMachine(box, inputs, outlet)
        case TypedRevisedJoin() as box:
            return RevisedJoinMachine(box, inputs, outlet)
        case TypedJoin() as box:
            return JoinMachine(box, inputs, outlet)
        case TypedBufferJoin() as box:
            return BufferJoinMachine(box, inputs, outlet)
        case TypedCombine() as box:
            return CombineMachine(box, inputs, outlet)
        case TypedLRWaitFor() as box:
            return LRWaitForMachine(box, inputs, outlet)
        case TypedBSort() as box:
            return BSortMachine(box, inputs, outlet)
        case TypedWSort() as box:
            return WSortMachine(box, inputs, outlet)
        case TypedWaitFor() as box:
            return WaitForMachine(box, inputs, outlet)
        case TypedResample() as box:
            return ResampleMachine(box, inputs, outlet)
        case TypedXSection() as box:
            return XSectionMachine(box, inputs, outlet)
        case TypedRandomDrop() as box:
            return RandomDropMachine(box, inputs, outlet)
        case TypedWindowDrop() as box:
            return WindowDropMachine(box, inputs, outlet)
        case TypedRowDrop() as box:
            return RowDropMachine(box, inputs, outlet)
        case TypedOnLocalClock() as box:
            inner = replace(checked, typed=box.inner)
            return LocalClockMachine(box, outlet, lambda within: _machine(inner, inputs[:1], within, functions, bucket))
        case TypedUserFold() as box:
            return UserFoldMachine(box, inputs, outlet)
        case TypedRegion() as box:
            return RegionMachine(box, outlet)
        case TypedApply() as box:
            return ApplyMachine(box, inputs, outlet, _stand_in(checked, functions), bucket)
        case other:
            raise AssertionError(f"no machine for {other}")


def _stand_in(checked: CheckedBox, functions: Mapping[str, Applied]) -> Applied:
    name = checked.box.name
    if name not in functions:
        raise DiagramError(
            [
                Problem(
                    f"box {name!r} applies a function of DataFrames, which the reference cannot call",
                    checked.box.place,
                    allowed="a Python function of rows in its place",
                    next_step=f"evaluate(..., functions={{{name!r}: function}})",
                )
            ]
        )
    return functions[name]
