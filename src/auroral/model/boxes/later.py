"""Boxes of the Borealis line that load and check now and run in a later release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLater(TypedBox):
    """A box that is understood but does not run yet; nothing is known of its outputs."""

    reason: str
    unknown_outputs: int


# What genuine diagrams contain and a later release makes runnable, each with what it will be.
LATER = {
    "bsort": "bounded sort is a fold of a later release",
    "wsort": "windowed sort is a fold of a later release",
    "resample": "interpolation is a fold of a later release",
    "xsection": "cross-section windows are folds of a later release",
    "waitfor": "waitfor is a fold of a later release",
    "lrwaitfor": "lrwaitfor is a fold of a later release",
    "lock": "locks come with tables in a later release",
    "unlock": "locks come with tables in a later release",
    "insert": "tables come in a later release",
    "update": "tables come in a later release",
    "delete": "tables come in a later release",
    "select": "tables come in a later release",
    "exists": "tables come in a later release",
    "combine": "combine is a fold of a later release",
    "joinstatic": "joinstatic comes with tables in a later release",
    "revisionfilter": "revisions come in a later release",
    "revisionmap": "revisions come in a later release",
    "revisionaggregate": "revisions come in a later release",
    "connectionpoint": "connection points come in a later release",
    "sweeper": "connection points come in a later release",
    "scontrol": "the system inserts control boxes by itself",
}


@dataclass(frozen=True, slots=True)
class Later:
    """A box kept as it was written: its type and parameters. `reason` tells more than the type does."""

    type_name: str
    parameters: tuple[tuple[str, str], ...] = ()
    reason: str = ""

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

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        return self.box(self.reason or LATER.get(self.type_name, "it comes in a later release"), outputs)

    @staticmethod
    def box(reason: str, outputs: int) -> TypedLater:
        return TypedLater(outputs=(), box_class=BoxClass.FOLD, reason=reason, unknown_outputs=outputs)
