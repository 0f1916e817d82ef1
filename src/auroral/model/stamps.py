"""Where inputs that do not say so take their stime from: the field that the windows downstream are on.

Borealis files say nothing of stime. A window on a field that carries its stream's stime is a window on stime,
which closes by boundary; so the field of the windows is followed back, by name, to the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import Source
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
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
    made_by = {stream: (box, port) for box in diagram.boxes for port, stream in enumerate(box.outputs)}
    pending = [wish for box in diagram.boxes for wish in _window_fields(box)]
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
    match box.spec:
        case Aggregate(window=FieldWindow(field=name)) if box.inputs:
            yield box.inputs[0], name
        case WindowDrop(field=str(name), tuples=False) if box.inputs:
            yield box.inputs[0], name
        case Join(left=left, right=right):
            for stream, buffer in zip(box.inputs, (left, right), strict=False):
                if buffer.field is not None and not buffer.tuples:
                    yield stream, buffer.field


def _before(box: Box, port: int, name: str) -> Iterator[tuple[str, str]]:
    """Where field `name` of the box's output comes from unchanged: stream and field."""
    match box.spec:
        case SUnion() if len(box.outputs) > 2:
            # Output 0 is control; then there is one output for each input.
            if 1 <= port <= len(box.inputs):
                yield box.inputs[port - 1], name
        case Filter() | Union() | SUnion() | SOutput() | Delay() | RandomDrop() | WindowDrop():
            for stream in box.inputs:
                yield stream, name
        case Map(columns=columns) if box.inputs:
            for column, source in columns:
                bare = _bare_field(source) if column == name else None
                if bare is not None:
                    yield box.inputs[0], bare


def _bare_field(source: Source) -> str | None:
    try:
        root = parse(source).root if isinstance(source, str) else None
    except DiagramError:
        return None  # The checker reports it.
    return root.name if isinstance(root, Name) and root.qualifier is None else None
