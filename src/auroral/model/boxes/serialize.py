"""SUnion and SOutput as Borealis files write them. The system inserts both; their parameters are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.base import PASSED_ON, BoxFacts, Report, TypedBox
from auroral.model.boxes.stateless import TypedIdentity, TypedUnion, merged
from auroral.model.stream import CONTROL, StreamType


@dataclass(frozen=True, slots=True)
class SUnion:
    """Output 0 is control; then one merged stream, or one stream for each input (before an sjoin)."""

    interval_ms: int
    max_delay_ms: tuple[int, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()

    type: ClassVar[str] = "sunion"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = replace(
        PASSED_ON,
        ports="N in (optional, one must be there), control + 1 or N out",
        order_key="input index, then the input's",
        compiles_to="UNION ALL, or nothing",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not inputs or outputs not in (2, len(inputs) + 1):
            report.add(
                f"sunion has {len(inputs)} inputs and {outputs} outputs",
                allowed="at least 1 input; output 0 for control, then 1 data output or one for each input",
                next_step="add or remove <in> and <out> accordingly",
            )
            return None
        if self.interval_ms <= 0:
            report.add(
                f"interval is {self.interval_ms} ms",
                allowed="above 0",
                next_step="write the bucket length in milliseconds",
            )
            return None
        if outputs == 2:
            stream = merged(inputs, report, "sunion")
            return None if stream is None else TypedSUnion(outputs=(CONTROL, stream), required=(False,) * len(inputs))
        return TypedIdentity(
            outputs=(CONTROL, *inputs),
            required=(False,) * len(inputs),
            data_ports=tuple(range(1, len(inputs) + 1)),
        )


@dataclass(frozen=True, slots=True)
class TypedSUnion(TypedUnion):
    """A union whose rows leave on output 1."""


@dataclass(frozen=True, slots=True)
class SOutput:
    parameters: tuple[tuple[str, str], ...] = ()

    type: ClassVar[str] = "soutput"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = replace(PASSED_ON, ports="1 in, control + 1 out")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if len(inputs) != 1 or outputs not in (1, 2):
            report.add(
                f"soutput has {len(inputs)} inputs and {outputs} outputs",
                allowed="1 input; a control and a data output",
                next_step="add or remove <in> and <out> accordingly",
            )
            return None
        control = (CONTROL,) * (outputs - 1)
        return TypedIdentity(outputs=(*control, inputs[0]), data_ports=(outputs - 1,))
