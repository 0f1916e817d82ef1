"""A tree of elements as XML text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from auroral.model.errors import DiagramError, Place, Problem
from auroral.model.xml.read import Element

# What XML 1.0 has no way to write, whatever the encoding.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def made(tag: str, attributes: Mapping[str, str | None], *children: Element) -> Element:
    """An element that is to be written; attributes that are None are left out."""
    return Element(tag, {name: value for name, value in attributes.items() if value is not None}, 0, "", list(children))


def xml_text(root: Element) -> str:
    """The whole text. Raises a DiagramError that names each value which XML cannot hold."""
    problems = list(_unwritable(root, ""))
    if problems:
        raise DiagramError(problems)
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *_lines(root, "")]) + "\n"


def _lines(element: Element, indent: str) -> Iterator[str]:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    if not element.children:
        yield f"{indent}<{element.tag}{attributes}/>"
        return
    yield f"{indent}<{element.tag}{attributes}>"
    for child in element.children:
        yield from _lines(child, indent + "  ")
    yield f"{indent}</{element.tag}>"


def _unwritable(element: Element, within: str) -> Iterator[Problem]:
    place = f"{within}, {element.label}" if within else element.label
    for name, value in element.attributes.items():
        found = _NO_XML.search(value)
        if found is not None:
            yield Problem(
                f"{name} {value[:60]!r} has the character U+{ord(found[0]):04X}, which XML cannot hold",
                Place(element=place),
                allowed="characters that XML has",
                next_step=f"leave it out; in a text of an expression it can be written as \\u{ord(found[0]):04x}",
            )
    for child in element.children:
        yield from _unwritable(child, place if element.tag == "box" else "")
