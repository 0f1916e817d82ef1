"""Borealis XML diagrams from files and texts, with what the caller says of the stimes of their inputs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from auroral.model.builder import STIME_UNITS
from auroral.model.diagram import Diagram, Input, Stamp
from auroral.model.duration import UNITS
from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.schema import Schema, SchemaLike
from auroral.model.schema import schema as as_schema
from auroral.model.table_contents import contents_of
from auroral.model.tables import Table
from auroral.model.types import Kind
from auroral.model.xml import Loaded, read_diagram

YAML = (".yaml", ".yml")


class LoadWarning(UserWarning):
    """Something in an XML file is odd, and was ignored or read in the way that the warning says."""


class StimeError(DiagramError):
    """What was said of an input's stime cannot be."""


@dataclass(frozen=True, slots=True)
class StimeChoice:
    """The field that carries a stream's stime, and what it counts if it is an integer: seconds, where no unit is given."""

    stream: str
    field: str
    unit: str | None = None


def load(
    source: str | bytes | os.PathLike[str], *, stime: Mapping[str, str] | None = None, name: str | None = None
) -> Diagram:
    """A Borealis XML diagram: `source` is a path, or the text itself. What is odd in it is a LoadWarning.

    `stime` says, by stream, which field carries a row's time: "FIELD", or "FIELD:UNIT" for an integer that does not count
    seconds. Without it, that is the field that the windows are on. `name` is the diagram's; else it is the file's.
    """
    text, file = _text_of(source)
    choices = [stime_choice(stream, said) for stream, said in (stime or {}).items()]
    loaded = read_with_stimes(text, file, choices, name)
    streams = [given.stream for given in loaded.diagram.inputs]
    wrong = [
        unknown_name("input stream", c.stream, streams)
        for c in choices
        if c.stream not in streams and c.stream.lower() not in streams
    ]
    if wrong:
        raise StimeError(wrong)
    for odd in loaded.warnings:
        warnings.warn(str(odd), LoadWarning, stacklevel=2)
    return loaded.diagram


def stime_choice(stream: str, said: str) -> StimeChoice:
    """`said` is FIELD or FIELD:UNIT."""
    field, colon, unit = said.partition(":")
    problem = None
    if not field.strip():
        problem = f"{said!r} does not say which field carries the stime of {stream!r}"
    elif colon and unit not in STIME_UNITS:
        problem = f"{said!r}: the unit is {unit!r}"
    if problem is not None:
        units = ", ".join(STIME_UNITS)
        raise StimeError(
            [
                Problem(
                    problem, allowed=f"FIELD, or FIELD:UNIT with a unit of {units}", next_step="write for example ts:ms"
                )
            ]
        )
    return StimeChoice(stream, field.strip(), unit or None)


def read_with_stimes(
    text: str | bytes, file: str | None, choices: Sequence[StimeChoice], name: str | None = None
) -> Loaded:
    """The diagram, with the choices that are about its inputs."""
    found = read_diagram(text, file, name=name)
    stamps = stamps_of(found.diagram, choices)
    found = read_diagram(text, file, name=name, stamps=stamps) if stamps else found
    return replace(found, diagram=with_contents(found.diagram, Path(file).parent if file else Path()))


def with_contents(diagram: Diagram, folder: Path) -> Diagram:
    """The diagram with the rows that its tables have in the beginning: a parameter `contents` names their file, from `folder` on."""
    queries = []
    for query in diagram.queries:
        tables = tuple(_with_contents(table, folder) for table in query.tables)
        queries.append(replace(query, tables=tables))
    return replace(diagram, queries=tuple(queries))


def _with_contents(table: Table, folder: Path) -> Table:
    file = table.contents_file
    if file is None or table.contents is not None:
        return table
    # Names in Borealis files have no case.
    rows = _file_rows(folder / file, table.schema, table.place, any_case=True)
    return replace(table, contents=contents_of(table.schema, table.keys, rows, table.place, file))


def read_rows(path: str | os.PathLike[str], schema: SchemaLike) -> list[dict[str, object]]:
    """The rows of a CSV, JSON or Parquet file, for the contents of a table: all of them must fit the schema."""
    return _file_rows(Path(path), as_schema(schema), Place(element=f"rows of {path}"), any_case=False)


def _file_rows(path: Path, fields: Schema, place: Place, *, any_case: bool) -> list[dict[str, object]]:
    # Diagrams without such files need no pyarrow.
    from auroral.edge.files import InputError, read_batches

    allowed = f"a CSV, JSON or Parquet file with rows of ({fields})"
    found: list[dict[str, object]] = []
    try:
        for batch in read_batches(path, fields, any_case=any_case):
            for refused in batch.refused:
                what = f"row {refused.row} of {path} does not fit: {refused.why}"
                raise DiagramError(
                    [Problem(what, place, allowed, "mend the row: a table begins with all of its contents")]
                )
            found += batch.rows.to_pylist()
    except InputError as error:
        raise DiagramError(
            [Problem(str(error).splitlines()[0], place, allowed, "mend the file, or its name")]
        ) from error
    return found


def stamps_of(diagram: Diagram, choices: Iterable[StimeChoice]) -> dict[str, Stamp]:
    """The stamps that the choices ask for, of the inputs that this diagram has."""
    found = {}
    for choice in choices:
        given = diagram.input(choice.stream) or diagram.input(choice.stream.lower())
        if given is not None:
            found[given.stream] = _stamp(given, choice)
    return found


def _stamp(given: Input, choice: StimeChoice) -> Stamp:
    kind = given.schema.get(choice.field) or given.schema.get(choice.field.lower())
    is_timestamp = kind is not None and kind.kind is Kind.TIMESTAMP
    if is_timestamp and choice.unit is not None:
        what = f"field {choice.field!r} of {given.stream!r} is a timestamp and needs no unit"
        raise StimeError([Problem(what, allowed="a unit for integers only", next_step=f"write {choice.field}")])
    unit = 1 if is_timestamp else UNITS[choice.unit or "s"]
    return replace(given.stamp or Stamp(), field=choice.field, unit=unit)


def _text_of(source: str | bytes | os.PathLike[str]) -> tuple[str | bytes, str | None]:
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")):
        return source, None
    file = os.fspath(source)
    return file_bytes(file, (".xml",)), file


def file_bytes(file: str, suffixes: Sequence[str]) -> bytes:
    """What is in a file; where it cannot be read, the error names those beside it that could be meant."""
    path = Path(file)
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        next_step = "check the path"
        there = _beside(path, suffixes)
        if there:
            next_step += f"; {path.parent} has {', '.join(there[:8])}{', ...' if there[8:] else ''}"
        kinds = {".xml": "a Borealis XML file", ".py": "a Python file", **dict.fromkeys(YAML, "a deployment as YAML")}
        problem = Problem(
            f"{_short(file)} cannot be read: {getattr(error, 'strerror', None) or error}",
            allowed=" or ".join(dict.fromkeys(kinds[suffix] for suffix in suffixes)),
            next_step=next_step,
        )
        raise DiagramError([problem]) from error


def _beside(path: Path, suffixes: Sequence[str]) -> list[str]:
    """Files that could be meant instead of one that is not there."""
    try:
        if path.exists():
            return []
        return sorted(p.name for p in path.parent.iterdir() if p.suffix.lower() in suffixes)
    except (OSError, ValueError):
        # A name that is too long, a folder that must not be looked into: there is nothing to suggest.
        return []


def _short(file: str) -> str:
    return file if len(file) <= 200 else file[:200] + "..."
