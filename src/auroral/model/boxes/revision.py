"""revisionfilter, revisionmap and revisionaggregate of Borealis files: boxes that say where the history is from which they correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.aggregate import Aggregate, TypedRevisedAggregate
from auroral.model.boxes.base import BoxFacts, Report, TypedBox
from auroral.model.boxes.later import NotYet, later
from auroral.model.boxes.stateless import Filter, Map
from auroral.model.stream import StreamType

UPSTREAM, DOWNSTREAM = "UPSTREAM", "DOWNSTREAM"

NOT_REVISABLE = NotYet(
    "rows of its input cannot be revised: nothing says what they revise, nor for how long",
    "give the input that this comes from a string field revised_value, in which its source says what a row revises; or put a box of type "
    "revisable behind it, or say revisions=... in Python",
)


@dataclass(frozen=True, slots=True)
class Revision:
    """The box `like`, over a stream whose rows may be revised. It gives the same rows in either mode.

    DOWNSTREAM, the history that it needs is that of its own input. UPSTREAM, it is kept at the streams of the views in `anchors`, or where
    rows come in, and what lies between them and this box is computed again. `inverses` told Borealis how to find a row upstream of a map;
    here a history has the rows themselves.
    """

    like: Filter | Map | Aggregate
    mode: str | None = None
    anchors: tuple[str, ...] = ()
    inverses: tuple[str, ...] = ()

    type: ClassVar[str] = "revision"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="as filter, map or aggregate",
        ports="as filter, map or aggregate",
        closing_event="end of the bucket, for revisions",
        result_stime="as filter, map or aggregate; the bucket's end - 1 us for revisions",
        order_key="none: rows count by the stime that they belong to, then by their fields",
        state="none; rows of the kept history for windows, at the input or at the anchor",
        horizon="0; the kept history + size for windows",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to="the same as filter, map and aggregate behind an input with revisions",
    )

    @property
    def type_name(self) -> str:
        return f"revision{self.like.type}"

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        typed = self.like.resolve(inputs, outputs, report)
        if isinstance(typed, TypedRevisedAggregate):
            return replace(typed, anchors=self.anchors if self.mode == UPSTREAM else None)
        if typed is None or all(stream.kept is not None for stream in inputs):
            return typed
        # Whether results of an aggregate would have a mark is not known.
        return later(NOT_REVISABLE, () if isinstance(self.like, Aggregate) else typed.outputs)
