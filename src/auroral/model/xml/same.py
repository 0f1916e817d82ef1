"""When two diagrams are the same.

Same are diagrams whose names, inputs, outputs, queries, boxes, tables, views, queue options, buckets and participants are equal, in the same
order. What does not count: where in a file or program something stands, and what schemas are called, since nothing refers to them once a
diagram is read. Nor do the rows of a table's contents where a parameter names their file: whoever loads the diagram reads them from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from auroral.model.diagram import Diagram
from auroral.model.errors import DiagramError, Place, Problem
from auroral.model.stamps import with_stamps
from auroral.model.tables import Table
from auroral.model.xml.diagram import read_diagram


def writable_form(diagram: Diagram) -> Diagram:
    """The diagram with a stamp on every input, as whoever reads or runs it gives it one."""
    return with_stamps(diagram)[0]


def same_diagram(one: Diagram, other: Diagram) -> bool:
    return _counted(one) == _counted(other)


def _counted(diagram: Diagram) -> Diagram:
    queries = tuple(replace(query, tables=tuple(map(_as_filed, query.tables))) for query in diagram.queries)
    return replace(writable_form(diagram), schemas=(), queries=queries)


def _as_filed(table: Table) -> Table:
    return table if table.contents_file is None else replace(table, contents=None)


def _in_borealis(diagram: Diagram) -> Diagram:
    """What of a diagram Borealis' words can say at all: it has no name, and case does not count."""
    inputs = tuple(replace(given, any_case=True) for given in diagram.inputs)
    return replace(diagram, name="", inputs=inputs)


def difference(diagram: Diagram, text: str, file: str | None, strict: bool) -> list[Problem] | None:
    """Why reading `text` does not give the diagram that was written; None where it does."""
    try:
        read = _counted(read_diagram(text, file).diagram)
    except DiagramError as error:
        return [
            replace(
                problem,
                what=f"the diagram cannot be written so that it can be read: {problem.what}",
                place=Place(element=problem.place.element),
            )
            for problem in error.problems
        ]
    wanted = _counted(diagram)
    if strict:
        read, wanted = _in_borealis(read), _in_borealis(wanted)
    if read == wanted:
        return None
    return [
        Problem(
            f"{what} would be read as something else",
            allowed="diagrams that XML can hold as they are",
            next_step="report it, with the diagram: this is a gap in Auroral",
        )
        for what in _parts(wanted, read)
    ]


def _parts(wanted: Diagram, read: Diagram) -> Iterator[str]:
    boxes = {box.name: box for box in read.boxes}
    wrong = [f"box {box.name!r}" for box in wanted.boxes if boxes.get(box.name) != box]
    wrong += [f"input {i.stream!r}" for i in wanted.inputs if read.input(i.stream) != i]
    wrong += [f"output {o.stream!r}" for o in wanted.outputs if read.output(o.stream) != o]
    yield from wrong or ["the diagram"]
