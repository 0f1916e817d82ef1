"""Boxes that read and write a table: insert, select, update, delete, exists.

All boxes of one table are evaluated together, see `auroral.model.regions`: none of them runs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, Source, TypedBox, expect_ports
from auroral.model.boxes.stateless import schema_of
from auroral.model.errors import DiagramError, unknown_name
from auroral.model.expression import Scope, Typed
from auroral.model.expression.typed import FieldRef
from auroral.model.stream import ClockField, StreamType
from auroral.model.tables import Table
from auroral.model.tablesql import parse_sql, syntax
from auroral.model.tablesql.resolve import resolve_sql
from auroral.model.tablesql.typed import (
    INPUT,
    NEW,
    OLD,
    TypedDelete,
    TypedInsert,
    TypedSelect,
    TypedStatement,
    TypedUpdate,
)
from auroral.model.types import INT, LONG

ORDER = (LONG,)
"""Results of a region are numbered as it gives them, anew at each stime: a row that came in is followed to its end first."""


def region_facts(
    ports: str, *, shares: str = "table", result_stime: str = "the row's", state: str = "the table, by key"
) -> BoxFacts:
    """Of a box that is evaluated with all others that share something with it."""
    return BoxFacts(
        box_class=f"fold, with all boxes of its {shares}",
        ports=ports,
        closing_event="a row",
        result_stime=result_stime,
        order_key="as the region gives them",
        state=state,
        horizon="all of the past",
        deterministic=True,
        convergent=False,
        repeatable=False,
        compiles_to="rows of the region one by one, in processing order",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTableBox(TypedBox):
    """`input_port` is the output that has the row as it came, or that of an exists that finds something; `else_port` that of rows for
    which nothing was found; `sizes_port` has `sizes` and how many were found."""

    statement: TypedStatement
    input_port: int | None = None
    else_port: int | None = None
    sizes_port: int | None = None
    sizes: tuple[tuple[str, Typed], ...] = ()
    row_port: int | None = None
    """The output that has a row for each row found, or deleted."""
    columns: tuple[tuple[str, Typed], ...] = ()
    """What `row_port` has of an update, for each row that it changes."""

    @property
    def table(self) -> Table:
        statement = self.statement
        return statement.table if isinstance(statement, TypedInsert) else statement.matching.table

    @property
    def writes(self) -> bool:
        return not isinstance(self.statement, TypedSelect)

    def expressions(self) -> Iterator[Typed]:
        yield from self.statement.expressions()
        yield from (typed for _, typed in (*self.sizes, *self.columns))


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What all table boxes are told: one statement."""

    sql: str

    @property
    def shares(self) -> tuple[str, ...]:
        """What boxes of one region have in common: the table."""
        try:
            return (f"table {parse_sql(self.sql).table.name}",)
        except DiagramError:
            return ()  # the checker says what is wrong

    def _resolved(
        self, kind: type[syntax.Statement], inputs: Sequence[StreamType], report: Report
    ) -> TypedStatement | None:
        """The statement, of the kind that the box is for; None where it is wrong."""
        at = report.at(self.sql)
        try:
            statement = parse_sql(self.sql)
        except DiagramError as error:
            at.take(error, "sql")
            return None
        if not isinstance(statement, kind):
            said, wanted = type(statement).__name__.lower(), kind.__name__.lower()
            at.add(
                f"sql: this is an {said}" if said[0] in "iu" else f"sql: this is a {said}",
                wanted,
                f"write {wanted} ...",
            )
            return None
        table = report.tables.get(statement.table.name)
        if table is None:
            at.problems.append(unknown_name("table", statement.table.name, sorted(report.tables), at.place))
            return None
        if len(inputs) != 1:
            return None  # said with the other ports
        try:
            return resolve_sql(statement, table, inputs[0].schema, report.functions)
        except DiagramError as error:
            at.take(error, "sql")
            return None


def _made(
    typed: TypedStatement, outputs: Sequence[StreamType], *, input_port: int | None = None, **ports: object
) -> TypedTableBox:
    return TypedTableBox(
        outputs=tuple(outputs),
        box_class=BoxClass.FOLD,
        required=(False,),
        order_sensitive=True,
        statement=typed,
        input_port=input_port,
        **ports,  # type: ignore[arg-type]
    )


def _as_came(stream: StreamType) -> StreamType:
    return StreamType(stream.schema, stream.clocks, ORDER)


def _of_columns(columns: Iterable[tuple[str, Typed]], given: StreamType, report: Report) -> StreamType | None:
    chosen = list(columns)
    schema = schema_of(((name, typed.type) for name, typed in chosen), report)
    if schema is None:
        return None
    clocks = []
    for name, typed in chosen:
        if isinstance(typed, FieldRef) and typed.qualifier == INPUT:
            clock = given.clock(typed.name)
            if clock is not None:
                clocks.append(ClockField(name, clock.unit, clock.offset))
            elif given.schema.get(typed.name) is None:
                clocks.append(ClockField(name, 1))  # the stime itself
    return StreamType(schema, tuple(clocks), ORDER)


@dataclass(frozen=True, slots=True)
class Insert(TableSpec):
    """Puts a row into the table, in the place of one with the same key."""

    pass_input: bool = False

    type: ClassVar[str] = "insert"
    facts: ClassVar[BoxFacts] = region_facts("1 in, 0 or 1 out")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        typed = self._resolved(syntax.Insert, inputs, report)
        if not _ports(report, "insert", inputs, outputs, [("pass-input", self.pass_input)]) or typed is None:
            return None
        return _made(typed, [_as_came(inputs[0])] * self.pass_input, input_port=0 if self.pass_input else None)


