"""Cross-sections: aggregates over the newest row of each of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.aggregates import typed_aggregate
from auroral.model.boxes.aggregate_typed import TypedAggregateBox
from auroral.model.boxes.base import MOVED_BY_ROWS, BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.resolving import Resolving
from auroral.model.boxes.window_sizes import LARGEST
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedXSection(TypedAggregateBox):
    """Each row gives the functions over the newest row of each value of `across`, at most `within` microseconds of stime old, in their order."""

    across: tuple[str, ...]
    within: int | None


@dataclass(frozen=True, slots=True)
class XSection:
    """`functions` are (output field, call) pairs; `across` are the fields that tell the things in the section apart."""

    functions: tuple[tuple[str, str], ...]
    across: tuple[str, ...]
    within: int | None = None

    type: ClassVar[str] = "xsection"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS, state="the newest row of each value of the fields that it goes across"
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "xsection", inputs, outputs, 1, 1):
            return None
        stream = inputs[0]
        for there, what in ((self.functions, "function"), (self.across, "field to go across")):
            if not there:
                report.add(
                    f"a cross-section needs at least one {what}",
                    allowed="functions over the newest row of each value of some fields",
                    next_step="for example avg(price) across paper",
                )
        for name in self.across:
            report.field(name, stream)
        if self.within is not None and not 0 <= self.within < LARGEST:
            report.add(f"within is {self.within} us", allowed="0 or more", next_step="write how old a row may be")
        typed = [typed_aggregate(name, text, report.scope(stream), report) for name, text in self.functions]
        if report.problems or report.missing:
            return None
        functions = tuple(t for t in typed if t is not None)
        output = Resolving(stream, functions, (), None, report).output(None, stream.order)
        if output is None:
            return None
        return TypedXSection(
            outputs=(output,),
            box_class=BoxClass.FOLD,
            order_sensitive=True,
            functions=functions,
            group_by=(),
            across=self.across,
            within=self.within,
        )
