"""Queries, boxes and tables of a diagram file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.changes import TableChanges
from auroral.model.boxes.later import Later
from auroral.model.boxes.user import packaged_box
from auroral.model.diagram import Box, ConnectionPointView, Query, QueueOptions
from auroral.model.errors import DiagramError, nearest, unknown_name
from auroral.model.packages import Kind, names_offered
from auroral.model.tables import Table
from auroral.model.unjudged import Misread
from auroral.model.xml.boxes import ARRAY_BOXES, SHAPES, is_array_box, spec_of
from auroral.model.xml.notes import Notes
from auroral.model.xml.parameters import Parameters, Shape
from auroral.model.xml.queues import queue_options
from auroral.model.xml.read import Element
from auroral.model.xml.schemas import Schemas
from auroral.model.xml.user_boxes import shape_of, user_box

UNREADABLE = Later("unreadable")
CHANGES = "auroral:changes"
"""The box type of a table's changes, in files that do not say them by a parameter of the table."""


@dataclass(slots=True)
class Changes:
    """What `modify` elements say, by the names of boxes and tables."""

    parameters: dict[tuple[str, str], list[Element]] = field(default_factory=dict)
    inputs: dict[str, list[Element]] = field(default_factory=dict)


def read_changes(root: Element, notes: Notes) -> Changes:
    changes = Changes()
    known = {
        kind: {n for e in _everywhere(root, kind) if (n := notes.name(e)) is not None} for kind in ("box", "table")
    }
    for element in root.all("modify"):
        for kind in ("box", "table"):
            name = notes.name(element, kind)
            if name is None:
                continue
            if name not in known[kind]:
                notes.unknown(element, kind, name, sorted(known[kind]))
                continue
            changes.parameters.setdefault((kind, name), []).extend(element.all("parameter"))
            if kind == "box":
                changes.inputs.setdefault(name, []).extend(element.all("in"))
            elif any(element.all("in")):
                notes.warn(element, "a table has no input streams; <in> is ignored")
    return changes


def _everywhere(root: Element, tag: str) -> list[Element]:
    """Boxes or tables, in queries and outside."""
    return list(root.with_queries(tag))


