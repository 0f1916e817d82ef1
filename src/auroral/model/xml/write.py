"""Diagrams as Borealis XML (X8): what is written is read again as the same diagram, or refused by name.

What Borealis' own words cannot say stands in attributes and parameters that begin with `auroral:` (see `extensions`), and only there
where a reader would otherwise take it for something else: a diagram from a Borealis file is written in Borealis' words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from auroral.model.boxes.user import UserBox
from auroral.model.diagram import Box, ConnectionPointView, Diagram, QueueOptions
from auroral.model.errors import DiagramError, Problem
from auroral.model.naming import placed
from auroral.model.tables import Table
from auroral.model.xml.extensions import CASE, EXACT, NAMESPACE, PREFIX
from auroral.model.xml.folding import unfolded
from auroral.model.xml.queries import changes_box
from auroral.model.xml.read import Element
from auroral.model.xml.same import difference, writable_form
from auroral.model.xml.strict import cased, extensions, without_free, words
from auroral.model.xml.text import made, xml_text
from auroral.model.xml.write_boxes import written_box
from auroral.model.xml.write_edges import Edges
from auroral.model.xml.write_parameters import Unwritable
from auroral.model.xml.write_schemas import SchemaNames


def write_diagram(diagram: Diagram, file: str | None = None, *, strict: bool = False) -> str:
    """The text of a `<borealis>` file. `file` is what it is to be called: a diagram of the same name need not say it.

    With `strict` only Borealis' own words are used, and what needs others is an error. Raises one DiagramError with all that
    cannot be written.
    """
    form = writable_form(diagram)
    exact = not strict and not all(given.any_case for given in form.inputs)
    writing = _Writing(form, exact, file)
    root = writing.root()
    if writing.cased and not exact and not strict:
        writing = _Writing(form, True, file)
        root = writing.root()
    problems = [*writing.problems]
    if strict:
        problems += [*writing.cased, *extensions(root)]
        without_free(root)
    if problems:
        raise DiagramError(problems)
    text = xml_text(root)
    if (different := difference(form, text, file, strict)) is not None:
        raise DiagramError(different)
    return text


class _Writing:
    """One tree. `cased` are the names and expressions that would be read in another case than they have."""

    def __init__(self, diagram: Diagram, exact: bool, file: str | None):
        self.diagram = diagram
        self.exact = exact
        self.file = file
        self.problems: list[Problem] = []
        self.cased: list[Problem] = []
        self.schemas = SchemaNames(diagram)

    def root(self) -> Element:
        diagram, edges = self.diagram, Edges(self.diagram, self.schemas, self.exact)
        # Inputs, outputs and tables name schemas: these are known when all of them are written.
        body = [
            *edges.inputs(),
            *edges.outputs(),
            *(self._view(view) for view in diagram.views),
            *(self._query(number) for number in range(len(diagram.queries))),
        ]
        attributes = {"xmlns:auroral": NAMESPACE, **_queue(diagram.queue, QueueOptions())}
        if self.file is None or PurePath(self.file).stem != diagram.name:
            attributes[f"{PREFIX}name"] = diagram.name
        attributes |= edges.of_diagram()
        if self.exact:
            attributes[CASE] = EXACT
        root = made("borealis", attributes, *self.schemas.elements(), *body)
        if not self.exact:
            self.cased += cased(root)
        if not any(name.startswith(PREFIX) for name in words(root)):
            del root.attributes["xmlns:auroral"]
        return root

    def _query(self, number: int) -> Element:
        query = self.diagram.queries[number]
        return made(
            "query",
            {"name": query.name, "node": query.node, **_queue(query.queue, self.diagram.queue)},
            *(self._table(table) for table in query.tables),
            *(self._box(box, query.queue) for box in query.boxes if not self._said_by_table(box, query.tables)),
        )

    def _said_by_table(self, box: Box, tables: Iterable[Table]) -> bool:
        """Whether the box is there because a table's parameter `changes` asks for it."""
        for table in tables:
            stream = table.changes_stream
            if stream is not None and box == changes_box(table, stream if self.exact else stream.lower()):
                return True
        return False

    def _box(self, box: Box, outer: QueueOptions) -> Element:
        place = placed(box.place, f"box {box.name!r}")
        try:
            type_name, parameters = written_box(box.spec)
        except Unwritable as error:
            allowed = "boxes whose type and parameters are texts"
            what = f"box {box.name!r} cannot be written as XML: {error.why}"
            self.problems.append(Problem(what, place, allowed, error.instead))
            type_name, parameters = box.spec.type, ()
        ports = []
        for port, stream in enumerate(box.inputs):
            view = box.port_views[port] if box.port_views else None
            queue = box.port_queues[port] if box.port_queues else box.queue
            ports.append(made("in", {"stream": stream, "connection_point_view": view, **_queue(queue, box.queue)}))
        given = []
        for one in parameters:
            # What a package's box is told is read as it stands, whatever the parameter is called.
            known_as = "" if isinstance(box.spec, UserBox) else one.name
            raw = one.value if self.exact or one.sql is not None else unfolded(known_as, one.value)
            if raw is None:
                what = f"parameter {one.name!r} of box {box.name!r} is {one.value[:60]!r}: Borealis would read it in lower case"
                self.cased.append(Problem(what, place, "names and words in lower case", "write it in lower case"))
            given.append(
                made(
                    "parameter", {"name": one.name, "value": one.value if raw is None else raw, "auroral:sql": one.sql}
                )
            )
        return made(
            "box",
            {"name": box.name, "type": type_name, "node": box.node, **_queue(box.queue, outer)},
            *ports,
            *(made("out", {"stream": stream}) for stream in box.outputs),
            *given,
            *(made("access", {"table": table}) for table in box.access),
        )

    def _table(self, table: Table) -> Element:
        if table.contents is not None and table.contents_file is None:
            self.problems.append(
                Problem(
                    f"table {table.name!r} cannot be written as XML: its {len(table.contents.rows)} rows of contents are in the program",
                    placed(table.place, f"table {table.name!r}"),
                    allowed="contents that are in a file",
                    next_step='write them to a file, and load the table from it: <parameter name="contents" value="FILE"/>',
                )
            )
        return made(
            "table",
            {"name": table.name, "schema": self.schemas.of(table.schema, table.name), "stream": table.stream}
            | {"node": table.node},
            *(made("key", {"field": key}) for key in table.keys),
            *(made("index", {"field": index}) for index in table.indexes),
            *_plain(table.parameters),
        )

    def _view(self, view: ConnectionPointView) -> Element:
        parts = []
        if view.order is not None:
            parts.append(made("order", {"field": view.order}))
        if view.size is not None:
            parts.append(made("size", {"value": str(view.size)}))
        if view.start is not None or view.end is not None:
            ends = {"start": view.start, "end": view.end}
            parts.append(made("range", {name: None if end is None else str(end) for name, end in ends.items()}))
        if view.radius is not None:
            parts.append(made("radius", {"value": str(view.radius)}))
        named = {"name": view.name, "stream": view.stream}
        return made("connection_point_view", named, *parts, *_plain(view.parameters))


def _plain(parameters: Iterable[tuple[str, str]]) -> Iterator[Element]:
    return (made("parameter", {"name": name, "value": value}) for name, value in parameters)


def _queue(options: QueueOptions, outer: QueueOptions) -> dict[str, str]:
    """Rule 3: only what is not inherited."""
    said = {
        "update_queue": None if options.update_queue is None else str(int(options.update_queue)),
        "queue_type": None if options.queue_type is None else str(options.queue_type),
        "key": options.key,
    }
    around = {
        "update_queue": None if outer.update_queue is None else str(int(outer.update_queue)),
        "queue_type": None if outer.queue_type is None else str(outer.queue_type),
        "key": outer.key,
    }
    return {name: value for name, value in said.items() if value is not None and value != around[name]}
