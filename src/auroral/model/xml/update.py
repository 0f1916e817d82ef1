"""Update files: what is to be changed in a diagram that runs (X9).

| element | what |
|---|---|
| `<modify box="B">` | parameters of a box, and what its ports read, are others |
| `<connect box="B" stream="S" port="0"/>` | a port of a box reads another stream |
| `<disconnect box="B"/>` | a box is taken out |
| `<query name="Q"><box>...</box></query>` | boxes come to a query |
| `<delete query="Q"/>` | all boxes of a query are taken out |
| `<move box="B" node="N"/>` | the query of a box goes to another node; `from` says which of its replicas |

The first five make another diagram, which must be one that the deployment can go over to; a move is one of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from auroral.model.errors import Problem
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element, expect_root, read_xml
from auroral.model.xml.vocabulary import UPDATE, check_words

EDITS = ("modify", "connect", "disconnect", "delete", "move")


@dataclass(frozen=True, slots=True)
class Move:
    """Of the query that has the box, or of one by its name."""

    node: str
    box: str | None = None
    query: str | None = None
    leaves: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    edits: tuple[Element, ...]
    """Of the diagram, in their order."""
    moves: tuple[Move, ...]
    warnings: tuple[Problem, ...] = ()


def is_update(text: bytes, file: str) -> bool:
    """A diagram has inputs; an update takes place in one."""
    root = read_xml(text, file)
    changes = any(child.tag in EDITS for child in root.children)
    return root.tag in EDITS or (root.tag == "borealis" and changes and not any(root.with_queries("input")))


def read_update(text: bytes, file: str) -> Update:
    root = read_xml(text, file)
    if root.tag in EDITS:
        root = Element("borealis", {}, root.line, children=[root])
    expect_root(root, "borealis", file)
    notes = Notes(file)
    check_words(root, UPDATE, notes)
    for element in root.children:
        if element.tag not in (allowed := UPDATE["borealis"].children):
            # In a diagram it would be ignored; here it is a change that somebody waits for.
            what = f"<{element.tag[:60]}> cannot be done to a diagram that runs"
            notes.error(element, what, ", ".join(allowed), "leave it out, or begin a new deployment")
    moves = tuple(
        Move(
            element.attributes.get("node", ""),
            notes.name(element, "box"),
            notes.name(element, "query", fold=False),
            notes.name(element, "from", fold=False),
        )
        for element in root.all("move")
    )
    if notes.errors:
        raise notes.failure()
    edits = tuple(element for element in root.children if element.tag != "move")
    for edit in edits:
        _of_file(edit, file)
    return Update(edits, moves, tuple(notes.warnings))


def _of_file(element: Element, file: str) -> None:
    element.file = file
    for child in element.children:
        _of_file(child, file)


def make_changes(root: Element, edits: Iterable[Element], notes: Notes) -> None:
    """In the tree of a whole diagram. An edit sees what those before it left."""
    for edit in edits:
        match edit.tag:
            case "connect":
                port = {name: said for name, said in edit.attributes.items() if name != "box"}
                reads = Element("in", port, edit.line, edit.label, file=edit.file)
                box = {"box": edit.attributes["box"]}
                root.children.append(Element("modify", box, edit.line, children=[reads], file=edit.file))
            case "disconnect":
                _take_out(root, "box", notes.name(edit, "box"), edit, notes)
            case "delete":
                _take_out(root, "query", notes.name(edit, "query", fold=False), edit, notes)
            case _:
                root.children.append(edit)


def _take_out(root: Element, kind: str, name: str | None, edit: Element, notes: Notes) -> None:
    """With what was said of it before. A box outside a query is a query of its own."""
    fold = kind == "box"
    tags = ("box",) if kind == "box" else ("query", "box")
    parents = [root, *root.all("query")] if kind == "box" else [root]
    found = [
        (parent, child)
        for parent in parents
        for child in parent.children
        if child.tag in tags and notes.name(child, fold=fold or child.tag == "box") == name
    ]
    if not found:
        known = {n for e in root.with_queries(kind) if (n := notes.name(e, fold=fold)) is not None}
        notes.unknown(edit, kind, name or "", sorted(known))
    for parent, child in found:
        parent.children.remove(child)
    boxes = {notes.name(box) for _, child in found for box in (child, *child.all("box")) if box.tag == "box"}
    root.children = [e for e in root.children if "box" not in e.attributes or notes.name(e, "box") not in boxes]
