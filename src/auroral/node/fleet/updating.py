"""What the queries of a deployment are to be changed to: a whole diagram, or the one that runs with the edits of an update file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from auroral.model.checking import Checked, check
from auroral.model.diagram import Diagram
from auroral.model.errors import DiagramError
from auroral.model.xml import read_diagram, write_diagram
from auroral.model.xml.update import read_update
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.versions import Text, newest, texts


@dataclass(frozen=True, slots=True)
class Wanted:
    checked: Checked
    text: Text | None
    """That later updates go on from; None where that is the diagram itself."""


def as_running(deployed: Deployed, diagram: Diagram, text: Text | None) -> Wanted:
    """What was said of stimes when it began still holds, and so do the contents that tables had."""
    running = deployed.checked.diagram
    said = {given.stream: given.stamp for given in running.inputs}
    inputs = tuple(replace(given, stamp=said.get(given.stream, given.stamp)) for given in diagram.inputs)
    contents = {table.name: table.contents for table in running.tables}
    queries = tuple(
        replace(query, tables=tuple(replace(t, contents=contents.get(t.name, t.contents)) for t in query.tables))
        for query in diagram.queries
    )
    return Wanted(check(replace(diagram, inputs=inputs, queries=queries, bucket=running.bucket)), text)


def updated(deployed: Deployed, update: bytes, file: str) -> Wanted:
    """The diagram that runs, with these edits of it made."""
    found, name = texts(deployed), deployed.checked.diagram.name
    whole, earlier = (_written(deployed, file), []) if found is None else found
    changes = [edit for one in (*earlier, update) for edit in read_update(one, file).edits]
    diagram = read_diagram(whole, f"the diagram of {deployed.folder}", name=name, changes=changes).diagram
    return as_running(deployed, diagram, None if found is None else Text(update, update=True))


def _written(deployed: Deployed, file: str) -> bytes:
    """Of a Python program, as XML."""
    try:
        return write_diagram(newest(deployed).diagram).encode()
    except DiagramError as error:
        raise DeploymentError(
            f"{file} changes boxes of an XML diagram, and what runs is from a Python program that cannot be written as one: {error.problems[0].what}\n"
            "    allowed: the whole diagram as it is to be\n    next: auroral change DIAGRAM.py"
        ) from error
