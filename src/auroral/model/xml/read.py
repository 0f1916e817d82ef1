"""Untrusted XML text as a light tree of elements with line numbers.

Nothing is fetched, no entity is declared or expanded, and size, depth and number of elements are bounded:
whatever the text is, the result is a tree or a DiagramError, in time linear in its length.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from auroral.model.errors import DiagramError, Place, Problem, unknown_name

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_ELEMENTS = 30_000
MAX_ATTRIBUTES = 100
MAX_ATTRIBUTE_LENGTH = 64 * 1024

# Only these: Python knows codecs that are no encodings of text at all.
_ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")
_DECLARED = re.compile(rb"""^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_NO_REFERENCES = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>", re.DOTALL)
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);|#)([^;\s<&]{0,40})")

# What tells an element from its siblings, in the order in which it is looked for.
_LABELS = ("name", "stream", "endpoint", "box", "table", "query", "field")


LOAD_GENERATOR = ("distribution", "param_distribution", "param", "gen_info")
"""Root elements of files that are for another program."""


@dataclass(slots=True, eq=False)
class Element:
    tag: str
    attributes: dict[str, str]
    line: int
    within: str = ""
    children: list[Element] = field(default_factory=list)
    file: str | None = None
    """Where it is not that of the whole tree."""

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def with_queries(self, tag: str) -> Iterator[Element]:
        """Children of a root, and of the queries in it: a diagram may declare what a query needs in the query."""
        yield from self.all(tag)
        for query in self.all("query"):
            yield from query.all(tag)

    @property
    def label(self) -> str:
        """`box 'merge'`, or for what stands inside a box `box 'merge', parameter 'interval'`."""
        known = next((self.attributes[key] for key in _LABELS if key in self.attributes), None)
        own = self.tag[:60] if known is None else f"{self.tag[:60]} {known[:60]!r}"
        return f"{self.within}, {own}" if self.within else own


def read_xml(text: str | bytes, file: str | None = None) -> Element:
    """The root element of `text`. Bytes are decoded as their XML declaration says."""
    if len(text) > MAX_BYTES:
        raise _wrong(
            f"the text has {len(text)} bytes",
            file,
            None,
            f"at most {MAX_BYTES}",
            next_step="split the diagram over several files",
        )
    decoded = text if isinstance(text, str) else _decode(text, file)
    try:
        encoded = decoded.encode()
    except UnicodeEncodeError as error:
        raise _wrong(
            "the text has a character that is none",
            file,
            1 + decoded.count("\n", 0, error.start),
            allowed="text that can be encoded as UTF-8",
            next_step="remove the character, half of a surrogate pair",
        ) from None
    return _Tree(file).parse(encoded)


def expect_root(root: Element, wanted: str, file: str | None) -> None:
    """Refuse a file of another kind, by the kind that it is."""
    if root.tag == wanted:
        return
    place = Place(file, root.line, root.tag[:60])
    allowed = "borealis (a diagram) or deploy (a deployment) as the root element"
    if root.tag in ("borealis", "deploy"):
        kinds = {"borealis": "diagram", "deploy": "deployment"}
        what = f"this is a {kinds[root.tag]}, not a {kinds[wanted]}"
        step = f"give the {kinds[wanted]}'s file; auroral check takes both together: check DIAGRAM.xml DEPLOYMENT.xml"
        problem = Problem(what, place, f"{wanted} as the root element", step)
    elif root.tag in LOAD_GENERATOR:
        problem = Problem(
            f"<{root.tag}> belongs to a load generator's file, which Auroral does not read",
            place,
            allowed,
            "load the diagram that it makes rows for, and give it rows from files: --input STREAM=PATH",
        )
    elif root.tag in ("connect", "disconnect", "modify", "move", "delete"):
        problem = Problem(
            f"<{root.tag}> changes a running diagram; such a file cannot be loaded by itself",
            place,
            allowed,
            "auroral change takes it to a deployment; or write the change into the diagram's own file",
        )
    else:
        suggestion = unknown_name("root element", root.tag[:60], ("borealis", "deploy"), place)
        problem = Problem(suggestion.what, place, allowed, suggestion.next_step)
    raise DiagramError([problem])


def _wrong(what: str, file: str | None, line: int | None, allowed: str, next_step: str) -> DiagramError:
    return DiagramError([Problem(what, Place(file, line), allowed, next_step)])


