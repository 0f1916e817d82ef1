"""Boxes, and forms of boxes, that load and check now and run in a later release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, BoxSpec, Report, TypedBox
from auroral.model.expression import Scope
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True)
class NotYet:
    """Why a box does not run, and what a diagram can have instead."""

    why: str
    instead: str


@dataclass(frozen=True, slots=True)
class NotStime:
    """The field of input `port` that a window or a buffer is on does not carry the stream's stime."""

    port: int
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLater(TypedBox):
    """A box that is understood but does not run yet. Without `outputs`, nothing is known of them.

    `not_stime` is for the checker, which knows the boxes before this one: it finds where the time was lost.
    """

    reason: NotYet
    not_stime: tuple[NotStime, ...] = ()


_APPLY = "compute it in Python, with an `apply` box"
_REVISIONS = "revisions come in a later release"
_NO_REVISIONS = "write {} instead, if no row of the input revises another"
_NO_TABLES = "keep the table outside, and join with the stream of its rows"
_IN_ORDER = "leave it out: a source puts its rows in order, within what --delay says"

# What genuine diagrams contain and a later release makes runnable.
LATER = {
    "bsort": NotYet("bounded sort is a fold of a later release", _IN_ORDER),
    "wsort": NotYet("windowed sort is a fold of a later release", _IN_ORDER),
    "resample": NotYet("interpolation is a fold of a later release", _APPLY),
    "xsection": NotYet("cross-section windows are folds of a later release", _APPLY),
    "waitfor": NotYet("waitfor is a fold of a later release", "join the two streams within the timeout"),
    "lrwaitfor": NotYet("lrwaitfor is a fold of a later release", _APPLY),
    "combine": NotYet("combine is a fold of a later release", _APPLY),
    "joinstatic": NotYet("joinstatic comes with tables in a later release", _NO_TABLES),
    "revisionfilter": NotYet(_REVISIONS, _NO_REVISIONS.format("filter")),
    "revisionmap": NotYet(_REVISIONS, _NO_REVISIONS.format("map")),
    "revisionaggregate": NotYet(_REVISIONS, _NO_REVISIONS.format("aggregate")),
    "connectionpoint": NotYet("connection points come in a later release", "leave it out, and read the stream itself"),
    "sweeper": NotYet("connection points come in a later release", "leave it out, and read the stream itself"),
    "scontrol": NotYet("the system inserts control boxes by itself", "leave it out"),
}

# Boxes of these types give the rows of input 0 as they came, or some of them.
PASS_ROWS_ON = ("bsort", "waitfor")

_VALUES = "write window-size-by VALUES with order-by FIELD, on the field that is the input's stime"
TUPLE_WINDOWS = NotYet("windows over a number of tuples are folds of a later release", _VALUES)
ARRIVAL_WINDOWS = NotYet("windows of values over rows in order of arrival are folds of a later release", _VALUES)
FIELD_WINDOWS = NotYet(
    "windows on a field that does not carry the stream's stime are folds of a later release",
    "put the window on a field that carries the stream's stime; `auroral check` says where the time is lost",
)
FRACTIONS = NotYet(
    "windows that are no whole number of what an integer field counts come in a later release: the result names its window by such a number",
    "round window-size and advance, or have the field in a smaller unit",
)
WINDOW_TIMEOUTS = NotYet(
    "timeouts of windows come in a later release",
    "leave timeout out: with independent-window-alignment, the boundary closes windows",
)
REPEATED_FIELDS = NotYet(
    "order-on-field and an aggregate-function-output-name are the same field of the result",
    "give the function's field another name",
)
TUPLE_JOINS = NotYet(
    "join buffers of a number of tuples are folds of a later release",
    "write order-by VALUES on both sides, on the fields that are the inputs' stimes",
)
FIELD_JOINS = NotYet(
    "join buffers on a field that does not carry the stream's stime are folds of a later release",
    "order on fields that carry the streams' stimes; `auroral check` says where the time is lost",
)
JOIN_TIMEOUTS = NotYet(
    "timeouts of joins come in a later release", "leave timeout out: the buffer sizes bound how long rows wait"
)
ONE_SIDED_JOINS = NotYet(
    "joins in which rows of one side do not look for partners (leftjoin or rightjoin is false) come in a later release",
    "leave leftjoin and rightjoin out, to join both ways",
)

FORMS = {
    "aggregate": (TUPLE_WINDOWS, ARRIVAL_WINDOWS, FIELD_WINDOWS, FRACTIONS, WINDOW_TIMEOUTS, REPEATED_FIELDS),
    "window_drop": (TUPLE_WINDOWS, FIELD_WINDOWS),
    "join, sjoin, aurorajoin": (TUPLE_JOINS, FIELD_JOINS, JOIN_TIMEOUTS),
    "sjoin": (ONE_SIDED_JOINS,),
}
"""What does not run yet of box types that do."""


@dataclass(frozen=True, slots=True)
class Later:
    """A box kept as it was written: its type and parameters. `reason` tells more than the type does.

    `like` is the box that checks the same parameters and gives the same fields; of a revisionaggregate it is not known whether
    results have a `revised_value` too.
    """

    type_name: str
    parameters: tuple[tuple[str, str], ...] = ()
    reason: NotYet | None = None
    like: BoxSpec | None = None

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
        reason = self.reason or LATER.get(self.type_name) or NotYet("it comes in a later release", _APPLY)
        if self.like is not None:
            typed = self.like.resolve(inputs, outputs, report)
            known = typed is not None and self.type_name != "revisionaggregate"
            return None if typed is None else later(reason, typed.outputs if known else ())
        if self.type_name not in PASS_ROWS_ON or not inputs:
            return later(reason)
        self._check_words(inputs, report)
        return None if report.problems or report.missing else later(reason, (inputs[0],) * outputs)

    def _check_words(self, inputs: Sequence[StreamType], report: Report) -> None:
        """The fields of a bsort, and the predicate of a waitfor."""
        given = dict(self.parameters)
        for name in f"{given.get('order-on', '')},{given.get('group-by', '')}".split(","):
            if name.strip():
                report.field(name.strip(), inputs[0])
        if "predicate" in given and len(inputs) == 2:
            scope = Scope.named(buffered=inputs[0].schema, enabler=inputs[1].schema)
            report.predicate(given["predicate"], scope, "predicate")


def later(reason: NotYet, outputs: tuple[StreamType, ...] = (), *not_stime: NotStime) -> TypedLater:
    return TypedLater(outputs=outputs, box_class=BoxClass.FOLD, reason=reason, not_stime=not_stime)
