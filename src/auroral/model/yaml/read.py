"""Untrusted YAML text as a light tree of texts, lists and mappings with line numbers.

Every value is the text that is written: no tag makes anything else of it. Aliases are refused, and size, depth and number of values are
bounded: whatever the text is, the result is a tree or a DiagramError.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import NoReturn

import yaml

from auroral.model.errors import DiagramError, Place, Problem

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_VALUES = 30_000

_NOTHING = ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str
    line: int
    missing: bool
    """Whether nothing is written where a value could be."""


@dataclass(frozen=True, slots=True)
class Sequence:
    line: int
    items: list[Value] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mapping:
    line: int
    entries: dict[str, tuple[int, Value]] = field(default_factory=dict)
    """Each with the line of its key."""


Value = Scalar | Sequence | Mapping


def read_yaml(text: str | bytes, file: str | None = None) -> Value:
    """The one document of `text`. Bytes are UTF-8."""
    if len(text) > MAX_BYTES:
        _refuse(file, None, f"the text has {len(text)} bytes", f"at most {MAX_BYTES}", "leave out what means nothing")
    decoded = text if isinstance(text, str) else _decode(text, file)
    try:
        return _Tree(file).parse(decoded)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        _refuse(
            file, line, f"this is no YAML: {error.problem}", "well-formed YAML", "mend the text here or just before"
        )
    except yaml.reader.ReaderError as error:
        line = 1 + decoded.count("\n", 0, error.position)
        _refuse(file, line, f"this is no YAML: {error.reason}", "printable characters", "remove the character")
    except (ValueError, OverflowError) as error:
        # Numbers in escapes and directives that no character and no version has.
        _refuse(
            file, None, f"this is no YAML: {error}", "well-formed YAML", "mend escapes like \\U00000041 in the text"
        )


def _decode(text: bytes, file: str | None) -> str:
    try:
        return text.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = 1 + text.count(b"\n", 0, error.start)
        _refuse(file, line, "the text is not UTF-8", "UTF-8", "save the file as UTF-8")


def _refuse(file: str | None, line: int | None, what: str, allowed: str, next_step: str) -> NoReturn:
    raise DiagramError([Problem(what, Place(file, line), allowed, next_step)])


class _Tree:
    """Built from the parser's events, one level at a time."""

    def __init__(self, file: str | None):
        self.file = file
        self.root: Value | None = None
        self.open: list[Sequence | Mapping] = []
        self.keys: list[Scalar | None] = []
        """Of each that is open, the key whose value comes next."""
        self.count = 0

    def parse(self, text: str) -> Value:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = event.start_mark.line + 1
            match event:
                case yaml.ScalarEvent():
                    self._no_tag(event.tag, line)
                    self._add(Scalar(_encodable(event.value), line, event.implicit[0] and event.value in _NOTHING))
                case yaml.SequenceStartEvent():
                    self._no_tag(event.tag, line)
                    self._begin(Sequence(line))
                case yaml.MappingStartEvent():
                    self._no_tag(event.tag, line)
                    self._begin(Mapping(line))
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    self.open.pop()
                    self.keys.pop()
                case yaml.AliasEvent():
                    _refuse(
                        self.file,
                        line,
                        f"*{event.anchor[:60]} stands for another part of the text",
                        "texts, lists and mappings as they are",
                        "write what it stands for",
                    )
                case yaml.DocumentStartEvent() if self.root is not None:
                    _refuse(self.file, line, "a second document begins", "one document", "leave the second one out")
        if self.root is None:
            _refuse(self.file, 1, "the text is empty", "a mapping with keys", "write {} for nothing")
        return self.root

    def _begin(self, value: Sequence | Mapping) -> None:
        self._add(value)
        if len(self.open) >= MAX_DEPTH:
            _refuse(
                self.file, value.line, "values are nested too deeply", f"{MAX_DEPTH} levels", "take out some of them"
            )
        self.open.append(value)
        self.keys.append(None)

    def _add(self, value: Value) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            _refuse(self.file, value.line, "the text has too many values", f"at most {MAX_VALUES}", "leave some out")
        match self.open[-1] if self.open else None:
            case None:
                self.root = value
            case Sequence(_, items):
                items.append(value)
            case Mapping(_, entries):
                key, self.keys[-1] = self.keys[-1], None
                if key is not None:
                    entries[key.text] = (key.line, value)
                else:
                    self.keys[-1] = self._key(value, entries)

    def _key(self, value: Value, entries: dict[str, tuple[int, Value]]) -> Scalar:
        if not isinstance(value, Scalar) or value.missing:
            _refuse(self.file, value.line, "a key is no word", "KEY: VALUE", "write a word before the colon")
        if value.text in entries:
            earlier = entries[value.text][0]
            what = f"{value.text[:60]!r} stands twice, first in line {earlier}"
            _refuse(self.file, value.line, what, "each key once", "write both values as one list")
        return value

    def _no_tag(self, tag: str | None, line: int) -> None:
        if tag is not None:
            _refuse(self.file, line, f"the value has the tag {tag[:60]!r}", "values without tags", "leave the tag out")


def _encodable(text: str) -> str:
    """Half of a surrogate pair, which an escape can make, is no character."""
    text.encode()
    return text
