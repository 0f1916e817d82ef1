"""Rows that wait until a row of another stream lets them go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, Source, TypedBox, expect_ports
from auroral.model.boxes.row_windows import microseconds, timeout_is_fine
from auroral.model.expression import Scope, Typed
from auroral.model.stream import StreamType
from auroral.model.types import LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedWaitFor(TypedBox):
    """A row of input 0 goes on with the first row of input 1 that comes after it, less than `timeout` microseconds later, and fulfils the
    predicate; with that row's stime."""

    predicate: Typed
    timeout: int

    def expressions(self) -> Iterator[Typed]:
        return iter((self.predicate,))


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Aurora's WaitFor: each row of the first input is held until an enabler comes, and goes nowhere if none comes within `timeout` seconds.

    In the predicate the inputs are `buffered` and `enabler`.
    """

    predicate: Source
    timeout: float

    type: ClassVar[str] = "waitfor"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window",
        ports="2 in (required), 1 out",
        closing_event="a row of input 1",
        result_stime="that of the row of input 1",
        order_key="key of input 1, then stime and key of input 0",
        state="rows of one timeout on both sides",
        horizon="timeout",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to="JOIN with a time slice as a further equality key, and the first match of each row",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "waitfor", inputs, outputs, 2, 1):
            return None
        buffered, enabler = inputs
        scope = Scope.named(buffered=buffered.schema, enabler=enabler.schema)
        predicate = report.predicate(self.predicate, scope, "predicate")
        if not timeout_is_fine(self.timeout, report) or predicate is None:
            return None
        timeout = microseconds(self.timeout) or 1
        return TypedWaitFor(
            outputs=(StreamType(buffered.schema, (), (*enabler.order, LONG, *buffered.order)),),
            box_class=BoxClass.WINDOW,
            past=timeout,
            required=(True, True),
            # A row goes on once: which of two rows it is, only their order tells.
            order_sensitive=True,
            predicate=predicate,
            timeout=timeout,
        )
