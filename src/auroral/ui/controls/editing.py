"""Changes of boxes as the text of an update file, which is what `auroral change` takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auroral.model.diagram import Box
from auroral.model.errors import unknown_name
from auroral.model.xml.boxes import SHAPES
from auroral.model.xml.extensions import NAMESPACE
from auroral.model.xml.read import Element
from auroral.model.xml.text import made, xml_text
from auroral.model.xml.write_boxes import written_box
from auroral.model.xml.write_parameters import Unwritable
from auroral.node.fleet.deployed import DeploymentError
from auroral.ui.picture import Group

ON_AN_ARROW = ("filter", "map", "aggregate", "random_drop", "bsort", "wsort", "delay")
"""Types that read one stream and give one."""


def new_boxes() -> dict[str, list[str]]:
    """By type, the parameters that one of them cannot do without."""
    return {one: [name.replace(".N", ".0") for name in SHAPES[one].required] for one in ON_AN_ARROW}


def box_edits(groups: Sequence[Group], name: str) -> dict[str, Any]:
    """What of a box can be changed: its parameters as XML has them, unless no text can hold it; and whether it can be taken out."""
    _, box = _box(groups, name)
    try:
        _, parameters = written_box(box.spec)
    except Unwritable as error:
        return {"unwritable": error.why}
    written = [{"name": one.name, "value": one.value, "sql": one.sql} for one in parameters]
    return {"written": written, "removable": len(box.inputs) == 1 == len(box.outputs)}


def arrows(groups: Sequence[Group], stream: str) -> list[dict[str, Any]]:
    """From a stream to the boxes that read it."""
    return [
        {"box": box.name, "port": port}
        for group in groups
        for box in group.boxes
        for port, read in enumerate(box.inputs)
        if read == stream
    ]


def update_text(groups: Sequence[Group], edit: Mapping[str, Any]) -> str:
    """DeploymentError where there is no such box or arrow."""
    match edit:
        case {"modify": str(name), "parameters": list(parameters)}:
            _box(groups, name)
            edits = [_modified(name, parameters)]
        case {
            "insert": str(name),
            "type": str(kind),
            "before": str(before),
            "stream": str(stream),
            "parameters": list(parameters),
        }:
            edits = list(_inserted(groups, name, kind, before, stream, parameters))
        case {"remove": str(name)}:
            edits = list(_removed(groups, name))
        case _:
            raise DeploymentError("this is no change of a box\n    allowed: modify, insert, remove")
    has_sql = any("auroral:sql" in part.attributes for one in edits for part in _within(one))
    return xml_text(made("borealis", {"xmlns:auroral": NAMESPACE if has_sql else None}, *edits))


def _within(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _within(child)


def _modified(name: str, parameters: Sequence[Any]) -> Element:
    return made("modify", {"box": name}, *_parameters(parameters))


def _inserted(
    groups: Sequence[Group], name: str, kind: str, before: str, stream: str, parameters: Sequence[Any]
) -> Iterator[Element]:
    """The new box gives a stream of its own name."""
    group, box = _box(groups, before)
    if stream not in box.inputs:
        raise DeploymentError(
            f"no arrow goes from {stream!r} to {before!r}\n    allowed: {', '.join(box.inputs)} to {before}"
        )
    if not name:
        raise DeploymentError("the new box has no name\n    allowed: a name that no box and no stream has")
    query = next(q.name for q in group.fragment.checked.diagram.queries for b in q.boxes if b.name == before)
    ports = (made("in", {"stream": stream}), made("out", {"stream": name}))
    yield made("query", {"name": query}, made("box", {"name": name, "type": kind}, *ports, *_parameters(parameters)))
    yield made("connect", {"box": before, "stream": name, "port": str(box.inputs.index(stream))})


def _removed(groups: Sequence[Group], name: str) -> Iterator[Element]:
    """Who read what it gives reads what it read."""
    _, box = _box(groups, name)
    if len(box.inputs) != 1 or len(box.outputs) != 1:
        raise DeploymentError(
            f"{name} reads {len(box.inputs)} streams and gives {len(box.outputs)}\n    allowed: to take out a box that reads one and gives one\n"
            "    next: write an update file, and give it to auroral change"
        )
    for arrow in arrows(groups, box.outputs[0]):
        yield made("connect", {"box": arrow["box"], "stream": box.inputs[0], "port": str(arrow["port"])})
    yield made("disconnect", {"box": name})


def _parameters(given: Sequence[Any]) -> Iterator[Element]:
    for one in given:
        match one:
            case {"name": str(name), "value": str(value), **rest} if isinstance(sql := rest.get("sql"), str | None):
                if name.strip():
                    yield made("parameter", {"name": name.strip(), "value": value, "auroral:sql": sql})
            case _:
                raise DeploymentError(f"{str(one)[:100]} is no parameter\n    allowed: a name and a value, as text")


def _box(groups: Sequence[Group], name: str) -> tuple[Group, Box]:
    for group in groups:
        for box in group.boxes:
            if box.name == name:
                return group, box
    raise DeploymentError(str(unknown_name("box", name, [box.name for group in groups for box in group.boxes])))
