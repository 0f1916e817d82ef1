"""One stream from several, each for a time: what a query gave whose boxes were changed while it ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxFacts, Report, TypedBox
from auroral.model.boxes.stateless import TypedUnion, Union
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSplice(TypedUnion):
    starts: tuple[int, ...]

    def span(self, port: int) -> tuple[int | None, int | None]:
        """The stimes, from and to, of which the rows of an input are taken."""
        since = self.starts[port - 1] if port else None
        return since, self.starts[port] if port < len(self.starts) else None


@dataclass(frozen=True, slots=True)
class Splice:
    """Rows of the first input up to the stime `starts[0]`, of the second from there up to `starts[1]`, and so on. The system's own: no
    file and no program has it."""

    starts: tuple[int, ...]

    type: ClassVar[str] = "splice"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = Union.facts

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        united = Union().resolve(inputs, outputs, report)
        if united is None:
            return None
        return TypedSplice(outputs=united.outputs, required=united.required, starts=self.starts)
