"""Where the stime of a stream was lost on its way to a field that a window or a join is on, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join
from auroral.model.boxes.later import NotYet
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.revisable import Revisable, Settled
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.diagram import Box, Diagram, Input
from auroral.model.stamps import copied_field, data_input, stood_for
from auroral.model.stream import StreamType
from auroral.model.types import Kind
from auroral.model.windows import Alignment, FieldWindow

_COPY = "add a map behind {!r} with a field whose expression is stime (microseconds), and order on that; or have the windows before it"


def lost_time(diagram: Diagram, streams: Mapping[str, StreamType], stream: str, field: str) -> NotYet:
    """Why `field` does not carry the stime of `stream`, by the box or the input that it comes from."""
    made_by = {name: (box, port) for box in diagram.boxes for port, name in enumerate(box.outputs)}
    while stream in made_by:
        made, port = made_by[stream]
        box = stood_for(made)
        match box.spec:
            case Filter() | SOutput() | Delay() | RandomDrop() | WindowDrop() | Revisable() | Settled():
                stream = box.inputs[0]
            case Union() | SUnion():
                before = data_input(box, port)
                sources = box.inputs if before is None else (before,)
                without = next((s for s in sources if streams[s].clock(field) is None), None)
                if without is None:
                    return NotYet(
                        f"streams that box {box.name!r} unites carry their stimes in {field!r} in different ways: it counts "
                        "other units, or is the start of windows of other sizes",
                        "give their inputs one unit (--stime), and their windows one size",
                    )
                stream = without
            case Map() if port > 0:
                # Rows that it rejects, with the fields that they came with.
                stream = box.inputs[0]
            case Map(columns=columns):
                copied = copied_field(box, field)
                if copied is None:
                    source = dict(columns)[field]
                    return NotYet(
                        f"box {box.name!r} computes {field!r} as {str(source)!r}, which is not the stime any more",
                        f"pass a stime field on as it is in box {box.name!r}, and order on that",
                    )
                field, stream = copied, box.inputs[0]
            case _:
                return _made(box, field, streams)
    given = diagram.input(stream)
    assert given is not None  # what no box makes is an input, or was reported
    return _given(given, field)


def _made(box: Box, field: str, streams: Mapping[str, StreamType]) -> NotYet:
    match box.spec:
        case Join():
            return NotYet(
                f"{field!r} comes out of join {box.name!r}: a pair's stime is the later of its two rows', which is in no field",
                _COPY.format(box.name),
            )
        case Aggregate(window=FieldWindow(field=start)) if streams[box.inputs[0]].clock(start) is None:
            return NotYet(
                f"{field!r} comes out of aggregate {box.name!r}, whose windows are not on stime themselves",
                f"see what is said of box {box.name!r}",
            )
        case Aggregate(window=FieldWindow(field=start, alignment=Alignment.FIRST)) if start == field:
            return NotYet(
                f"{field!r} comes out of aggregate {box.name!r}, whose windows begin with their group's first row: a row closes "
                "them, however late, and that row's stime is the result's",
                f"set independent-window-alignment to 1 in box {box.name!r}: then the stime follows from {field!r}",
            )
        case Aggregate():
            return NotYet(
                f"{field!r} comes out of aggregate {box.name!r}, and is not the field that its windows are on",
                f"order on the field that the windows of box {box.name!r} are on",
            )
        case BSort() | WSort() | WaitFor() | LRWaitFor() | Resample():
            return NotYet(
                f"{field!r} comes out of {box.spec.type} {box.name!r}, where a row goes on later than it came, with a later stime",
                _COPY.format(box.name),
            )
        case _:
            return NotYet(
                f"{field!r} comes out of box {box.name!r}", "order on a field that carries the stream's stime"
            )


def _given(given: Input, field: str) -> NotYet:
    kind, stamp = given.schema[field], given.stamp
    if not (kind.is_integer or kind.kind is Kind.TIMESTAMP):
        return NotYet(
            f"field {field!r} of input {given.stream!r} is a {kind}, and stimes are integers or timestamps",
            f"declare it as long or timestamp in the schema of {given.stream!r}, and convert the data",
        )
    taken = "the clock" if stamp is None or stamp.field is None else f"the field {stamp.field!r}"
    return NotYet(
        f"input {given.stream!r} takes its stime from {taken}",
        f"take it from this field: --stime {given.stream}={field}, or stime= of auroral.load",
    )
