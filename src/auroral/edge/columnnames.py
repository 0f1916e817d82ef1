"""Columns of data and fields of a schema: of the same name, or, for inputs of Borealis files, of the same name in any case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from auroral.model.schema import Schema


class SameField(ValueError):
    """Two columns whose names differ only in case."""


def as_declared(found: Iterable[Any], schema: Schema, any_case: bool) -> list[Any]:
    """The names `found`, those of fields spelt as the schema spells them.

    Other names stay as they are, also what is no text, which rows of programs may have.
    """
    found = list(found)
    if not any_case:
        return found
    known = set(schema.names)
    names = [name.lower() if isinstance(name, str) and name.lower() in known else name for name in found]
    spelt: dict[Any, Any] = {}
    for written, name in zip(found, names, strict=True):
        if name in known and spelt.setdefault(name, written) != written:
            raise SameField(
                f"{spelt[name]!r} and {written!r} are both the field {name!r}: fields of Borealis files have no case"
            )
    return names
