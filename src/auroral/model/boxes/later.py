"""Boxes that load and check now and run in a later release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True)
class NotYet:
    """Why a box does not run, and what a diagram can have instead."""

    why: str
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLater(TypedBox):
    """A box that is understood but does not run yet. Without `outputs`, nothing is known of them."""

    reason: NotYet


_APPLY = "compute it in Python, with an `apply` box"

# What genuine diagrams contain and a later release makes runnable.
LATER = {
    "connectionpoint": NotYet("Borealis put it there by itself", "name the stream in a connection_point_view"),
    "sweeper": NotYet("Borealis put it there by itself", "leave it out: auroral query reads what is kept"),
    "scontrol": NotYet("the system inserts control boxes by itself", "leave it out"),
}


@dataclass(frozen=True, slots=True)
class Later:
    """A box kept as it was written: its type and parameters. `reason` tells more than the type does."""

    type_name: str
    parameters: tuple[tuple[str, str], ...] = ()
    reason: NotYet | None = None

    type: ClassVar[str] = "later"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="-",
        ports="-",
        closing_event="-",
        result_stime="-",
        order_key="-",
        state="-",
        horizon="-",
        deterministic=False,
        convergent=False,
        repeatable=False,
        compiles_to="loads, does not run yet",
    )

    @property
    def not_yet(self) -> NotYet:
        return self.reason or LATER.get(self.type_name) or NotYet("it comes in a later release", _APPLY)

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        return later(self.not_yet)


def later(reason: NotYet, outputs: tuple[StreamType, ...] = ()) -> TypedLater:
    return TypedLater(outputs=outputs, box_class=BoxClass.FOLD, reason=reason)