class Queries:
    """Reads all queries of one file; `views` are the names of those that are declared, `named_views` those that only ports name."""

    def __init__(self, root: Element, schemas: Schemas, views: set[str], notes: Notes):
        self.root = root
        self.schemas = schemas
        self.views = views
        self.notes = notes
        self.changes = read_changes(root, notes)
        self.tables = {name for e in _everywhere(root, "table") if (name := notes.name(e)) is not None}
        self.seen_tables: set[str] = set()
        self.named_views: dict[str, ConnectionPointView] = {}

    def read(self, outer: QueueOptions) -> tuple[Query, ...]:
        queries: dict[str, Query] = {}
        for element in self.root.children:
            query = self._query(element, outer)
            if query is None:
                continue
            earlier = queries.get(query.name)
            if earlier is not None:
                self.notes.warn(element, f"query {query.name!r} is there twice; both are taken as one query")
                query = Query(
                    query.name,
                    (*earlier.boxes, *query.boxes),
                    (*earlier.tables, *query.tables),
                    query.node or earlier.node,
                    query.queue.inherit(earlier.queue),
                )
            queries[query.name] = query
        return tuple(queries.values())

    def _query(self, element: Element, outer: QueueOptions) -> Query | None:
        """A box or table outside a query becomes a query with its own name: deployment files rely on that."""
        match element.tag:
            case "query":
                queue = queue_options(element, outer, self.notes)
                name = self.notes.name(element, fold=False) or f"query in line {element.line}"
                boxes = tuple(self._box(child, queue) for child in element.all("box"))
                tables = tuple(t for child in element.all("table") if (t := self._table(child)) is not None)
                return Query(name, (*boxes, *self._changes(tables)), tables, _node(element), queue)
            case "box":
                box = self._box(element, outer)
                return Query(box.name, (box,), (), box.node, box.queue)
            case "table":
                table = self._table(element)
                return None if table is None else Query(table.name, (), (table,), table.node, outer)
            case _:
                return None

    def _box(self, element: Element, outer: QueueOptions) -> Box:
        """The box; one that is wrong keeps its name and streams, so that the rest can still be checked."""
        name = self.notes.name(element)
        queue = queue_options(element, outer, self.notes)
        ports = list(element.all("in"))
        inputs = [self.notes.name(port, "stream") for port in ports]
        outputs = [self.notes.name(port, "stream") for port in element.all("out")]
        for change in self.changes.inputs.get(name or "", ()):
            self._reconnect(change, inputs)
        access = tuple(table for a in element.all("access") if (table := self._accessed(a)) is not None)
        if self.notes.word(element, "type") == CHANGES:
            return self._changes_box(element, name, tuple(outputs), queue, access)
        if not ports:
            self.notes.error(element, "the box reads no stream", "at least one <in>", 'add <in stream="..."/>')
        port_queues = tuple(queue_options(port, queue, self.notes) for port in ports)
        port_views = tuple(self._view(port, stream) for port, stream in zip(ports, inputs, strict=True))
        spec = self._spec(element, name, len(ports))
        streams_read = all(stream is not None for stream in (*inputs, *outputs))
        return Box(
            name or f"box in line {element.line}",
            spec if ports and streams_read else UNREADABLE,
            tuple(stream for stream in inputs if stream is not None),
            tuple(stream for stream in outputs if stream is not None),
            _node(element),
            queue,
            port_queues if any(options != queue for options in port_queues) else (),
            port_views if any(port_views) else (),
            access,
            self.notes.place(element),
        )

    def _changes_box(
        self,
        element: Element,
        name: str | None,
        outputs: tuple[str | None, ...],
        queue: QueueOptions,
        access: tuple[str, ...],
    ) -> Box:
        """The changes of a table, where they are a box of their own: it reads no stream."""
        if any(element.all("in")) or len(access) != 1:
            wants = "no <in>, and one <access>: the table whose changes it gives out"
            self.notes.error(element, f"{CHANGES} has other streams or tables than it takes", wants, "mend them")
        Parameters(element, Shape(), self.notes)
        return Box(
            name or f"box in line {element.line}",
            TableChanges(access[0]) if access else UNREADABLE,
            (),
            tuple(stream for stream in outputs if stream is not None),
            _node(element),
            queue,
            access=access,
            place=self.notes.place(element),
        )

    def _changes(self, tables: tuple[Table, ...]) -> Iterator[Box]:
        """The box that gives out the changes of a table: its parameter `changes` names the stream."""
        for table in tables:
            if table.changes_stream is not None:
                yield changes_box(table, self.notes.folded(table.changes_stream))

    def _reconnect(self, change: Element, inputs: list[str | None]) -> None:
        stream = self.notes.name(change, "stream")
        port = self.notes.whole(change, "port", change.attributes.get("port", "0"), 0, max(len(inputs) - 1, 0))
        if stream is not None and port is not None and inputs:
            inputs[port] = stream

    def _view(self, port: Element, stream: str | None) -> str | None:
        """The view that a port names. One that is declared nowhere is of the stream that the port reads, as in Borealis."""
        name = self.notes.name(port, "connection_point_view")
        if name is None or name in self.views or stream is None:
            return name
        if (meant := nearest(name, sorted(self.views))) is not None:
            self.notes.warn(
                port,
                f"connection_point_view {name!r} is declared nowhere: it is taken for one of stream {stream!r}",
                ", ".join(sorted(self.views)),
                f"did you mean {meant!r}?",
            )
        self.named_views.setdefault(name, ConnectionPointView(name, stream, place=self.notes.place(port)))
        return name

    def _accessed(self, access: Element) -> str | None:
        name = self.notes.name(access, "table")
        if name is not None and name not in self.tables:
            self.notes.unknown(access, "table", name, sorted(self.tables))
        return name

    def _spec(self, element: Element, name: str | None, inputs: int) -> BoxSpec:
        type_name = self.notes.word(element, "type")
        if type_name is None:
            return UNREADABLE
        if is_array_box(type_name):
            self.notes.error(
                element,
                f"box type {type_name!r} is one of the array and video boxes, which are not supported",
                f"any type but {', '.join(ARRAY_BOXES)}",
                "do this step outside, or write it as an `apply` box in Python",
            )
            return UNREADABLE
        shape = SHAPES.get(type_name)
        try:
            offered = packaged_box(type_name, "built in" if shape is not None else None)
        except DiagramError as error:
            for problem in error.problems:
                self.notes.add(replace(problem, place=self.notes.place(element)))
            return UNREADABLE
        changes = self.changes.parameters.get(("box", name or ""), ())
        if offered is not None:
            read = user_box(offered, Parameters(element, shape_of(offered), self.notes, changes))
            return UNREADABLE if read is None else read
        if shape is None:
            known = names_offered(Kind.BOX, SHAPES)
            self.notes.add(unknown_name("box type", type_name, known, self.notes.place(element)))
            return UNREADABLE
        parameters = Parameters(element, shape, self.notes, changes)
        spec = spec_of(type_name, parameters, inputs)
        return Misread(spec) if parameters.failed else spec

    def _table(self, element: Element) -> Table | None:
        name, schema = self.notes.name(element), self.schemas.of(element)
        if name in self.seen_tables:
            self.notes.error(
                element,
                f"table name {name!r} is used twice",
                allowed="names that are unique in a diagram",
                next_step="names are unique in a diagram",
            )
            return None
        self.seen_tables.add(name or "")
        keys = _keys(element, self.notes)
        indexes = [(self.notes.name(index, "field"), index) for index in element.all("index")]
        if not keys:
            self.notes.error(element, "the table has no key", "at least one <key>", 'add <key field="..."/>')
        if name is None or schema is None:
            return None
        for wanted, child in (*keys, *indexes):
            if wanted is not None and schema.get(wanted) is None:
                self.notes.unknown(child, "field", wanted, schema.names)
        given = list(element.all("parameter")) + self.changes.parameters.get(("table", name), [])
        # What is wrong is said once, here.
        known = tuple(key for key, _ in keys if key is not None and schema.get(key) is not None)
        return Table(
            name,
            schema,
            known or schema.names,
            tuple(index for index, _ in indexes if index is not None and schema.get(index) is not None),
            self.notes.name(element, "stream"),
            _node(element),
            written_parameters(given, self.notes),
            self.notes.place(element),
        )


def changes_box(table: Table, stream: str) -> Box:
    return Box(
        f"{table.name}.changes", TableChanges(table.name), (), (stream,), access=(table.name,), place=table.place
    )


def _keys(table: Element, notes: Notes) -> list[tuple[str | None, Element]]:
    """The key fields and where each is named: in <key>, one or a list, or in the old parameter `key`."""
    named = [(notes.name(key, "field"), key) for key in table.all("key")]
    if not named:
        parameters = (p for p in table.all("parameter") if p.attributes.get("name", "").strip().lower() == "key")
        named = [(p.attributes.get("value"), p) for p in parameters]
    return [
        (notes.folded(part) if part.strip() else None, element)
        for text, element in named
        for part in (text or "").split(",")
    ]


def written_parameters(elements: list[Element], notes: Notes) -> tuple[tuple[str, str], ...]:
    """Parameters as they stand, of a table or a view; of equal names the last counts."""
    named = ((notes.word(element, "name"), element.attributes.get("value", "")) for element in elements)
    return tuple({name: value for name, value in named if name is not None}.items())


def _node(element: Element) -> str | None:
    return element.attributes.get("node", "").strip() or None
