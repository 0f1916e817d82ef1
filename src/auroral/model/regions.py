"""Regions: boxes that share a table or a lockset, and the boxes between them, as one fold.

What one box does to a table, the others see. So all of them work on one row after the other: rows enter a region in the order of stime, entry
port and the port's order key, and each is followed to its end, through every box that it or its results reach, before the next one enters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxFacts, BoxSpec, Report, TypedBox
from auroral.model.boxes.changes import TypedChanges
from auroral.model.boxes.locks import TypedLockBox
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.expression import Typed
from auroral.model.stream import StreamType
from auroral.model.tables import Table
from auroral.model.window_samples import CheckedBox


@dataclass(frozen=True, slots=True)
class Region:
    """What stands in the place of the boxes of a region. `type_name` says what they share, for tables of boxes."""

    members: tuple[str, ...]
    type_name: str

    type: ClassVar[str] = "region"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="fold",
        ports="the streams that enter and leave the region",
        closing_event="a row",
        result_stime="the row's",
        order_key="as the region gives them",
        state="its tables, by key; locks",
        horizon="all of the past",
        deterministic=True,
        convergent=False,
        repeatable=True,
        compiles_to="rows one by one, in processing order",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        raise AssertionError("regions are made of boxes that were checked")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRegion(TypedBox):
    """`members` are in the order of the diagram: a stream that several of them read goes to the first one first. `entries` are the streams
    that enter, by port, with their types; `streams` those that leave."""

    members: tuple[CheckedBox, ...]
    entries: tuple[tuple[str, StreamType], ...]
    streams: tuple[str, ...]
    tables: tuple[Table, ...]

    def expressions(self) -> Iterator[Typed]:
        for member in self.members:
            yield from member.typed.expressions()

    def readers(self, stream: str) -> Iterator[tuple[int, int]]:
        """The members that read it, by number, and the port that they read it on."""
        for number, member in enumerate(self.members):
            for port, read in enumerate(member.box.inputs):
                if read == stream:
                    yield number, port

    def changes(self, table: str) -> Iterator[int]:
        """The members that give out the changes of a table, by number."""
        for number, member in enumerate(self.members):
            if isinstance(member.typed, TypedChanges) and member.typed.table.name == table:
                yield number

    def stream(self, name: str) -> StreamType:
        for member in self.members:
            if name in member.box.outputs:
                return member.typed.outputs[member.box.outputs.index(name)]
        return dict(self.entries)[name]


def shared(typed: TypedBox) -> str | None:
    """What a box has in common with others of its region."""
    if isinstance(typed, TypedTableBox | TypedChanges):
        return f"table {typed.table.name!r}"
    return f"lockset {typed.lockset!r}" if isinstance(typed, TypedLockBox) else None


def members(spec: BoxSpec, name: str) -> tuple[str, ...]:
    """The boxes of the diagram that a checked box stands for."""
    return spec.members if isinstance(spec, Region) else (name,)
