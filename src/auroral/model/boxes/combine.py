"""Rows of several streams put together by a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.base import MOVED_BY_ROWS, BoxClass, BoxFacts, Report, Source, TypedBox
from auroral.model.boxes.stateless import schema_of
from auroral.model.expression import Scope, Typed
from auroral.model.stream import StreamType
from auroral.model.types import BOOL, LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCombine(TypedBox):
    """The n-th row with a key of each input make one result, which comes with the last of them. `names` are what expressions call the inputs."""

    key: str
    names: tuple[str, ...]
    columns: tuple[tuple[str, Typed], ...]

    def expressions(self) -> Iterator[Typed]:
        return (typed for _, typed in self.columns)


@dataclass(frozen=True, slots=True)
class Combine:
    """`columns` are expressions over one row of each input, called by its stream, or `inN`, with N its number from 0."""

    key: str
    columns: tuple[tuple[str, Source], ...]

    type: ClassVar[str] = "combine"
    facts: ClassVar[BoxFacts] = replace(
        MOVED_BY_ROWS,
        ports="N in (required), 1 out",
        closing_event="the last of the rows that belong together",
        result_stime="that row's",
        order_key="stime and key of the rows of all inputs",
        state="rows that wait for others, per key",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if len(inputs) < 2 or outputs != 1:
            report.add(
                f"combine has {len(inputs)} input streams and {outputs} output streams",
                allowed="2 or more, and 1",
                next_step="connect the streams whose rows belong together",
            )
            return None
        known = [report.field(self.key, stream) for stream in inputs]
        if not self.columns:
            report.add("combine has no expression", "one for each field of the result", "for example in0.v + in1.v")
        if not all(known) or report.problems:
            return None
        types = {stream.schema[self.key] for stream in inputs}
        if len(types) > 1:
            said = " and ".join(str(stream.schema[self.key]) for stream in inputs)
            report.add(
                f"the key {self.key!r} is {said}",
                allowed="the same type on all inputs",
                next_step="convert it with maps before this box",
            )
            return None
        # One stream may be read twice: then numbers alone tell its rows apart.
        streams = report.streams if len(set(report.streams)) == len(inputs) else ()
        names = tuple(s if s.isidentifier() else f"in{n}" for n, s in enumerate(streams)) or tuple(
            f"in{n}" for n in range(len(inputs))
        )
        scope = Scope.named(**{name: stream.schema for name, stream in zip(names, inputs, strict=True)})
        typed = [(name, report.expression(source, scope, f"field {name!r}")) for name, source in self.columns]
        columns = tuple((name, t) for name, t in typed if t is not None)
        schema = schema_of(((name, BOOL if t is None else t.type) for name, t in typed), report)
        if schema is None or len(columns) < len(typed):
            return None
        order = tuple(part for stream in inputs for part in (LONG, *stream.order))
        return TypedCombine(
            outputs=(StreamType(schema, (), order),),
            box_class=BoxClass.FOLD,
            required=(True,) * len(inputs),
            order_sensitive=True,
            key=self.key,
            names=names,
            columns=columns,
        )
