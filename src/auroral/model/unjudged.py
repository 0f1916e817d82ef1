"""What can be said of a box though its inputs are unknown, because the box before it is wrong, or one of its parameters is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.aggregates import judge_aggregate_without_fields, typed_aggregate
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxFacts, BoxSpec, Report, Source, TypedBox, wrong_ports
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join
from auroral.model.boxes.later import Later
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.window_sizes import check_sizes
from auroral.model.boxes.xsection import XSection
from auroral.model.errors import DiagramError, Problem
from auroral.model.expression import judge_without_fields, parse, parse_aggregate
from auroral.model.on_error import OnError
from auroral.model.stream import StreamType

_ONE_INPUT = (Filter, Map, Aggregate, Delay, RandomDrop, WindowDrop)


@dataclass(frozen=True, slots=True)
class Misread:
    """A box in a file with a parameter that cannot be read, as it would be with some other value: what its other parameters say is
    judged all the same, so that all is told at once. A step of a Python file that was refused has no `spec`, and its `problems`."""

    spec: BoxSpec | None
    problems: tuple[Problem, ...] = ()

    type: ClassVar[str] = "misread"
    takes_revisions: ClassVar[bool] = True
    facts: ClassVar[BoxFacts] = Later.facts

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        report.problems += self.problems
        if len(inputs) != 1 or self.spec is None:
            return None
        (stream,), spec = inputs, self.spec
        scope = report.scope(stream)
        for one in _readable(spec):
            if one.aggregate:
                typed_aggregate(one.name, one.text, scope, report)
            else:
                report.expression(one.text, scope, one.name)
        if isinstance(spec, Aggregate | XSection):
            for name in spec.group_by if isinstance(spec, Aggregate) else spec.across:
                report.field(name, stream)
        return None


@dataclass(frozen=True, slots=True)
class _Text:
    """An expression, or the call of an aggregate, and what it is called in messages."""

    name: str
    text: str
    aggregate: bool = False


def passes_rows_on(spec: BoxSpec) -> bool:
    """Whether rows leave the box with the fields that they came with, whatever is wrong with the box."""
    if isinstance(spec, Misread):
        return spec.spec is not None and passes_rows_on(spec.spec)
    if isinstance(spec, Filter):
        # Rejected rows have one field more.
        return spec.on_error is OnError.STOP
    return isinstance(spec, Delay | RandomDrop | WindowDrop | BSort | WSort)


def judge_apart_from_types(spec: BoxSpec, inputs: Sequence[StreamType | None], report: Report) -> None:
    """Note expressions that are wrong whatever the fields are, sizes of windows, a wrong number of inputs, and fields of a join that
    its known input (not None) has not."""
    if isinstance(spec, Misread):
        report.problems += spec.problems
        _judge_sources(() if spec.spec is None else _readable(spec.spec), report)
        return
    wanted = 2 if isinstance(spec, Join) else 1 if isinstance(spec, _ONE_INPUT) else len(inputs)
    if len(inputs) != wanted:
        report.problems.append(wrong_ports(spec.type, len(inputs), wanted, "input", report.place))
    if isinstance(spec, Join):
        for stream, buffer in zip(inputs, (spec.left, spec.right), strict=False):
            if stream is not None and buffer.field is not None:
                report.field(buffer.field, stream)
    _judge_sources(_sources(spec), report)
    if isinstance(spec, Aggregate):
        check_sizes(spec.window, report)


def _judge_sources(sources: Iterable[_Text], report: Report) -> None:
    for one in sources:
        if one.aggregate:
            judge_aggregate_without_fields(one.name, one.text, report)
        else:
            _judge(one.name, one.text, report)


def _judge(what: str, source: str, report: Report) -> None:
    try:
        judge_without_fields(parse(source), report.functions)
    except DiagramError as error:
        report.at(source).take(error, what)


def _readable(spec: BoxSpec) -> Iterator[_Text]:
    """Whoever read the file has told of the others."""
    for one in _sources(spec):
        try:
            parse_aggregate(one.text) if one.aggregate else parse(one.text)
        except DiagramError:
            continue
        yield one


def _sources(spec: BoxSpec) -> Iterator[_Text]:
    """The expressions and aggregates of a box that are written in our language."""
    for name, source in _written(spec):
        if isinstance(source, str):
            yield _Text(name, source)
    if isinstance(spec, Aggregate | XSection):
        for name, call in spec.functions:
            yield _Text(name, call, aggregate=True)


def _written(spec: BoxSpec) -> Iterator[tuple[str, Source]]:
    match spec:
        case Filter(predicates=predicates):
            for number, predicate in enumerate(predicates):
                yield f"predicate {number}", predicate
        case Map(columns=columns) | Combine(columns=columns):
            for name, source in columns:
                yield f"field {name!r}", source
        case Join(predicate=predicate, columns=columns):
            yield "predicate", predicate
            for name, source in columns:
                yield f"field {name!r}", source
        case WaitFor(predicate=predicate):
            yield "predicate", predicate