@dataclass(frozen=True, slots=True)
class Select(TableSpec):
    """Looks rows up. A second output has rows that came in and for which there was none; one more how many there were."""

    pass_on_no_results: bool = False
    pass_result_sizes: bool = False

    type: ClassVar[str] = "select"
    facts: ClassVar[BoxFacts] = region_facts("1 in, 1 out (+ rows without results) (+ result sizes)")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        typed = self._resolved(syntax.Select, inputs, report)
        more = [("pass-on-no-results", self.pass_on_no_results), ("pass-result-sizes", self.pass_result_sizes)]
        if not _ports(report, "select", inputs, outputs, [("results", True), *more]):
            return None
        if typed is None:
            return None
        assert isinstance(typed, TypedSelect)
        given = inputs[0]
        found = [_of_columns(typed.columns, given, report)]
        if self.pass_on_no_results:
            found.append(_as_came(given))
        sizes: tuple[tuple[str, Typed], ...] = ()
        if self.pass_result_sizes:
            sizes = tuple(typed.matching.equal_to().items())
            schema = schema_of([*((name, t.type) for name, t in sizes), ("count", INT)], report)
            found.append(None if schema is None else StreamType(schema, (), ORDER))
        streams = [stream for stream in found if stream is not None]
        if len(streams) < len(found):
            return None
        return _made(
            typed,
            streams,
            row_port=0,
            else_port=1 if self.pass_on_no_results else None,
            sizes_port=len(streams) - 1 if self.pass_result_sizes else None,
            sizes=sizes,
        )


@dataclass(frozen=True, slots=True)
class Update(TableSpec):
    """Changes rows. The output has the row that came in, or `columns`, over `input`, `old` and `new`, for each row that was changed."""

    pass_input: bool = False
    columns: tuple[tuple[str, Source], ...] = ()

    type: ClassVar[str] = "update"
    facts: ClassVar[BoxFacts] = region_facts("1 in, 0 or 1 out")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        typed = self._resolved(syntax.Update, inputs, report)
        if self.pass_input and self.columns:
            report.add(
                "an update with pass-input gives the row that came in, and with output expressions what they say",
                allowed="one of the two",
                next_step="leave pass-input out, and add the input's fields to the expressions, as input.x",
            )
            return None
        more = [("pass-input, or output expressions", self.pass_input or bool(self.columns))]
        if not _ports(report, "update", inputs, outputs, more) or typed is None:
            return None
        assert isinstance(typed, TypedUpdate)
        if not self.columns:
            return _made(typed, [_as_came(inputs[0])] * self.pass_input, input_port=0 if self.pass_input else None)
        schema = typed.matching.table.schema
        scope = Scope(((INPUT, inputs[0].schema), (OLD, schema), (NEW, schema)), timeless=(OLD, NEW))
        given = [(name, report.expression(source, scope, f"field {name!r}")) for name, source in self.columns]
        columns = tuple((name, t) for name, t in given if t is not None)
        stream = _of_columns(columns, inputs[0], report)
        if stream is None or len(columns) < len(given):
            return None
        return _made(typed, [stream], row_port=0, columns=columns)


@dataclass(frozen=True, slots=True)
class Delete(TableSpec):
    """Takes rows out. Outputs have the rows that were taken out, and the row that came in."""

    pass_deletions: bool = False
    pass_input: bool = False

    type: ClassVar[str] = "delete"
    facts: ClassVar[BoxFacts] = region_facts("1 in, 0 out (+ deleted rows) (+ the input)")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        typed = self._resolved(syntax.Delete, inputs, report)
        more = [("pass-deletions", self.pass_deletions), ("pass-input", self.pass_input)]
        if not _ports(report, "delete", inputs, outputs, more) or typed is None:
            return None
        assert isinstance(typed, TypedDelete)
        streams = [StreamType(typed.matching.table.schema, (), ORDER)] * self.pass_deletions
        streams += [_as_came(inputs[0])] * self.pass_input
        return _made(
            typed,
            streams,
            row_port=0 if self.pass_deletions else None,
            input_port=len(streams) - 1 if self.pass_input else None,
        )


@dataclass(frozen=True, slots=True)
class Exists(TableSpec):
    """Passes rows for which the table has a row on; a second output, if there is one, has the others."""

    type: ClassVar[str] = "exists"
    facts: ClassVar[BoxFacts] = region_facts("1 in, 1 out (+ rows for which there is none)")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        typed = self._resolved(syntax.Select, inputs, report)
        both = outputs == 2
        if not expect_ports(report, "exists", inputs, outputs, 1, 1 + both) or typed is None:
            return None
        return _made(typed, [_as_came(inputs[0])] * (1 + both), input_port=0, else_port=1 if both else None)


def _ports(
    report: Report, kind: str, inputs: Sequence[StreamType], outputs: int, asked: Sequence[tuple[str, bool]]
) -> bool:
    """Note a wrong number of ports, and what each output is for."""
    wanted = sum(given for _, given in asked)
    if len(inputs) == 1 and outputs != wanted:
        said = [what for what, given in asked if given]
        what = f"{kind} has {outputs} output streams, and its parameters ask for {wanted}" + (
            f" ({', '.join(said)})" if said else ""
        )
        report.add(
            what,
            allowed="one output stream for each of: " + ", ".join(name for name, _ in asked),
            next_step="connect what is asked for, or set the parameter",
        )
        return False
    return expect_ports(report, kind, inputs, outputs, 1, wanted)
