"""Schemas of a diagram file, and who refers to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.placement import by_any_case
from auroral.model.schema import Field, Schema
from auroral.model.types import FieldType, Kind, UnknownType, allowed_types, parse_type, string
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element

MAX_STRING = 1_000_000_000


# `int(9)` has bounds as `int(0...9)` has; `string(9)` has a size.
_BOUNDS = re.compile(r"\.\.\.|\*|^\s*(?!string|varchar|dec|numeric)\w+\s*\(", re.IGNORECASE)


def _has_bounds(written: str) -> bool:
    return _BOUNDS.search(written) is not None


class Schemas:
    """The schemas of one file by name. One that could not be read is known, and is None."""

    def __init__(self, root: Element, notes: Notes):
        self.notes = notes
        self.known: dict[str, Schema | None] = {}
        self.aliases = {name for element in root.with_queries("type") if (name := notes.name(element)) is not None}
        names = [n for element in root.with_queries("schema") if (n := notes.name(element, fold=False)) is not None]
        self.names = by_any_case(names)
        self.of_rows_that_come = {
            notes.folded(element.attributes.get("schema", ""))
            for tag in ("input", "table")
            for element in root.with_queries(tag)
        }
        for element in root.with_queries("type"):
            notes.error(
                element,
                f"array type {element.attributes.get('array', '')[:60]!r}: arrays are not supported",
                "scalar fields",
                "give each element of the array a row or a field of its own",
            )
        for element in root.with_queries("schema"):
            name = notes.name(element, fold=False)
            if name is None:
                continue
            if name in self.known:
                notes.error(
                    element,
                    f"schema {name!r} is there twice",
                    allowed="names that are unique in a file",
                    next_step="names of schemas are unique in a file",
                )
            self.known[name] = self._schema(element)

    def of(self, element: Element) -> Schema | None:
        """The schema that the element names; None if it names none, or a wrong one, which is reported."""
        name = self.notes.name(element, "schema", fold=False)
        if name is None:
            return None
        found = self.names.get(name) or self.names.get(name.lower())
        if found is None:
            self.notes.add(unknown_name("schema", name, list(self.known), self.notes.place(element)))
            return None
        return self.known.get(found)

    def read(self) -> tuple[tuple[str, Schema], ...]:
        return tuple((name, schema) for name, schema in self.known.items() if schema is not None)

    def _schema(self, element: Element) -> Schema | None:
        fields = self._fields(element)
        try:
            schema = Schema(tuple(f for f in fields if f is not None))
        except DiagramError as error:
            self._repeat(error.problems, self.notes.place(element))
            return None
        return schema if all(f is not None for f in fields) else None

    def _fields(self, element: Element) -> list[Field | None]:
        """The fields. In Borealis the result of a join may have a name twice: the second is called as our joins call it."""
        fields = [self._field(child) for child in element.all("field")]
        if self.notes.folded(self.notes.name(element, fold=False) or "") in self.of_rows_that_come:
            return fields
        names = {field.name for field in fields if field is not None}
        seen: set[str] = set()
        for position, field in enumerate(fields):
            if field is None:
                continue
            second = f"right_{field.name}"
            if field.name in seen and second not in names:
                names.add(second)
                self.notes.warn(
                    element,
                    f"field {field.name!r} is there twice: the second is called {second!r}, as in the result of a join",
                    next_step="give each field its own name",
                )
                fields[position] = replace(field, name=second)
            seen.add(field.name)
        return fields

    def _repeat(self, problems: Iterable[Problem], place: Place) -> None:
        for problem in problems:
            self.notes.add(Problem(problem.what, place, problem.allowed, problem.next_step))

    def _field(self, element: Element) -> Field | None:
        name, written = self.notes.name(element), element.attributes.get("type")
        if name is None or written is None:
            return None
        if _has_bounds(written) or written.lower() in self.aliases or written.lower() in self.names:
            self.notes.error(
                element,
                f"field {name!r} is an array ({written[:60]!r}): arrays are not supported",
                "scalar fields",
                next_step="give each element of the array a row or a field of its own",
            )
            return None
        try:
            field_type = parse_type(written[:200])
        except UnknownType as error:
            step = error.next_step("choose one of these")
            self.notes.error(element, f"field {name!r}: {error}", allowed=allowed_types(), next_step=step)
            if error.meant is None:
                return None
            # As if it were that: what is wrong with the boxes that read the field is then said as well.
            field_type = parse_type(error.meant)
        return Field(name, self._sized(element, name, field_type))

    def _sized(self, element: Element, name: str, field_type: FieldType) -> FieldType:
        """A string needs its size, and nothing else has one. Where it is wrong, boxes are checked with a string of any size."""
        size = element.attributes.get("size")
        if field_type.kind is not Kind.STRING:
            if size is not None:
                self.notes.warn(element, f"field {name!r}: a {field_type} has no size; {size[:60]!r} is ignored")
            return field_type
        if size is None:
            if field_type.size is not None or element.attributes.get("auroral:size", "").strip() == "any":
                return field_type
            what = f"field {name!r} is a string without a size"
            self.notes.error(
                element, what, "the largest number of characters, or any", 'add size="...", or auroral:size="any"'
            )
            return field_type
        number = self.notes.whole(element, f"field {name!r}: the size of a string", size, 1, MAX_STRING)
        return field_type if number is None else string(number)
