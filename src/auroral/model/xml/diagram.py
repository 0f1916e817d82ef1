"""Borealis diagram files (X1, X2): text to a Diagram, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from auroral.model.boxes.serialize import SUnion
from auroral.model.checking import check
from auroral.model.diagram import (
    DEFAULT_BUCKET,
    Box,
    ConnectionPointView,
    Diagram,
    Input,
    Output,
    Query,
    QueueOptions,
    Stamp,
)
from auroral.model.errors import DiagramError, Problem, nearest
from auroral.model.names import LOCAL
from auroral.model.stamps import with_stamps
from auroral.model.xml.extensions import is_exact, length, own_name, with_bound, with_stamp
from auroral.model.xml.notes import Notes
from auroral.model.xml.parameters import LARGEST
from auroral.model.xml.queries import UNREADABLE, Queries, written_parameters
from auroral.model.xml.queues import queue_options
from auroral.model.xml.read import Element, expect_root, read_xml
from auroral.model.xml.schemas import Schemas
from auroral.model.xml.update import make_changes
from auroral.model.xml.vocabulary import DIAGRAM, check_words

MILLISECOND = 1_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """A diagram as read, not yet checked (`auroral.model.checking.check`), and what was odd in its file."""

    diagram: Diagram
    warnings: tuple[Problem, ...] = ()


def read_diagram(
    text: str | bytes,
    file: str | None = None,
    *,
    name: str | None = None,
    stamps: Mapping[str, Stamp] | None = None,
    changes: Iterable[Element] = (),
) -> Loaded:
    """Read a `<borealis>` file. `stamps` says, by stream, where inputs take their stime from; else windows. `changes` are edits of update
    files, which are made before it is looked at.

    Raises one DiagramError with all problems of the file, those of the diagram in it included.
    """
    root = read_xml(text, file)
    expect_root(root, "borealis", file)
    notes = Notes(file)
    notes.exact = is_exact(root, notes)
    make_changes(root, changes, notes)
    check_words(root, DIAGRAM, notes)
    named = name or own_name(root, "name", notes) or (PurePath(file).stem if file else "") or "diagram"
    diagram = _Reading(root, notes).diagram(named)
    given = {
        notes.folded(stream): replace(stamp, field=stamp.field and notes.folded(stamp.field))
        for stream, stamp in (stamps or {}).items()
    }
    try:
        diagram, odd = with_stamps(diagram, given)
    except DiagramError as error:
        notes.errors += error.problems
        odd = ()
    if notes.errors:
        notes.errors += _what_else(diagram)
        raise notes.failure()
    warnings = sorted((*notes.warnings, *odd), key=lambda problem: problem.place.line or 0)
    return Loaded(diagram, tuple(warnings))


def _what_else(diagram: Diagram) -> tuple[Problem, ...]:
    """What the checker finds in the parts that could be read: a file is mended once, not layer by layer."""
    try:
        check(diagram)
    except DiagramError as error:
        return error.problems
    return ()


class _Reading:
    def __init__(self, root: Element, notes: Notes):
        self.root = root
        self.notes = notes
        self.schemas = Schemas(root, notes)
        self.views = tuple(
            v for v in (self._view(e) for e in root.with_queries("connection_point_view")) if v is not None
        )
        # Input streams that are named but whose schema is not known.
        self.unreadable: list[str] = []

    def diagram(self, name: str) -> Diagram:
        queue = queue_options(self.root, QueueOptions(), self.notes)
        made = self._made_by_boxes()
        inputs = tuple(i for i in (self._input(e, made) for e in self.root.with_queries("input")) if i is not None)
        view_names = {
            v for e in self.root.with_queries("connection_point_view") if (v := self.notes.name(e)) is not None
        }
        reading = Queries(self.root, self.schemas, view_names, self.notes)
        queries = reading.read(queue)
        boxes = [box for query in queries for box in query.boxes]
        self._views_have_streams(inputs, boxes)
        delays = longest_delays(boxes)
        outputs = tuple(o for o in (self._output(e, delays) for e in self.root.with_queries("output")) if o is not None)
        self._not_applied({query.name.lower() for query in queries})
        if self.unreadable:
            # A stand-in, so that readers of these streams are not reported for reading them.
            queries = (
                *queries,
                Query("<unreadable>", (Box("<unreadable>", UNREADABLE, (), tuple(self.unreadable)),)),
            )
        bucket = length(self.root, "bucket", self.notes)
        return Diagram(
            name,
            inputs,
            outputs,
            queries,
            (*self.views, *reading.named_views.values()),
            self.schemas.read(),
            usual_bucket(boxes) if bucket is None else bucket,
            own_name(self.root, "participant", self.notes) or LOCAL,
            queue,
        )

    def _made_by_boxes(self) -> set[str]:
        outs = (out for box in self.root.with_queries("box") for out in box.all("out"))
        return {self.notes.folded(out.attributes.get("stream", "")) for out in outs}

    def _input(self, element: Element, made: set[str]) -> Input | None:
        stream, schema = self.notes.name(element, "stream"), self.schemas.of(element)
        self._old_endpoint(element)
        if stream is None:
            return None
        if stream in made:
            # In Borealis <input> only declared a stream's schema: what no box made came from outside.
            self.notes.warn(
                element,
                f"<input> of stream {stream!r} is ignored: a box makes the stream",
                next_step="remove it, or give one of the two another name",
            )
            return None
        if schema is None:
            self.unreadable.append(stream)
            return None
        node = element.attributes.get("node", "").strip() or None
        given = Input(stream, schema, node=node, place=self.notes.place(element), any_case=not self.notes.exact)
        return with_stamp(given, element, self.notes)

    def _output(self, element: Element, delays: dict[str, int]) -> Output | None:
        stream, schema = self.notes.name(element, "stream"), self.schemas.of(element)
        self._old_endpoint(element)
        if stream is None:
            return None
        # A bound of 0 ms says that nothing is ever held back: there is no bound to keep.
        availability = delays.get(stream, 0) * MILLISECOND or None
        return with_bound(Output(stream, availability, schema, self.notes.place(element)), element, self.notes)

    def _old_endpoint(self, element: Element) -> None:
        if "endpoint" in element.attributes:
            what = f"the endpoint of an {element.tag} is ignored"
            self.notes.warn(
                element,
                what,
                next_step="publish and subscribe in the deployment file say where streams come from and go",
            )

    def _view(self, element: Element) -> ConnectionPointView | None:
        name, stream = self.notes.name(element), self.notes.name(element, "stream")
        order = next((self.notes.name(child, "field") for child in element.all("order")), None)
        if any(element.all("size")) and any(element.all("range")):
            self.notes.error(
                element, "the view has both a size and a range", "one of them", next_step="remove <size> or <range>"
            )
        size, start, end, radius = (
            self._first_number(element, tag, attribute)
            for tag, attribute in (
                ("size", "value"),
                ("range", "start"),
                ("range", "end"),
                ("radius", "value"),
            )
        )
        if name is None or stream is None:
            return None
        parameters = written_parameters(list(element.all("parameter")), self.notes)
        return ConnectionPointView(name, stream, order, size, start, end, radius, parameters, self.notes.place(element))

    def _first_number(self, element: Element, tag: str, attribute: str) -> int | None:
        child = next(element.all(tag), None)
        text = None if child is None else child.attributes.get(attribute)
        if child is None or text is None:
            return None
        return self.notes.whole(child, f"{attribute!r} of <{tag}>", text, -LARGEST if tag == "range" else 0, LARGEST)

    def _views_have_streams(self, inputs: tuple[Input, ...], boxes: list[Box]) -> None:
        streams = {*self.unreadable, *(given.stream for given in inputs)}
        streams.update(stream for box in boxes for stream in box.outputs)
        for element in self.root.with_queries("connection_point_view"):
            stream = self.notes.folded(element.attributes.get("stream", ""))
            if stream and stream not in streams and not self.notes.full:
                meant = nearest(stream, sorted(streams))
                hint = f"did you mean {meant!r}?" if meant else None
                self.notes.warn(element, f"the view is of stream {stream[:60]!r}, which is not there", next_step=hint)

    def _not_applied(self, queries: set[str]) -> None:
        for element in self.root.all("delete"):
            query = self.notes.name(element, "query", fold=False)
            if query is not None:
                unknown = "" if query.lower() in queries else " (there is no such query)"
                self.notes.warn(
                    element, f"<delete> of query {query!r}{unknown} is not applied when a diagram is loaded"
                )
        for tag in ("publish", "subscribe"):
            for element in self.root.all(tag):
                self.notes.name(element, "stream")
                self.notes.warn(element, f"<{tag}> is ignored in a diagram", next_step="put it into a deployment file")


def usual_bucket(boxes: Iterable[Box]) -> int:
    """The length of buckets where a file says none: that of its sunions."""
    intervals = [box.spec.interval_ms * MILLISECOND for box in boxes if isinstance(box.spec, SUnion)]
    return min(intervals, default=DEFAULT_BUCKET)


def longest_delays(boxes: list[Box]) -> dict[str, int]:
    """For each stream, the largest max-delay (ms) of the sunions upstream of it."""
    delays: dict[str, int] = {}
    readers: dict[str, list[Box]] = {}
    for box in boxes:
        for stream in box.inputs:
            readers.setdefault(stream, []).append(box)
    # Longest first: each stream is then reached once, with its largest value.
    sunions = sorted((b for b in boxes if isinstance(b.spec, SUnion)), key=_max_delay, reverse=True)
    for sunion in sunions:
        pending = list(sunion.outputs)
        while pending:
            stream = pending.pop()
            if stream not in delays:
                delays[stream] = _max_delay(sunion)
                pending += [out for box in readers.get(stream, ()) for out in box.outputs]
    return delays


def _max_delay(box: Box) -> int:
    return max(box.spec.max_delay_ms, default=0) if isinstance(box.spec, SUnion) else 0
