"""What every box states about itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.expression import (
    Functions,
    NotRegistered,
    Scope,
    SqlExpression,
    Typed,
    parse,
    resolve,
    user_functions,
)
from auroral.model.on_error import ERROR_FIELD, OnError, with_error
from auroral.model.stream import StreamType
from auroral.model.tables import Table
from auroral.model.types import BOOL
from auroral.model.written import place_of

Source = str | SqlExpression
"""An expression as a user writes it: Auroral's own language as text, or Spark SQL wrapped in `sql(...)`."""


class BoxClass(StrEnum):
    MAP = "map"
    WINDOW = "window"
    FOLD = "fold"


@dataclass(frozen=True, slots=True)
class BoxFacts:
    """A box type's row in the generated table of boxes."""

    box_class: str
    ports: str
    closing_event: str
    result_stime: str
    order_key: str
    state: str
    horizon: str
    deterministic: bool
    convergent: bool | str
    repeatable: bool | str
    compiles_to: str


PASSED_ON = BoxFacts(
    box_class="map",
    ports="1 in, 1 out",
    closing_event="-",
    result_stime="the row's",
    order_key="the input's",
    state="none",
    horizon="0",
    deterministic=True,
    convergent=True,
    repeatable=True,
    compiles_to="nothing",
)
"""Of a box that looks at each row by itself; others say in what they differ."""
MOVED_BY_ROWS = replace(
    PASSED_ON,
    box_class="fold",
    closing_event="a row",
    horizon="-",
    convergent=False,
    repeatable=False,
    compiles_to="a scan in processing order",
)
"""Of a box that keeps a state."""


@dataclass(frozen=True, slots=True)
class NotStime:
    """The field of input `port` that a window or a buffer is on does not carry the stream's stime."""

    port: int
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedBox:
    """A box whose inputs are known. `past` is how many microseconds before a bucket's start it reads.

    `waits` is how long after a row the boundary alone may still give something of it.
    `not_stime` is for the checker, which knows the boxes before this one: it finds where the time was lost.
    """

    outputs: tuple[StreamType, ...]
    box_class: BoxClass = BoxClass.MAP
    past: int = 0
    waits: int = 0
    required: tuple[bool, ...] = (True,)
    order_sensitive: bool = False
    on_error: OnError = OnError.STOP
    error_port: int | None = None
    """The output that has rejected rows, where one was asked for."""
    not_stime: tuple[NotStime, ...] = ()

    counted: ClassVar[bool] = False
    """Whether rows of its own choice are left out, by their time or by chance, and counted in the ledger."""

    @property
    def leaves_out(self) -> bool:
        """Whether the ledger may count rows of it."""
        return self.counted or self.on_error is OnError.REJECT

    @property
    def convergent(self) -> bool:
        """Whether it comes to the same state wherever it was started (D12): a fold need not."""
        return self.box_class is not BoxClass.FOLD

    def expressions(self) -> Iterator[Typed]:
        """Every expression that the box evaluates."""
        return iter(())


@dataclass(slots=True)
class Report:
    """Collects what is wrong with one box, so that all of it can be said at once.

    `bucket` is the length of the diagram's buckets, above 0. `streams` are what the box reads. `missing` are functions without which the box is right and
    cannot run.
    """

    box: str
    place: Place
    functions: Functions
    bucket: int
    streams: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    tables: Mapping[str, Table] = field(default_factory=dict)

    def add(self, what: str, allowed: str, next_step: str) -> None:
        self.problems.append(Problem(what, self.place, allowed, next_step))

    def warn(self, what: str, allowed: str, next_step: str) -> None:
        self.warnings.append(Problem(what, self.place, allowed, next_step))

    def at(self, text: object) -> Report:
        """This report, for what is said of `text`: at its own place, if it has one."""
        return replace(self, place=place_of(text, self.place))

    def scope(self, stream: StreamType) -> Scope:
        """The names for expressions of a box with one input."""
        return Scope.of(stream.schema, self.streams[0] if self.streams else None)

    def field(self, name: str, stream: StreamType) -> bool:
        if stream.schema.get(name) is None:
            self.problems.append(unknown_name("field", name, stream.schema.names, place_of(name, self.place)))
            return False
        return True

    def same_types(self, names: Iterable[str], inputs: Sequence[StreamType]) -> None:
        """Note fields that are there on both inputs, and of another type on each."""
        for name in names:
            first, second = (stream.schema[name] for stream in inputs)
            if first != second:
                self.add(
                    f"field {name!r} is {first} on input 0 and {second} on input 1",
                    allowed="the same type on both",
                    next_step="convert one of them with a map before this box",
                )

    def expression(self, source: Source, scope: Scope, what: str) -> Typed | None:
        """Parse and type `source`; None where it is wrong, with the problems noted."""
        try:
            expr = parse(source) if isinstance(source, str) else source
            return resolve(expr, scope, self.functions)
        except DiagramError as error:
            self.at(source).take(error, what)
            return None

    def take(self, error: DiagramError, what: str) -> None:
        """Note what is wrong with an expression, or missing for it."""
        into = self.missing if isinstance(error, NotRegistered) else self.problems
        into += [Problem(f"{what}: {p.what}", self.place, p.allowed, p.next_step) for p in error.problems]

    def rejects(self, on_error: OnError, expressions: Iterable[Typed], stream: StreamType, side: bool) -> bool:
        """Whether a box can do what it says on errors: note why not. `side` is whether it has a stream of rejected rows."""
        if on_error is OnError.STOP:
            return True
        if not any(user_functions(expression) for expression in expressions):
            self.add(
                "on_error='reject', and no expression here calls a Python function: there is nothing that could fail",
                allowed="on_error='reject' where a function of auroral.function is called",
                next_step="leave on_error out",
            )
            return False
        if side and stream.schema.get(ERROR_FIELD) is not None:
            self.add(
                f"rejected rows have a field {ERROR_FIELD!r} of their own already",
                allowed=f"streams of errors of rows without a field {ERROR_FIELD!r}, which holds what failed",
                next_step="rename the field with a map before this box",
            )
            return False
        return True

    def predicate(self, source: Source, scope: Scope, what: str) -> Typed | None:
        typed = self.expression(source, scope, what)
        if typed is not None and typed.type != BOOL:
            self.at(source).add(
                f"{what} is of type {typed.type}",
                allowed="a condition, of type bool",
                next_step="compare it with something",
            )
            return None
        return typed


@runtime_checkable
class BoxSpec(Protocol):
    """What a user says of a box. `resolve` returns None only when it reported a problem, or a missing function."""

    type: ClassVar[str]
    facts: ClassVar[BoxFacts]

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None: ...


def error_stream(stream: StreamType) -> StreamType:
    """The rejected rows of a box that reads `stream`, as they came in, and what failed; with a row that is taken back, its error is."""
    return StreamType(with_error(stream.schema), stream.clocks, stream.order, stream.kept)


def expect_ports(report: Report, kind: str, inputs: Sequence[StreamType], outputs: int, n_in: int, n_out: int) -> bool:
    """Note a wrong number of ports; whether the inputs are those that the box can be judged by."""
    wrong = [
        wrong_ports(kind, have, want, word, report.place)
        for have, want, word in ((len(inputs), n_in, "input"), (outputs, n_out, "output"))
        if have != want
    ]
    report.problems += wrong
    return len(inputs) == n_in


def wrong_ports(kind: str, have: int, want: int, word: str, place: Place) -> Problem:
    what = f"{kind} has {have} {word} stream{'s' * (have != 1)}"
    return Problem(what, place, f"{want}", f"connect {want} {word} stream{'s' * (want != 1)}")
