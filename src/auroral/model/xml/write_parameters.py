"""Parameters that are to be written: one, a run of numbered ones, and texts of names, lengths and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from auroral.model.boxes.base import Source
from auroral.model.duration import spell
from auroral.model.expression import SqlExpression


@dataclass(frozen=True, slots=True)
class Parameter:
    """`sql` is the type that the value gives, where it is Spark SQL."""

    name: str
    value: str
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class Unwritable(Exception):
    """A box that no text can hold: why, and what to do instead."""

    why: str
    instead: str


def flags(*given: tuple[str, bool]) -> Iterator[Parameter]:
    """Those that are set."""
    return (Parameter(name, "1") for name, value in given if value)


def names(name: str, values: tuple[str, ...]) -> Iterator[Parameter]:
    if any("," in value or value != value.strip() for value in values):
        yield from run(f"auroral:{name}", values)
    elif values:
        yield Parameter(name, ", ".join(values))


def run(name: str, values: Iterable[Source]) -> Iterator[Parameter]:
    return (expression(f"{name}.{at}", value) for at, value in enumerate(values))


def columns(values: str, fields: str, given: tuple[tuple[str, Source], ...]) -> Iterator[Parameter]:
    """A run of expressions, and one of the names of the fields that they become."""
    yield from run(values, (source for _, source in given))
    yield from run(fields, (field for field, _ in given))


def expression(name: str, value: Source) -> Parameter:
    if isinstance(value, SqlExpression):
        return Parameter(name, value.text, str(value.type))
    return Parameter(name, str(value))


def length(microseconds: float) -> str:
    return spell(int(microseconds)) if microseconds == int(microseconds) else f"{microseconds}us"


def number(value: float) -> str:
    """The shortest text that is read as the same number."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
