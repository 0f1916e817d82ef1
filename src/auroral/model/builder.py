"""Diagrams written in Python: `diagram(...)`, its inputs, and the steps that their streams take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from auroral.model import arguments as given
from auroral.model.aggregate_steps import AggregateSteps
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.local_clock import AT, CLOCK_SCHEMA
from auroral.model.boxes.revisable import Revisable, revised_name, with_mark
from auroral.model.boxes.stateless import Filter, Map
from auroral.model.checking import Checked
from auroral.model.checking import check as check_diagram
from auroral.model.diagram import Box, ConnectionPointView, Diagram, Input, Late, Output, Query, Stamp
from auroral.model.duration import UNITS, Duration
from auroral.model.errors import Place, Problem
from auroral.model.expression import Functions
from auroral.model.names import LOCAL
from auroral.model.on_error import OnError
from auroral.model.schema import Schema, SchemaLike
from auroral.model.steps import Stream
from auroral.model.table_contents import contents_of
from auroral.model.table_steps import TableHandle
from auroral.model.tables import Table
from auroral.model.types import Kind
from auroral.model.unjudged import Misread

STIME_UNITS = ("s", "ms", "us")


def diagram(name: str, *, bucket: Duration = "1s", participant: str = LOCAL) -> DiagramBuilder:
    """A new diagram; `bucket` is the length of the time buckets that it is evaluated in.

    `participant` is the organisation whose names these are: pictures, checks, run folders and catalogs say `participant/name`.
    """
    place = given.user_place(f"diagram {given.name_of('diagram', name)!r}")
    return DiagramBuilder(name, given.duration("bucket", bucket, place), given.text("participant", participant, place))


class DiagramBuilder:
    """Collects what a Python program says of a diagram. Whatever takes a Diagram takes this as well."""

    def __init__(self, name: str, bucket: int, participant: str):
        self.name = name
        self.bucket = bucket
        self.participant = participant
        self._inputs: list[Input] = []
        self._outputs: list[Output] = []
        self._views: list[ConnectionPointView] = []
        self._queries: dict[str, list[Box]] = {}
        self._query = name
        self._tables: dict[str, list[Table]] = {}

    @given.whole_call
    def input(
        self,
        stream: str,
        schema: SchemaLike,
        *,
        stime: str | None = None,
        unit: str | None = None,
        late: str = "move",
        delay: Duration | None = None,
        idle_after: Duration | None = None,
        revisions: Duration | None = None,
        key: Iterable[str] = (),
    ) -> Stream:
        """A stream that comes in.

        `stime` is the field that a row's time is in, and `unit` what an integer field counts ('s', 'ms' or
        'us'); without a field, rows get the time of their arrival. Rows may be `delay` out of order; later
        ones are moved, rejected or dropped (`late`). An input silent for `idle_after` follows the clock.

        With `revisions`, the source may correct a row for so long after its stime: rows have one more field, `revised_value`, in
        which it says so (docs/revisions.md), and `key` are the fields that name the row that is meant.
        """
        place = given.user_place(f"input {given.name_of('stream', stream)!r}")
        fields = given.schema_of(schema, place)
        named = given.fields("key", key, place)
        keep = given.optional_duration("revisions", revisions, place)
        if keep is None and named:
            given.refuse(
                "key names rows that are revised, and revisions are not allowed",
                place,
                allowed="key with revisions=...",
                next_step='say for how long rows may be revised, as in revisions="10m", or leave key out',
            )
        if keep is not None and not named:
            given.refuse(
                "no field names a row that is revised", place, ", ".join(fields.names), "say which do, with key=..."
            )
        if keep is not None:
            fields = with_mark(fields)
        wait = given.optional_duration("delay", delay, place)
        idle = given.optional_duration("idle_after", idle_after, place)
        if stime is None and (unit, wait, idle) != (None, None, None):
            given.refuse(
                "unit, delay and idle_after are about a stime field, and there is none",
                place,
                allowed="these with stime=...",
                next_step="name the field with stime=..., or leave them out: the clock is never late",
            )
        field = given.optional_text("stime", stime, place, "the name of a field, or None for the clock")
        stamp = Stamp(field, _stime_unit(fields, field, unit, place), wait or 0, idle)
        policy = given.choice("late policy", late, Late, place)
        if keep is not None and field is not None and policy is not Late.MOVE:
            given.refuse(
                f"revisions of rows whose bucket is closed would be late themselves, and late={policy.value!r} leaves them out",
                place,
                allowed="revisions with late='move'",
                next_step="leave late out",
            )
        self._inputs.append(Input(stream, fields, stamp, policy, place=place))
        if keep is None:
            return Stream(self, stream)
        name = revised_name(stream)
        return self.add(name, Revisable(keep, named), (Stream(self, stream),), (name,), place)[0]

    @given.whole_call
    def local_clock(self, stream: str = "clock") -> Stream:
        """The clock of the machine, as an input for timeouts that go by it (`clock=`): whoever runs the diagram feeds it."""
        return self.input(stream, CLOCK_SCHEMA, stime=AT)

    @given.whole_call
    def table(
        self,
        name: str,
        schema: SchemaLike,
        *,
        key: Iterable[str],
        indexes: Iterable[str] = (),
        contents: Iterable[Mapping[str, object]] = (),
    ) -> TableHandle:
        """A table that steps of this query read and write. `key` are the fields that tell its rows apart; rows are found fast by all of them
        or by one of `indexes`. `contents` are rows that it has at the beginning.
        """
        place = given.user_place(f"table {given.name_of('table', name)!r}")
        if not name.isidentifier():
            given.refuse(
                f"the table's name is {name!r}", place, "letters, digits and _", "rename it: SQL has to name it"
            )
        fields = given.schema_of(schema, place)
        keys = given.fields("key", key, place)
        table = Table(
            name,
            fields,
            keys,
            given.fields("indexes", indexes, place),
            place=place,
            contents=contents_of(fields, keys, contents, place),
        )
        self._tables.setdefault(self._query, []).append(table)
        return TableHandle(self, table)

    def query(self, name: str) -> AbstractContextManager[None]:
        """Steps made inside `with` belong to the query `name`; others to one with the diagram's name."""
        return self._inside(given.name_of("query", name))

    @contextmanager
    def _inside(self, query: str) -> Iterator[None]:
        before, self._query = self._query, query
        try:
            yield
        finally:
            self._query = before

    def build(self) -> Diagram:
        """The diagram as it stands, as an immutable value."""
        names = dict.fromkeys([*self._queries, *self._tables])
        return Diagram(
            self.name,
            tuple(self._inputs),
            tuple(self._outputs),
            tuple(Query(name, tuple(self._queries.get(name, ())), tuple(self._tables.get(name, ()))) for name in names),
            tuple(self._views),
            bucket=self.bucket,
            participant=self.participant,
        )

    def check(self, functions: Functions | None = None) -> Checked:
        """The types of all streams; raises one DiagramError with everything that is wrong."""
        return check_diagram(self.build(), functions)

    def to_mermaid(self) -> str:
        return self.build().to_mermaid()

    def to_xml(self, *, strict: bool = False) -> str:
        return self.build().to_xml(strict=strict)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {**self.build()._repr_mimebundle_(include, exclude), "text/plain": repr(self)}

    def __repr__(self) -> str:
        boxes = sum(len(query) for query in self._queries.values())
        return f"<diagram {self.name!r}: {len(self._inputs)} in, {boxes} steps, {len(self._outputs)} out>"

    def add(
        self,
        name: str,
        spec: BoxSpec,
        inputs: Sequence[AggregateSteps],
        outputs: Sequence[str],
        place: Place,
        access: tuple[str, ...] = (),
    ) -> tuple[Stream, ...]:
        """A step of any box type, into the current query; gives its output streams."""
        for stream in inputs:
            if not isinstance(stream, AggregateSteps):
                given.refuse(
                    f"{stream!r} is not a stream",
                    place,
                    "streams, as inputs and steps return them",
                    next_step="hand over the stream itself, not its name",
                )
            if stream.builder is not self:
                given.refuse(
                    f"stream {stream.name!r} belongs to another diagram, {stream.builder.name!r}",
                    place,
                    allowed=f"streams of {self.name!r}",
                    next_step="make the step in the diagram of its streams",
                )
        box = Box(name, spec, tuple(stream.name for stream in inputs), tuple(outputs), access=access, place=place)
        self._queries.setdefault(self._query, []).append(box)
        return tuple(Stream(self, stream) for stream in outputs)

    def refused(self, problems: Sequence[Problem], names: Sequence[str], place: Place) -> Stream | tuple[Stream, ...]:
        """What a call that was refused gives, while the errors of a file are gathered: streams that no step behind them is judged by."""
        call = f"{place.element} of line {place.line}"
        taken = {stream for boxes in self._queries.values() for box in boxes for stream in box.outputs}
        taken |= {one.stream for one in self._inputs}
        outputs = [n if n and n[0] != "." and n not in taken else f"{call}{n}" for n in names]
        number = sum(len(boxes) for boxes in self._queries.values())
        box = Box(f"{call}, {number}", Misread(None, tuple(problems)), (), tuple(outputs), place=place)
        self._queries.setdefault(self._query, []).append(box)
        streams = tuple(Stream(self, stream) for stream in outputs)
        return streams[0] if len(streams) == 1 else streams

    def add_errors(self, stream: AggregateSteps) -> Stream:
        """The stream of rows that the step of `stream` rejects: one more output of it, made when it is first asked for."""
        for boxes in self._queries.values():
            for at, box in enumerate(boxes):
                if stream.name in box.outputs and isinstance(box.spec, Filter | Map):
                    return Stream(self, self._with_errors(boxes, at, box.spec))
        return given.refuse(
            f"{stream.name!r} has no stream of errors",
            given.user_place(f"errors of {stream.name!r}"),
            allowed="results of a filter, split or map",
            next_step="call the functions that may fail in a map with on_error='reject'",
        )

    def _with_errors(self, boxes: list[Box], at: int, spec: Filter | Map) -> str:
        box = boxes[at]
        name = f"{box.name}.errors"
        if spec.on_error is not OnError.REJECT:
            given.refuse(
                f"step {box.name!r} rejects no rows: it has on_error={spec.on_error.value!r}",
                given.user_place(f"errors of {box.name!r}"),
                allowed="streams of errors of steps with on_error='reject'",
                next_step=f"write on_error='reject' in the step {box.name!r}",
            )
        if name not in box.outputs:
            boxes[at] = replace(box, outputs=(*box.outputs, name))
        return name

    def add_output(self, output: Output) -> None:
        self._outputs.append(output)

    def add_view(self, view: ConnectionPointView) -> None:
        self._views.append(view)


