"""Field types: those of Borealis, and those that Spark users have besides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from auroral.model.errors import nearest


class Kind(StrEnum):
    BYTE = "byte"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    SINGLE = "single"
    DOUBLE = "double"
    STRING = "string"
    TIMESTAMP = "timestamp"
    BOOL = "bool"
    DECIMAL = "decimal"
    DATE = "date"
    BINARY = "binary"


INTEGERS = (Kind.BYTE, Kind.SHORT, Kind.INT, Kind.LONG)
FLOATS = (Kind.SINGLE, Kind.DOUBLE)

INTEGER_BITS = {Kind.BYTE: 8, Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}

_SPARK_NAMES = {
    Kind.BYTE: "TINYINT",
    Kind.SHORT: "SMALLINT",
    Kind.INT: "INT",
    Kind.LONG: "BIGINT",
    Kind.SINGLE: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.STRING: "STRING",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.BOOL: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.BINARY: "BINARY",
}

# Other spellings that people bring along, from Spark SQL, Arrow and C.
_ALIASES = {
    "tinyint": Kind.BYTE,
    "smallint": Kind.SHORT,
    "integer": Kind.INT,
    "bigint": Kind.LONG,
    "float": Kind.SINGLE,
    "real": Kind.SINGLE,
    "boolean": Kind.BOOL,
    "timestamp_ltz": Kind.TIMESTAMP,
    "varchar": Kind.STRING,
    "numeric": Kind.DECIMAL,
    "dec": Kind.DECIMAL,
}

_SPELLING = re.compile(r"^\s*([A-Za-z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*$")


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of one field. `size` is a string's largest length, `precision` and `scale` are a decimal's."""

    kind: Kind
    size: int | None = None
    precision: int | None = None
    scale: int | None = None

    @property
    def is_integer(self) -> bool:
        return self.kind in INTEGERS

    @property
    def is_float(self) -> bool:
        return self.kind in FLOATS

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float or self.kind is Kind.DECIMAL

    @property
    def spark(self) -> str:
        """The type's name in Spark SQL. A string's size is a check at the edge, not a type there."""
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        return _SPARK_NAMES[self.kind]

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        if self.size is not None:
            return f"{self.kind}({self.size})"
        return str(self.kind)


BYTE = FieldType(Kind.BYTE)
SHORT = FieldType(Kind.SHORT)
INT = FieldType(Kind.INT)
LONG = FieldType(Kind.LONG)
SINGLE = FieldType(Kind.SINGLE)
DOUBLE = FieldType(Kind.DOUBLE)
STRING = FieldType(Kind.STRING)
TIMESTAMP = FieldType(Kind.TIMESTAMP)
BOOL = FieldType(Kind.BOOL)
DATE = FieldType(Kind.DATE)
BINARY = FieldType(Kind.BINARY)


def decimal(precision: int, scale: int) -> FieldType:
    return FieldType(Kind.DECIMAL, precision=precision, scale=scale)


def string(size: int) -> FieldType:
    return FieldType(Kind.STRING, size=size)


class UnknownType(ValueError):
    """The text names no field type that Auroral has; those that it has are `allowed_types`. `meant` is the nearest."""

    def __init__(self, what: str, meant: str | None = None):
        super().__init__(what)
        self.meant = meant

    def next_step(self, otherwise: str) -> str:
        return f"did you mean {self.meant!r}?" if self.meant else otherwise


def parse_type(text: str) -> FieldType:
    """Read `int`, `string(8)`, `decimal(10,2)` and their usual other spellings, in any case."""
    match = _SPELLING.match(text)
    if match is None:
        if re.search(r"array|\[|\.\.\.|<", text, re.IGNORECASE):
            raise UnknownType(f"the type {text.strip()!r} is an array or nested type; fields are scalars")
        raise UnknownType(f"{text.strip()!r} is not a field type")
    word, first, second = match[1].lower(), match[2], match[3]
    kind = _ALIASES.get(word) or next((k for k in Kind if k.value == word), None)
    if kind is None:
        if word in ("array", "map", "struct", "variant"):
            raise UnknownType(f"the type {word!r} is nested; fields are scalars")
        raise UnknownType(f"{text.strip()!r} is not a field type", _meant(word))
    if kind is Kind.DECIMAL:
        precision, scale = int(first or 10), int(second or 0)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise UnknownType(f"{text.strip()!r}: a decimal has 1 to 38 digits, and at most as many after the point")
        return decimal(precision, scale)
    if kind is Kind.STRING and first is not None and second is None:
        if int(first) == 0:
            raise UnknownType(f"{text.strip()!r}: a string's size is at least 1")
        return string(int(first))
    if first is not None:
        raise UnknownType(f"{text.strip()!r}: only string and decimal take a size")
    return FieldType(kind)


def _meant(word: str) -> str | None:
    found = nearest(word, [*(kind.value for kind in Kind), *_ALIASES])
    return None if found is None else str(_ALIASES.get(found, found))


def allowed_types() -> str:
    return ", ".join(
        "string(N)" if k is Kind.STRING else "decimal(P,S)" if k is Kind.DECIMAL else k.value for k in Kind
    )


def common_type(a: FieldType, b: FieldType) -> FieldType | None:
    """The type that values of both convert to without choosing sides, or None where there is none."""
    if a == b:
        return a
    if a.kind is b.kind is Kind.STRING:
        return STRING if a.size is None or b.size is None else string(max(a.size, b.size))
    if a.is_integer and b.is_integer:
        return a if INTEGER_BITS[a.kind] >= INTEGER_BITS[b.kind] else b
    if a.kind is Kind.DECIMAL or b.kind is Kind.DECIMAL:
        return _common_decimal(a, b)
    if a.is_numeric and b.is_numeric:
        # As in C and in Spark: an integer beside a single becomes a single.
        return DOUBLE if Kind.DOUBLE in (a.kind, b.kind) else SINGLE
    return None


def _common_decimal(a: FieldType, b: FieldType) -> FieldType | None:
    if a.is_float or b.is_float:
        return DOUBLE
    digits = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INT: 10, Kind.LONG: 20}
    if not (a.is_numeric and b.is_numeric):
        return None
    (pa, sa), (pb, sb) = ((t.precision or digits[t.kind], t.scale or 0) for t in (a, b))
    scale = max(sa, sb)
    return decimal(min(38, max(pa - sa, pb - sb) + scale), scale)
