"""What can be said of a box though its inputs are unknown, because the box before it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec, Source, wrong_ports
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.expression import parse, parse_aggregate
from auroral.model.on_error import OnError
from auroral.model.stream import StreamType
from auroral.model.written import place_of

_ONE_INPUT = (Filter, Map, Aggregate, Delay, RandomDrop, WindowDrop)


def passes_rows_on(spec: BoxSpec) -> bool:
    """Whether rows leave the box with the fields that they came with, whatever is wrong with the box."""
    if isinstance(spec, Filter):
        # Rejected rows have one field more.
        return spec.on_error is OnError.STOP
    return isinstance(spec, Delay | RandomDrop | WindowDrop | BSort | WSort)


def problems_apart_from_types(spec: BoxSpec, inputs: Sequence[StreamType | None], place: Place) -> Iterator[Problem]:
    """Expressions that cannot be read, whatever the fields are, a wrong number of inputs, and fields of a join that its known input
    (not None) has not."""
    wanted = 2 if isinstance(spec, Join) else 1 if isinstance(spec, _ONE_INPUT) else len(inputs)
    if len(inputs) != wanted:
        yield wrong_ports(spec.type, len(inputs), wanted, "input", place)
    if isinstance(spec, Join):
        for stream, buffer in zip(inputs, (spec.left, spec.right), strict=False):
            if stream is not None and buffer.field is not None and stream.schema.get(buffer.field) is None:
                yield unknown_name("field", buffer.field, stream.schema.names, place_of(buffer.field, place))
    for what, source, read in _sources(spec):
        if not isinstance(source, str):
            continue
        try:
            read(source)
        except DiagramError as error:
            for problem in error.problems:
                yield replace(problem, what=f"{what}: {problem.what}", place=place_of(source, place))


def _sources(spec: BoxSpec) -> Iterator[tuple[str, Source, Callable[[str], object]]]:
    match spec:
        case Filter(predicates=predicates):
            for number, predicate in enumerate(predicates):
                yield f"predicate {number}", predicate, parse
        case Map(columns=columns):
            for name, source in columns:
                yield f"field {name!r}", source, parse
        case Join(predicate=predicate, columns=columns):
            yield "predicate", predicate, parse
            for name, source in columns:
                yield f"field {name!r}", source, parse
        case Combine(columns=columns):
            for name, source in columns:
                yield f"field {name!r}", source, parse
        case WaitFor(predicate=predicate):
            yield "predicate", predicate, parse
        case Aggregate(functions=functions) | XSection(functions=functions):
            for name, call in functions:
                yield f"aggregate {name!r}", call, parse_aggregate
