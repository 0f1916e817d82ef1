"""The table of boxes: one row for each box type, from what the types state about themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxFacts, BoxSpec
from auroral.model.boxes.changes import TableChanges
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join
from auroral.model.boxes.later import LATER, NotYet
from auroral.model.boxes.locks import Lock, Unlock
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.queue import UpdateQueue
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.revisable import Revisable, Settled
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.tables import Delete, Exists, Insert, Select, Update
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection

RUNNING: tuple[type[BoxSpec], ...] = (
    Filter,
    Map,
    Union,
    Aggregate,
    Join,
    BSort,
    WSort,
    WaitFor,
    Resample,
    XSection,
    Combine,
    LRWaitFor,
    Apply,
    Delay,
    RandomDrop,
    WindowDrop,
    SUnion,
    SOutput,
    Insert,
    Select,
    Update,
    Delete,
    Exists,
    TableChanges,
    Lock,
    Unlock,
    Revisable,
    Settled,
    Revision,
    UpdateQueue,
)
"""The box types that run, as the docs list them. Other spellings: sjoin, aurorajoin, joinstatic; delay_sel; revisionfilter, revisionmap, revisionaggregate."""


def box_table() -> str:
    """Markdown: a column for each fact, a row for each box type; then the types that only load."""
    names = [f.name for f in fields(BoxFacts)]
    lines = [
        "| box | " + " | ".join(name.replace("_", " ") for name in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for box in RUNNING:
        cells = [_cell(getattr(box.facts, name)) for name in names]
        lines.append(f"| {box.type} | " + " | ".join(cells) + " |")
    lines += ["", "These load and check, and do not run yet:", ""]
    return "\n".join(lines) + "\n" + _later_table((name, reason) for name, reason in sorted(LATER.items()))


def _later_table(rows: Iterable[tuple[str, NotYet]]) -> str:
    lines = ["| box | why | instead |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {box} | {reason.why} | {reason.instead} |" for box, reason in rows)]) + "\n"


def _cell(value: str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
