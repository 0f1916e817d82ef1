"""Where inputs that do not say so take their stime from: the field that the windows downstream are on.

Borealis files say nothing of stime. A window on a field that carries its stream's stime is a window on stime,
which closes by boundary; so the field of the windows is followed back, by name, to the inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import Source
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join
from auroral.model.boxes.locks import Unlock
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.revisable import Revisable, Settled
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.tables import Exists, Insert
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.diagram import Box, Diagram, Input, Stamp
from auroral.model.errors import DiagramError, Problem, unknown_name
from auroral.model.expression import parse
from auroral.model.expression.syntax import Name
from auroral.model.types import Kind
from auroral.model.windows import FieldWindow

SECOND = 1_000_000


def with_stamps(diagram: Diagram, given: Mapping[str, Stamp] | None = None) -> tuple[Diagram, tuple[Problem, ...]]:
    """The diagram with a stamp on every input: the `given` one, its own, or what the windows ask for."""
    given = given or {}
    streams = [source.stream for source in diagram.inputs]
    wrong = [unknown_name("input stream", name, streams) for name in given if name not in streams]
    if wrong:
        raise DiagramError(wrong)
    asked = _asked_fields(diagram)
    inputs, warnings = [], []
    for source in diagram.inputs:
        stamp = given.get(source.stream, source.stamp)
        if stamp is None:
            fields = [name for name in asked.get(source.stream, ()) if _unit(source, name) is not None]
            stamp = Stamp(fields[0], _unit(source, fields[0]) or 1) if len(fields) == 1 else Stamp()
            if len(fields) > 1:
                warnings.append(
                    Problem(
                        f"windows over input {source.stream!r} are on several of its fields "
                        f"({', '.join(sorted(fields))}): rows get their stime from the clock",
                        source.place,
                        allowed="one field for each input",
                        next_step="say which field is the input's stime",
                    )
                )
        inputs.append(replace(source, stamp=stamp))
    return replace(diagram, inputs=tuple(inputs)), tuple(warnings)


def _unit(source: Input, name: str) -> int | None:
    """Microseconds in one step of the field, or None if it cannot be an stime. Integers count seconds."""
    found = source.schema.get(name)
    if found is None:
        return None
    return 1 if found.kind is Kind.TIMESTAMP else SECOND if found.is_integer else None


def _asked_fields(diagram: Diagram) -> dict[str, list[str]]:
    """For each input stream, the fields that windows somewhere downstream are on."""
    return fields_of_inputs(diagram, (wish for box in diagram.boxes for wish in _window_fields(box)))


def fields_of_inputs(diagram: Diagram, wanted: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """For each input stream, the fields of which fields of streams downstream, which are `wanted`, are copies."""
    made_by = {stream: (box, port) for box in diagram.boxes for port, stream in enumerate(box.outputs)}
    # Several windows on one field ask for one thing.
    pending = list(dict.fromkeys(wanted))
    seen = set(pending)
    found: dict[str, list[str]] = {source.stream: [] for source in diagram.inputs}
    while pending:
        stream, name = pending.pop()
        if stream in found:
            found[stream].append(name)
        elif stream in made_by:
            for wish in _before(*made_by[stream], name):
                if wish not in seen:
                    seen.add(wish)
                    pending.append(wish)
    return found


def _window_fields(box: Box) -> Iterator[tuple[str, str]]:
    match stood_for(box).spec:
        case Aggregate(window=FieldWindow(field=name, by_values=False)) if box.inputs:
            yield box.inputs[0], name
        case WindowDrop(field=str(name), tuples=False, by_values=False) if box.inputs:
            yield box.inputs[0], name
        case Join(left=left, right=right):
            for stream, buffer in zip(box.inputs, (left, right), strict=False):
                if buffer.field is not None and not buffer.tuples:
                    yield stream, buffer.field


def _before(box: Box, port: int, name: str) -> Iterator[tuple[str, str]]:
    """Where field `name` of the box's output comes from unchanged: stream and field."""
    box = stood_for(box)
    match box.spec:
        case SUnion() if (before := data_input(box, port)) is not None:
            yield before, name
        case (
            Filter()
            | Union()
            | SUnion()
            | SOutput()
            | Delay()
            | RandomDrop()
            | WindowDrop()
            | Insert()
            | Exists()
            | Unlock()
            | Revisable()
            | Settled()
        ):
            for stream in box.inputs:
                yield stream, name
        case BSort() | WSort() | WaitFor() | LRWaitFor() | Resample() if box.inputs:
            yield box.inputs[0], name
        case Map() if box.inputs and (copied := copied_field(box, name)) is not None:
            yield box.inputs[0], copied


def stood_for(box: Box) -> Box:
    """The box; for one that is another with revisions, that one."""
    return replace(box, spec=box.spec.like) if isinstance(box.spec, Revision) else box


def data_input(box: Box, port: int) -> str | None:
    """The input that output `port` of an sunion carries alone; None where inputs are merged.

    Output 0 is control; then there is one output for each input, or one for all.
    """
    return box.inputs[port - 1] if len(box.outputs) > 2 and 1 <= port <= len(box.inputs) else None


def copied_field(box: Box, name: str) -> str | None:
    """The field of a map's input that its field `name` is a copy of."""
    columns: tuple[tuple[str, Source], ...] = box.spec.columns if isinstance(box.spec, Map) else ()
    source = next((source for column, source in columns if column == name), None)
    try:
        root = parse(source).root if isinstance(source, str) else None
    except DiagramError:
        return None  # The checker reports it.
    own = isinstance(root, Name) and root.qualifier in (None, *box.inputs)
    return root.name if isinstance(root, Name) and own else None