def _decode(text: bytes, file: str | None) -> str:
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif text.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    else:
        declared = _DECLARED.match(text)
        encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
        encoding = {
            "latin1": "iso-8859-1",
            "latin-1": "iso-8859-1",
            "ascii": "us-ascii",
            "utf8": "utf-8",
        }.get(encoding, encoding)
        if encoding not in _ENCODINGS:
            raise _wrong(f"unknown encoding {encoding!r}", file, 1, ", ".join(_ENCODINGS), "save the file as UTF-8")
    try:
        return text.decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + text.count(b"\n", 0, error.start)
        raise _wrong(
            f"the text is not {encoding}",
            file,
            line,
            allowed=", ".join(_ENCODINGS),
            next_step="save the file as UTF-8, or declare its encoding",
        ) from None


class _Tree:
    """Handlers of one expat parse."""

    def __init__(self, file: str | None):
        self.file = file
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.has_doctype = False
        self.root_at = 0
        # The text is decoded by then: what its declaration says of an encoding no longer counts.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        # Attributes that an internal DTD would supply by default are not in the file: they stay out.
        self.parser.specified_attributes = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity

    def parse(self, encoded: bytes) -> Element:
        try:
            self.parser.Parse(encoded, True)
        except expat.ExpatError as error:
            what = f"this is not well-formed XML: {expat.ErrorString(error.code)}"
            step = "mend the text here or just before"
            if b"<" not in encoded:
                step = (
                    "a diagram is XML, which begins with <, or a Python file whose name ends with .py: give that file"
                )
            raise _wrong(what, self.file, error.lineno, "well-formed XML", step) from None
        if self.has_doctype:
            self._no_entities(encoded)
        assert self.root is not None  # Expat refuses a text without a root element.
        return self.root

    def _no_entities(self, encoded: bytes) -> None:
        """Expat skips entities that an unread DTD may have declared; values would change silently."""
        body = encoded[self.root_at :]
        bare = _NO_REFERENCES.sub(lambda match: b"\n" * match[0].count(b"\n"), body)
        found = _ENTITY.search(bare)
        if found is not None:
            line = 1 + encoded.count(b"\n", 0, self.root_at) + bare.count(b"\n", 0, found.start())
            what = f"entity '&{found[1].decode(errors='replace')};' is not known: DTDs are never read"
            raise _wrong(what, self.file, line, "&amp; &lt; &gt; &quot; &apos;", "write the character itself")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise _wrong(
                "elements are nested too deeply",
                self.file,
                line,
                f"{MAX_DEPTH} levels",
                next_step="take out levels that mean nothing here",
            )
        if self.count > MAX_ELEMENTS:
            raise _wrong(
                "the text has too many elements",
                self.file,
                line,
                f"at most {MAX_ELEMENTS}",
                next_step="split the diagram over several files",
            )
        if len(attributes) > MAX_ATTRIBUTES:
            raise _wrong(
                f"an element has {len(attributes)} attributes",
                self.file,
                line,
                f"at most {MAX_ATTRIBUTES}",
                next_step="remove those that mean nothing here",
            )
        for name, value in attributes.items():
            if len(value) > MAX_ATTRIBUTE_LENGTH or len(name) > MAX_ATTRIBUTE_LENGTH:
                length = max(len(name), len(value))
                raise _wrong(
                    f"attribute {name[:60]!r} has {length} characters",
                    self.file,
                    line,
                    f"at most {MAX_ATTRIBUTE_LENGTH}",
                    next_step="shorten it",
                )
        inside_box = bool(self.open) and self.open[-1].tag not in ("borealis", "query", "deploy")
        element = Element(tag, attributes, line, self.open[-1].label if inside_box and len(self.open) < 4 else "")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
            self.root_at = self.parser.CurrentByteIndex
        self.open.append(element)

    def _end(self, _tag: str) -> None:
        self.open.pop()

    def _doctype(self, _name: str, _system: str | None, _public: str | None, _internal: int) -> None:
        self.has_doctype = True

    def _entity(self, name: str, *_rest: object) -> None:
        raise _wrong(
            f"the text declares the entity {name[:60]!r}",
            self.file,
            self.parser.CurrentLineNumber,
            "no entity declarations",
            "write the entity's text where it is used",
        )
