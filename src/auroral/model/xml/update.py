"""Update files: what is to be changed in a diagram that runs (X9)."""

from __future__ import annotations

from auroral.model.errors import DiagramError, Place, Problem
from auroral.model.xml.read import Element, read_xml

_UPDATES = ("modify", "connect", "disconnect", "delete", "move")


def is_update(text: bytes, file: str) -> bool:
    """Whether it has nothing but changes."""
    root = read_xml(text, file)
    return root.tag in _UPDATES or (
        root.tag == "borealis" and bool(root.children) and all(child.tag in _UPDATES for child in root.children)
    )


def read_update(text: bytes, file: str) -> list[Element]:
    """The changes, of which a diagram that runs can take only modified boxes."""
    root = read_xml(text, file)
    elements = [root] if root.tag in _UPDATES else root.children
    problems = [
        Problem(
            f"<{element.tag}> cannot be done to a diagram that runs",
            Place(file, element.line, element.tag),
            "<modify box=...> with the parameters that are to be others",
            "auroral move moves a query; for other streams or boxes give the whole diagram, or begin a new deployment",
        )
        for element in elements
        if element.tag != "modify"
    ]
    if problems:
        raise DiagramError(problems)
    return elements
