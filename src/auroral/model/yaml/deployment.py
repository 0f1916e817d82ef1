"""A deployment in YAML: the elements and attributes of the XML as keys, with plural names for lists.

    replica_sets:
      - name: front
        queries: [clean]
        nodes: [":15000", ":15100"]

A node that is only an endpoint, and a stream that is only a name, may stand for themselves.
"""

from __future__ import annotations

from auroral.model.deployment import Deployment
from auroral.model.errors import DiagramError, Place, Problem, nearest
from auroral.model.xml.deployment import deployment_in
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element
from auroral.model.xml.vocabulary import DEPLOYMENT, Tag
from auroral.model.yaml.read import Mapping, Scalar, Sequence, Value, read_yaml

LISTS = {f"{tag}es" if tag.endswith("sh") else f"{tag}s": tag for tag in DEPLOYMENT if tag != "deploy"}
"""By the key of a list, the element that each of its values is."""
QUERIES = "queries"
"""The one attribute that may be a list."""
ALONE = {"node": "endpoint", "publish": "stream", "subscribe": "stream", "unsubscribe": "stream"}
"""What a value means that is a text alone."""


def read_deployment(text: str | bytes, file: str | None = None) -> Deployment:
    """Raises one DiagramError with all problems of the file."""
    value = read_yaml(text, file)
    if not isinstance(value, Mapping):
        what = Problem(
            "this is no deployment",
            Place(file, value.line),
            f"a mapping with the keys {', '.join(_keys(DEPLOYMENT['deploy']))}",
            "write KEY: in front of the list",
        )
        raise DiagramError([what])
    notes = Notes(file, "key")
    return deployment_in(_Elements(notes).mapped("deploy", value, ""), notes)


def _keys(tag: Tag) -> tuple[str, ...]:
    """What may stand in the mapping of an element."""
    attributes = (QUERIES if name == "query" else name for name in (*tag.required, *tag.optional))
    return (*attributes, *(key for key, child in LISTS.items() if child in tag.children))


class _Elements:
    """Mappings as the elements that XML would have, with all that is wrong with their keys."""

    def __init__(self, notes: Notes):
        self.notes = notes

    def mapped(self, name: str, value: Mapping, within: str) -> Element:
        tag = DEPLOYMENT[name]
        element = Element(name, {}, value.line, within)
        lists: list[tuple[str, Value]] = []
        wrong: list[tuple[int, str, str, str]] = []
        told = set[str | None]()
        """Keys of which the place is known where they went wrong."""
        for key, (line, given) in value.entries.items():
            if key not in _keys(tag):
                told.add(meant := nearest(key[:60], _keys(tag)))
                step = f"did you mean {meant!r}?" if meant else "leave it out"
                wrong.append((line, f"unknown key {key[:60]!r}", ", ".join(_keys(tag)), step))
            elif key in LISTS:
                lists.append((LISTS[key], given))
            elif (text := _joined(given) if key == QUERIES else _text(given)) is not None:
                element.attributes["query" if key == QUERIES else key] = text
            else:
                allowed = "a name, or a list of names" if key == QUERIES else "one text"
                told.add(key)
                wrong.append(
                    (line, f"the value of {key!r} is none that it can have", allowed, "mend it or leave it out")
                )
        for missing in tag.required:
            if missing not in element.attributes and missing not in told:
                wrong.append(
                    (value.line, f"the key {missing!r} is missing", ", ".join(_keys(tag)), f"add {missing}: ...")
                )
        given_of = [one for one in tag.one_of if one in element.attributes]
        if tag.one_of and len(given_of) != 1:
            what = f"there are {len(given_of)} of the keys {' and '.join(tag.one_of)}"
            wrong.append((value.line, what, "exactly one of them", f"leave {tag.one_of[0]!r} or {tag.one_of[1]!r}"))
        for line, what, allowed, step in wrong:
            self._wrong(line, element, what, allowed, step)
        for child, given in lists:
            element.children += self._children(child, given, element)
        return element

    def _children(self, name: str, given: Value, parent: Element) -> list[Element]:
        within = "" if parent.tag == "deploy" else parent.label
        if isinstance(given, Scalar) and given.missing:
            return []
        values = given.items if isinstance(given, Sequence) else [given]
        found = []
        for value in values:
            if isinstance(value, Mapping):
                found.append(self.mapped(name, value, within))
            elif (text := _text(value)) is not None and name in ALONE:
                found.append(Element(name, {ALONE[name]: text}, value.line, within))
            else:
                alone = f"a text for its {ALONE[name]}, or " if name in ALONE else ""
                allowed = f"{alone}a mapping with the keys {', '.join(_keys(DEPLOYMENT[name]))}"
                self._wrong(value.line, parent, f"a value is no {name}", allowed, "write its keys, one in each line")
        return found

    def _wrong(self, line: int, element: Element, what: str, allowed: str, next_step: str) -> None:
        self.notes.add(Problem(what, Place(self.notes.file, line, element.label), allowed, next_step))


def _text(value: Value) -> str | None:
    return value.text if isinstance(value, Scalar) and not value.missing else None


def _joined(value: Value) -> str | None:
    """Names, as they stand in one attribute."""
    if not isinstance(value, Sequence):
        return _text(value)
    texts = [_text(item) for item in value.items]
    return " ".join(text for text in texts if text is not None) if None not in texts else None
