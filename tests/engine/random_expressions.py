"""Random expressions, and rows for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

from auroral.model.expression.singles import nearest_single
from auroral.model.types import FieldType, Kind
from engine.expressions import FIELDS, INEXACT, OF_TWO

_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    -1e300,
    5e-324,
    1e-7,
    3.0,
    2.0**53,
]
_BESIDE = ["n", "i", "l", "12", "-3"]  # what decimals are combined with
_STRINGS = [
    "",
    " ",
    "a",
    "né",
    "😀",
    "\uffff",
    "12",
    " -7 ",
    "1.5e3",
    "abc\\n",
    "it's",
    "${x}",
    "\x00",
    "128",
]


def random_row(random: Random) -> dict[tuple[str | None, str], Any]:
    row: dict[tuple[str | None, str], Any] = {(None, "stime"): random.randrange(10**15)}
    for field in FIELDS.fields:
        row[None, field.name] = None if random.random() < 0.12 else random_value(field.type, random)
    return row


def random_value(type: FieldType, random: Random) -> Any:
    match type.kind:
        case Kind.BYTE | Kind.SHORT | Kind.INT | Kind.LONG | Kind.TIMESTAMP | Kind.DATE:
            bits = {Kind.BYTE: 8, Kind.SHORT: 16, Kind.INT: 32, Kind.DATE: 20}.get(type.kind, 64)
            top = 2 ** (bits - 1)
            return random.choice(
                [0, 1, -1, 2, 7, top - 1, -top, random.randrange(-top, top), random.randrange(-99, 99)]
            )
        case Kind.DOUBLE:
            return random.choice(
                [*_FLOATS, random.uniform(-100, 100), random.gauss(0, 1) * 10 ** random.randrange(-20, 20)]
            )
        case Kind.SINGLE:
            return nearest_single(random.choice([*_FLOATS, random.uniform(-100, 100), 16777217.0]))
        case Kind.STRING:
            return random.choice(_STRINGS)
        case Kind.BOOL:
            return random.random() < 0.5
        case Kind.BINARY:
            return random.choice([b"", b"\x00", b"a", b"\x7f", b"\x80", b"\xff\x00"])
        case Kind.DECIMAL:
            digits = random.choice([1, 4, type.precision or 1])
            top = 10**digits
            value = random.choice([0, 1, -1, top - 1, 1 - top, random.randrange(-top, top)])
            return Decimal(f"{value}E-{type.scale}")


class Sampler:
    """Well-typed texts. `depth` is how many more levels a text may have."""

    def __init__(self, random: Random):
        self._random = random

    def any_expression(self) -> str:
        random = self._random
        if random.random() < 0.15:
            # Inexact functions stand at the top only: inside, a last bit could decide a comparison.
            if random.random() < 0.3:
                return f"{random.choice(OF_TWO)}({self.number(2)}, {self.number(2)})"
            return f"{random.choice([name for name in INEXACT if name not in OF_TWO])}({self.number(2)})"
        kinds: list[Callable[[int], str]] = [
            self.integer, self.number, self.decimal, self.condition, self.string, self.timestamp
        ]  # fmt: skip
        return random.choice(kinds)(4)

    def _one(self, leaves: list[str], forms: list[Callable[[], str]], depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.15:
            return self._random.choice(leaves)
        return self._random.choice(forms)()

    def integer(self, depth: int) -> str:
        d = depth - 1
        forms = [
            *[lambda: f"({self.integer(d)} {self._random.choice('+-*/%')} {self.integer(d)})"] * 3,
            lambda: f"-{self.integer(d)}",
            lambda: f"abs({self.integer(d)})",
            lambda: f"{self._random.choice(['byte', 'short', 'int', 'long'])}({self.number(d)})",
            lambda: f"{self._random.choice(['byte', 'int', 'long'])}({self.string(d)})",
            lambda: f"{self._random.choice(['byte', 'int', 'long'])}({self.decimal(d)})",
            lambda: f"(if {self.condition(d)} then {self.integer(d)} else {self.integer(d)})",
            lambda: f"{self._random.choice(['min', 'max'])}({self.integer(d)}, {self.integer(d)})",
            lambda: f"strlen({self.string(d)})",
            lambda: f"({self.timestamp(d)} - {self.timestamp(d)})",
        ]
        return self._one(["n", "h", "i", "j", "l", "0", "1", "-7", "4000000000", "int(null)", "stime"], forms, depth)

    def number(self, depth: int) -> str:
        d = depth - 1
        forms = [
            *[lambda: f"({self.number(d)} {self._random.choice('+-*/%')} {self.number(d)})"] * 3,
            lambda: f"-{self.number(d)}",
            lambda: f"{self._random.choice(['abs', 'sqrt', 'floor', 'ceil'])}({self.number(d)})",
            lambda: f"{self._random.choice(['single', 'double'])}({self.number(d)})",
            lambda: f"{self._random.choice(['single', 'double'])}({self.string(d)})",
            lambda: f"{self._random.choice(['single', 'double'])}({self.decimal(d)})",
            lambda: f"({self.decimal(d)} {self._random.choice('/%')} {self.integer(d)})",
            lambda: f"(if {self.condition(d)} then {self.number(d)} else {self.number(d)})",
            lambda: f"{self._random.choice(['min', 'max'])}({self.number(d)}, {self.number(d)}, {self.number(d)})",
            lambda: self.integer(d),
        ]
        return self._one(["x", "y", "f", "x", "0.0", "-0.0", "1.5", "0.1f", "1e300", "double(null)"], forms, depth)

    def decimal(self, depth: int) -> str:
        d = depth - 1
        forms = [
            *[lambda: f"({self.decimal(d)} {self._random.choice('+-*')} {self.decimal(d)})"] * 3,
            lambda: f"({self.decimal(d)} {self._random.choice('+-*')} {self._random.choice(_BESIDE)})",
            lambda: f"-{self.decimal(d)}",
            lambda: f"abs({self.decimal(d)})",
            lambda: f"(if {self.condition(d)} then d else d)",
            lambda: "max(d, i)",
            lambda: "min(e, 7)",
        ]
        return self._one(["d", "e"], forms, depth)

    def condition(self, depth: int) -> str:
        d = depth - 1

        def compared(kind: Callable[[int], str]) -> Callable[[], str]:
            ops = ["=", "!=", "<", "<=", ">", ">="]
            return lambda: f"({kind(d)} {self._random.choice(ops)} {kind(d)})"

        forms = [
            compared(self.integer),
            compared(self.number),
            compared(self.string),
            compared(self.timestamp),
            compared(self.condition),
            lambda: f"(d {self._random.choice(['<', '=', '>='])} {self._random.choice([*_BESIDE, 'e', 'x'])})",
            lambda: f"({self._random.choice(['g = g', 'b < z', 'b != z', 'b >= z'])})",
            lambda: f"({self.condition(d)} and {self.condition(d)})",
            lambda: f"({self.condition(d)} or {self.condition(d)})",
            lambda: f"not {self.condition(d)}",
            lambda: f"(if {self.condition(d)} then {self.condition(d)} else {self.condition(d)})",
        ]
        return self._one(["c", "k", "true", "false", "not null"], forms, depth)

    def string(self, depth: int) -> str:
        d = depth - 1
        forms = [
            lambda: f"({self.string(d)} + {self.string(d)})",
            lambda: f"pad({self.string(d)}, {self._random.choice(['3', '10', 'n', 'int(n)'])})",
            lambda: f"string({self.integer(d)})",
            lambda: f"(if {self.condition(d)} then {self.string(d)} else {self.string(d)})",
            lambda: f"min({self.string(d)}, {self.string(d)})",
        ]
        return self._one(["s", "r", "'né'", r"'\\ \' ${x} \n'", "''", "string(null)"], forms, depth)

    def timestamp(self, depth: int) -> str:
        d = depth - 1
        forms = [
            lambda: f"({self.timestamp(d)} {self._random.choice('+-')} {self.integer(d)})",
            lambda: f"(if {self.condition(d)} then t else u)",
            lambda: f"max({self.timestamp(d)}, u)",
        ]
        return self._one(["t", "u"], forms, depth)
