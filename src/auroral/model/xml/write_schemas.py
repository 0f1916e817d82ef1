"""Schemas of a diagram that is written. A file gives each a name, and a diagram from Python has none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from auroral.model.diagram import Diagram
from auroral.model.schema import Field, Schema
from auroral.model.types import Kind
from auroral.model.xml.extensions import PREFIX
from auroral.model.xml.read import Element
from auroral.model.xml.text import made


class SchemaNames:
    """Those that the diagram declares, and one more for each that something has and nobody named."""

    def __init__(self, diagram: Diagram):
        self.names = dict(diagram.schemas)

    def of(self, schema: Schema, suggested: str) -> str:
        """The schema's name; what is called `suggested` is the first to have it."""
        found = next((name for name, known in self.names.items() if known == schema), None)
        if found is None:
            taken = {name.lower() for name in self.names}
            others = (suggested if number == 1 else f"{suggested}_{number}" for number in count(1))
            found = next(name for name in others if name.lower() not in taken)
            self.names[found] = schema
        return found

    def elements(self) -> Iterator[Element]:
        for name, schema in self.names.items():
            yield made("schema", {"name": name}, *(_field(field) for field in schema.fields))


def _field(field: Field) -> Element:
    kind, size = field.type.kind, field.type.size
    any_size = "any" if kind is Kind.STRING and size is None else None
    typed = str(kind) if kind is Kind.STRING else str(field.type)
    attributes = {"name": field.name, "type": typed, "size": None if size is None else str(size)}
    return made("field", {**attributes, f"{PREFIX}size": any_size})