def as_diagram(given_diagram: Diagram | DiagramBuilder) -> Diagram:
    """The diagram, finished or still under construction."""
    if isinstance(given_diagram, DiagramBuilder):
        return given_diagram.build()
    other: object = given_diagram
    if not isinstance(other, Diagram):
        given.refuse(
            f"{other!r} is not a diagram",
            given.user_place("diagram"),
            allowed="what diagram(...) returned, or a Diagram",
            next_step="hand over the diagram itself",
        )
    return given_diagram


def check(diagram: Diagram | DiagramBuilder, functions: Functions | None = None) -> Checked:
    """The types of all streams of a diagram; raises one DiagramError with everything that is wrong."""
    return check_diagram(as_diagram(diagram), functions)


def _stime_unit(fields: Schema, name: str | None, unit: str | None, place: Place) -> int:
    """Microseconds in one step of the stime field. Unknown fields and other types: see `check`."""
    if unit is not None and unit not in STIME_UNITS:
        given.refuse(
            f"unit={unit!r}",
            place,
            ", ".join(map(repr, STIME_UNITS)),
            next_step="write what one step of the field is worth",
        )
    found = None if name is None else fields.get(name)
    if found is not None and found.is_integer and unit is None:
        given.refuse(
            f"stime field {name!r} is of type {found}, and what it counts is not said",
            place,
            allowed="unit='s', 'ms' or 'us'",
            next_step="add unit=... to the input",
        )
    if found is not None and found.kind is Kind.TIMESTAMP and unit is not None:
        given.refuse(
            f"stime field {name!r} is a timestamp and needs no unit",
            place,
            allowed="a unit for integer fields only",
            next_step="leave unit out",
        )
    return 1 if unit is None else UNITS[unit]
