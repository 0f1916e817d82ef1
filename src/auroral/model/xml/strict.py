"""What of a file that is to be written Borealis would read otherwise, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from auroral.model.errors import Place, Problem
from auroral.model.tables import OUR_PARAMETERS
from auroral.model.types import Kind
from auroral.model.xml.boxes import OUR_TYPES, SHAPES
from auroral.model.xml.extensions import CASE, PREFIX
from auroral.model.xml.read import Element

FREE = (CASE, f"{PREFIX}name", f"{PREFIX}any-case", "xmlns:auroral")
"""Extensions that a strict file does without: they say nothing of what is computed."""

_NEW_TYPES = (Kind.BOOL, Kind.DECIMAL, Kind.DATE, Kind.BINARY)

_FOLDED = {
    **dict.fromkeys(("field", "box"), ("name",)),
    **dict.fromkeys(("table", "connection_point_view"), ("name", "stream")),
    **dict.fromkeys(("input", "output", "in", "out", "auroral:of"), ("stream",)),
    **dict.fromkeys(("key", "index", "order"), ("field",)),
    "access": ("table",),
}
"""Attributes that a reader takes in lower case: rule 2."""


def cased(root: Element) -> Iterator[Problem]:
    pending = [root]
    while pending:
        element = pending.pop()
        for name in (*_FOLDED.get(element.tag, ()), f"{PREFIX}stime", "key", "connection_point_view"):
            text = element.attributes.get(name, "")
            if text != text.strip().lower():
                what = f"{element.tag} {text[:60]!r} is not in lower case: Borealis would read it so"
                allowed = "names in lower case, without blanks around them"
                yield Problem(what, Place(element=element.label), allowed, "give it a name in lower case")
        if element.tag == "query" and (name := element.attributes["name"]) != name.strip():
            what = f"query {name[:60]!r} has blanks around it, which Borealis leaves out"
            yield Problem(what, Place(element=element.label), "names without", "leave them out")
        pending += reversed(element.children)


def words(element: Element) -> Iterator[str]:
    """The names of all that is in an element: elements, attributes and parameters."""
    yield element.tag
    if element.tag == "parameter":
        yield element.attributes["name"]
    yield from element.attributes
    for child in element.children:
        yield from words(child)


def without_free(root: Element) -> None:
    """Take out what a strict file does without."""
    for element in (root, *root.all("input")):
        for name in FREE:
            element.attributes.pop(name, None)


def extensions(root: Element) -> Iterator[Problem]:
    """What Borealis cannot read: of the root, and of each element in it or in a query with all that it holds."""
    yield from _ours(root, root.attributes)
    parts = [part for child in root.children for part in (child.children if child.tag == "query" else [child])]
    for part in parts:
        yield from _ours(part, words(part))
        yield from (_of_table(part, one.attributes["name"]) for one in part.all("parameter") if _is_ours(part, one))
        if part.tag == "box" and part.attributes["type"] not in SHAPES.keys() - OUR_TYPES:
            yield Problem(
                f"box type {part.attributes['type']!r} is one of Auroral's, or of a package for it",
                Place(element=part.label),
                allowed="Borealis' own box types",
                next_step="write the file without --strict",
            )
    for field in (field for schema in root.all("schema") for field in schema.children):
        if field.attributes["type"].partition("(")[0] in _NEW_TYPES:
            yield Problem(
                f"field {field.attributes['name']!r} is a {field.attributes['type']}, a type that Borealis does not have",
                Place(element=field.label),
                allowed="byte, short, int, long, single, double, string, timestamp",
                next_step="convert it where rows come in, or write the file without --strict",
            )


def _is_ours(part: Element, parameter: Element) -> bool:
    return part.tag == "table" and parameter.attributes["name"] in OUR_PARAMETERS


def _of_table(table: Element, name: str) -> Problem:
    return Problem(
        f"parameter {name!r}: Borealis would ignore it, and have another table",
        Place(element=table.label),
        allowed="what Borealis' own words can say",
        next_step="write the file without --strict, or leave it out",
    )


def _ours(element: Element, names: Iterable[str]) -> Iterator[Problem]:
    found = dict.fromkeys(name for name in names if name.startswith(PREFIX) and name not in FREE)
    if found:
        yield Problem(
            f"{', '.join(found)}: Borealis cannot read what only Auroral has",
            Place(element=element.label),
            allowed="what Borealis' own words can say",
            next_step="write the file without --strict, or change the diagram",
        )
