"""Schemas: the named, typed fields of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from auroral.model import types
from auroral.model.errors import DiagramError, Problem
from auroral.model.names import unprintable
from auroral.model.types import FieldType, Kind, UnknownType, parse_type

if TYPE_CHECKING:
    import pyarrow

# Columns that the system adds to a row while it works start with this; fields may not.
SYSTEM_PREFIX = "__"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: FieldType

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True, slots=True)
class Schema:
    """Fields in order. A schema without fields is that of a control stream."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        problems = []
        seen: set[str] = set()
        for field in self.fields:
            if field.name in seen:
                problems.append(
                    Problem(
                        f"field {field.name!r} is there twice",
                        allowed="each name once",
                        next_step="give each field its own name",
                    )
                )
            if field.name.startswith(SYSTEM_PREFIX) or not field.name:
                problems.append(
                    Problem(
                        f"field name {field.name!r} is reserved" if field.name else "a field has no name",
                        allowed=f"names that do not start with {SYSTEM_PREFIX}",
                        next_step="give the field another name",
                    )
                )
            problems += unprintable("field", field.name)
            if "${" in field.name:
                # Hadoop would put the value of a variable in its place, and Parquet columns would come back empty.
                problems.append(
                    Problem(
                        f"field name {field.name!r} has a ${{, which stands for variables",
                        allowed="names without it",
                        next_step="give the field another name",
                    )
                )
            seen.add(field.name)
        if problems:
            raise DiagramError(problems)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def get(self, name: str) -> FieldType | None:
        return next((field.type for field in self.fields if field.name == name), None)

    def __getitem__(self, name: str) -> FieldType:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __len__(self) -> int:
        return len(self.fields)

    def __str__(self) -> str:
        return ", ".join(str(field) for field in self.fields)

    @property
    def stime_name(self) -> str:
        """What files and clients call the stime of a row: `stime`, unless a field has that name."""
        return "stime" if self.get("stime") is None else SYSTEM_PREFIX + "stime"


SchemaLike: TypeAlias = (
    "Schema | str | Mapping[str, str] | Mapping[str, FieldType] | Mapping[str, pyarrow.DataType] | pyarrow.Schema"
)


def schema(given: SchemaLike) -> Schema:
    """A schema from a DDL string ("ts timestamp, site string(8)"), a dict of names to types, or pyarrow's."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, str):
        return _from_ddl(given)
    if isinstance(given, Mapping):
        return _from_pairs(given.items())
    if not hasattr(given, "names") or not hasattr(given, "types"):
        raise DiagramError(
            [
                Problem(
                    f"{str(given)[:80]!r}, of type {type(given).__name__}, is not a schema",
                    allowed="'name type, name type', a dict of names to types, or a pyarrow schema",
                    next_step='write for example "ts timestamp, site string"',
                )
            ]
        )
    return _from_arrow(given)


# Commas between fields: not those inside a type's brackets or a quoted name.
_COMMA = re.compile(r",(?![^()<>]*[)>])(?=(?:[^`]*`[^`]*`)*[^`]*\Z)")
_DDL_FIELD = re.compile(r"(?:`([^`]+)`|([^\s:`]+))\s*[\s:]\s*(\S.*)", re.DOTALL)


# What Spark's DDL says besides: fields may always be null, and comments are for people.
_COMMENT = re.compile(r"\s+comment\s+(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.IGNORECASE | re.DOTALL)
_NOT_NULL = re.compile(r"\s+not\s+null\s*\Z", re.IGNORECASE)


def _from_ddl(text: str) -> Schema:
    pairs = []
    for part in _COMMA.split(_COMMENT.sub("", text)):
        match = _DDL_FIELD.fullmatch(_NOT_NULL.sub("", part.strip()))
        if match is None:
            raise DiagramError(
                [
                    Problem(
                        f"schema {text!r}: {part.strip()!r} is not 'name type'",
                        allowed="name type, name type, ...",
                        next_step="for example 'ts timestamp, site string'",
                    )
                ]
            )
        pairs.append((match[1] or match[2], match[3]))
    return _from_pairs(pairs)


def _from_pairs(pairs: Iterable[tuple[str, str | FieldType]]) -> Schema:
    fields, problems = [], []
    for name, type_text in pairs:
        try:
            fields.append(Field(_text(name), _type(type_text)))
        except UnknownType as error:
            problems.append(
                Problem(
                    f"field {name!r}: {error}",
                    allowed=types.allowed_types(),
                    next_step=error.next_step("choose one of these"),
                )
            )
    if problems:
        raise DiagramError(problems)
    return Schema(tuple(fields))


def _type(given: object) -> FieldType:
    if isinstance(given, FieldType):
        return given
    if isinstance(given, str):
        return parse_type(given)
    # Without importing pyarrow, which a diagram does not need.
    found = _arrow_type(str(given)) if type(given).__module__.startswith("pyarrow") else None
    if found is None:
        raise UnknownType(f"{given!r} is not a field type")
    return found


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise UnknownType("the name of a field is a string")
    return name


def _from_arrow(given: pyarrow.Schema) -> Schema:
    fields, problems = [], []
    for column in given:
        field_type = _arrow_type(str(column.type))
        if field_type is None:
            problems.append(
                Problem(
                    f"field {column.name!r}: Arrow type {column.type} has no field type",
                    allowed=types.allowed_types(),
                    next_step="cast the column to one of these",
                )
            )
        else:
            fields.append(Field(column.name, field_type))
    if problems:
        raise DiagramError(problems)
    return Schema(tuple(fields))


_ARROW = {
    "int8": types.BYTE,
    "int16": types.SHORT,
    "int32": types.INT,
    "int64": types.LONG,
    "float": types.SINGLE,
    "double": types.DOUBLE,
    "string": types.STRING,
    "large_string": types.STRING,
    "string_view": types.STRING,
    "bool": types.BOOL,
    "date32[day]": types.DATE,
    "binary": types.BINARY,
    "large_binary": types.BINARY,
}


def _arrow_type(text: str) -> FieldType | None:
    if text.startswith("timestamp["):
        # Spark keeps microseconds; nanoseconds would be cut silently, so they are refused here.
        return None if text.startswith("timestamp[ns") else types.TIMESTAMP
    if match := re.match(r"decimal128\((\d+), (\d+)\)", text):
        return types.decimal(int(match[1]), int(match[2]))
    return _ARROW.get(text)


def arrow_schema(schema: Schema) -> pyarrow.Schema:
    """The pyarrow schema that rows of `schema` travel in."""
    import pyarrow as pa

    arrow = {
        Kind.BYTE: pa.int8(),
        Kind.SHORT: pa.int16(),
        Kind.INT: pa.int32(),
        Kind.LONG: pa.int64(),
        Kind.SINGLE: pa.float32(),
        Kind.DOUBLE: pa.float64(),
        Kind.STRING: pa.string(),
        Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
        Kind.BOOL: pa.bool_(),
        Kind.DATE: pa.date32(),
        Kind.BINARY: pa.binary(),
    }
    return pa.schema(
        [
            pa.field(
                f.name,
                pa.decimal128(f.type.precision, f.type.scale) if f.type.kind is Kind.DECIMAL else arrow[f.type.kind],
            )
            for f in schema.fields
        ]
    )
