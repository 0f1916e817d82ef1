"""Boxes that look at one row at a time: filter, map, delay, and the union of streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from auroral.model.boxes.base import PASSED_ON, BoxClass, BoxFacts, Report, Source, TypedBox, error_stream, expect_ports
from auroral.model.errors import DiagramError
from auroral.model.expression import Typed, bare_field
from auroral.model.on_error import OnError
from auroral.model.revisions import REVISED
from auroral.model.schema import Field, Schema
from auroral.model.stream import ClockField, StreamType
from auroral.model.types import INT, FieldType, Kind, common_type


@dataclass(frozen=True, slots=True)
class TypedFilter(TypedBox):
    predicates: tuple[Typed, ...]
    else_port: bool

    def expressions(self) -> Iterator[Typed]:
        return iter(self.predicates)


@dataclass(frozen=True, slots=True)
class Filter:
    """A case statement: a row goes out at the first predicate that holds, or at the else-port (D3).

    With REJECT, one more output has the rows for which a function failed; it may be left out.
    """

    predicates: tuple[Source, ...]
    else_port: bool = False
    on_error: OnError = OnError.STOP

    type: ClassVar[str] = "filter"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = replace(
        PASSED_ON, ports="1 in, one out a predicate (+ else) (+ errors)", compiles_to="WHERE"
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not self.predicates:
            report.add(
                "a filter needs at least one predicate",
                allowed="one predicate for each output",
                next_step="give it one, as in v > 1",
            )
            return None
        cases = len(self.predicates) + self.else_port
        side = self.on_error is OnError.REJECT and outputs == cases + 1
        if not expect_ports(report, "filter", inputs, outputs, 1, cases + side):
            return None
        scope = report.scope(inputs[0])
        typed = [report.predicate(p, scope, f"predicate {i}") for i, p in enumerate(self.predicates)]
        predicates = tuple(t for t in typed if t is not None)
        if len(predicates) < len(typed) or not report.rejects(self.on_error, predicates, inputs[0], side):
            return None
        return TypedFilter(
            outputs=(inputs[0],) * cases + ((error_stream(inputs[0]),) if side else ()),
            on_error=self.on_error,
            error_port=cases if side else None,
            predicates=predicates,
            else_port=self.else_port,
        )


@dataclass(frozen=True, slots=True)
class TypedMap(TypedBox):
    columns: tuple[tuple[str, Typed], ...]

    def expressions(self) -> Iterator[Typed]:
        return (typed for _, typed in self.columns)


@dataclass(frozen=True, slots=True)
class Map:
    """One output row for each input row, one field for each expression (D4).

    With REJECT, a second output has the rows for which a function failed; it may be left out.
    """

    columns: tuple[tuple[str, Source], ...]
    on_error: OnError = OnError.STOP

    type: ClassVar[str] = "map"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = replace(PASSED_ON, ports="1 in, 1 out (+ errors)", compiles_to="SELECT")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        side = self.on_error is OnError.REJECT and outputs == 2
        if not expect_ports(report, "map", inputs, outputs, 1, 1 + side):
            return None
        if not self.columns:
            report.add(
                "a map needs at least one output field",
                allowed="one expression for each output field",
                next_step="give it a field and what it is, as in kb and bytes / 1024",
            )
            return None
        stream = inputs[0]
        scope = report.scope(stream)
        typed = [(name, report.expression(source, scope, f"field {name!r}")) for name, source in self._written(stream)]
        columns = tuple((name, t) for name, t in typed if t is not None)
        schema = schema_of(((name, INT if t is None else t.type) for name, t in typed), report)
        if len(columns) < len(typed) or schema is None:
            return None
        if not report.rejects(self.on_error, (t for _, t in columns), stream, side):
            return None
        if stream.kept is not None and not _carries_the_mark(columns, report):
            return None
        clocks = []
        for name, t in columns:
            copied = bare_field(t)
            clock = stream.clock(copied.name) if copied is not None else None
            if clock is not None:
                clocks.append(ClockField(name, clock.unit, clock.offset))
            elif copied is not None and stream.schema.get(copied.name) is None:
                # The stime itself, which is a field of no schema.
                clocks.append(ClockField(name, 1))
        return TypedMap(
            outputs=(
                StreamType(schema, tuple(clocks), stream.order, stream.kept),
                *([error_stream(stream)] if side else []),
            ),
            on_error=self.on_error,
            error_port=1 if side else None,
            columns=columns,
        )

    def _written(self, stream: StreamType) -> tuple[tuple[str, Source], ...]:
        """Rows that may be revised keep their mark."""
        if stream.kept is None or REVISED in (name for name, _ in self.columns):
            return self.columns
        return (*self.columns, (REVISED, REVISED))


def _carries_the_mark(columns: Iterable[tuple[str, Typed]], report: Report) -> bool:
    for name, typed in columns:
        copied = bare_field(typed)
        if name == REVISED and (copied is None or copied.name != REVISED):
            report.add(
                f"field {REVISED!r} marks what a row revises, and is computed here",
                allowed=f"{REVISED} itself, passed on",
                next_step="leave it out: it is passed on by itself",
            )
            return False
    return True


def schema_of(fields: Iterable[tuple[str, FieldType]], report: Report) -> Schema | None:
    """A schema from (name, type) pairs; a repeated or reserved name is reported.

    Where an expression is wrong its field has any type, so that the names are judged all the same.
    """
    try:
        # Names of a stream have no place: they go to other processes.
        return Schema(tuple(Field(str(name), t) for name, t in fields))
    except DiagramError as error:
        report.problems += [replace(problem, place=report.place) for problem in error.problems]
        return None


def merged(inputs: Sequence[StreamType], report: Report, what: str) -> StreamType | None:
    """The type of a union: same field names in order, types widened to a common one."""
    first, before = inputs[0].schema, len(report.problems)
    if len({stream.kept is None for stream in inputs}) > 1:
        plain = next(number for number, stream in enumerate(inputs) if stream.kept is None)
        report.add(
            f"{what}: rows of input {plain} are never revised, those of another are",
            allowed="inputs of one kind",
            next_step="say revisions=... of the input that it comes from too, or put .settled(...) behind the other",
        )
        return None
    fields = list(first.fields)
    for number, stream in enumerate(inputs[1:], 1):
        if stream.schema.names != first.names:
            report.add(
                f"{what}: input {number} has the fields ({stream.schema}), input 0 has ({first})",
                allowed="inputs of one schema",
                next_step="put a map before it that gives the same fields in the same order",
            )
            continue
        for position, other in enumerate(stream.schema.fields):
            common = common_type(fields[position].type, other.type)
            if common is None:
                report.add(
                    f"{what}: field {other.name!r} is {fields[position].type} on input 0"
                    f" and {other.type} on input {number}",
                    allowed="inputs of one schema; numbers widen by themselves",
                    next_step="put a map before it that converts the field",
                )
            else:
                fields[position] = Field(other.name, common)
    if len(report.problems) > before:
        return None
    clocks = tuple(clock for clock in inputs[0].clocks if all(clock in stream.clocks for stream in inputs))
    kept = max((stream.kept for stream in inputs if stream.kept is not None), default=None)
    order: tuple[FieldType, ...] = (INT, *(t for stream in inputs for t in stream.order))
    return StreamType(Schema(tuple(fields)), clocks, order, kept)


@dataclass(frozen=True, slots=True)
class TypedUnion(TypedBox):
    """`widens` where inputs differ in types, and values become those of the common one."""

    widens: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all inputs (D5); rows of equal stime are in order of input, then of that input's order."""

    type: ClassVar[str] = "union"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = replace(
        PASSED_ON,
        ports="N in (optional, one must be there), 1 out",
        order_key="input index, then the input's",
        compiles_to="UNION ALL",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not inputs:
            report.add("a union has no input stream", allowed="one input or more", next_step="connect at least one")
            return None
        if not expect_ports(report, "union", inputs, outputs, len(inputs), 1):
            return None
        stream = merged(inputs, report, "union")
        if stream is None:
            return None
        widens = any(
            a.type.kind is not Kind.STRING and a.type != b.type
            for given in inputs
            for a, b in zip(given.schema.fields, stream.schema.fields, strict=True)
        )
        return TypedUnion(outputs=(stream,), required=(False,) * len(inputs), widens=widens)


@dataclass(frozen=True, slots=True)
class TypedIdentity(TypedBox):
    """Output `data_ports[i]` carries input i unchanged; other outputs are control streams without rows.

    Each row costs `cost_ms` of engine time in a run; the batch oracle does not spend it.
    """

    data_ports: tuple[int, ...]
    cost_ms: int = 0


@dataclass(frozen=True, slots=True)
class Delay:
    """Synthetic cost: rows pass unchanged. The cost is engine time, never a shift of stime."""

    delay_ms: int
    selectivity: float = 1.0
    type_name: str = "delay"

    type: ClassVar[str] = "delay"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = replace(PASSED_ON, compiles_to="SELECT, with a pause of delay-ms for each row")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "delay", inputs, outputs, 1, 1):
            return None
        if self.delay_ms < 0:
            report.add(
                f"delay-ms is {self.delay_ms}", allowed="0 or more", next_step="write 0 for a box that costs nothing"
            )
            return None
        return TypedIdentity(outputs=(inputs[0],), data_ports=(0,), cost_ms=self.delay_ms, box_class=BoxClass.MAP)
