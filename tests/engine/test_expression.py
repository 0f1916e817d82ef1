"""Expressions as Spark SQL: Spark and the reference evaluator are two backends of the same vectors."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from auroral.engine.expression import to_sql
from auroral.engine.failures import guarded
from auroral.engine.reached import result_type
from auroral.model.expression import Functions, Scope, Typed, parse, resolve, sql
from auroral.model.expression.builtins import TRIGONOMETRIC
from auroral.model.expression.functions import make_function
from auroral.model.expression.singles import nearest_single
from auroral.model.schema import arrow_schema, schema
from auroral.model.types import FieldType, Kind
from auroral.reference.expression import evaluate

FIELDS = schema(
    "n byte, h short, i int, j int, l long, f single, x double, y double, s string(20), r string,"
    " t timestamp, u timestamp, c bool, k bool, d decimal(10,2), e decimal(38,10), g date, b binary, z binary"
)

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

INF, NAN = math.inf, math.nan
BIG, LONGEST, LOWEST = 2**31 - 1, 2**63 - 1, -(2**63)
SCOPE = Scope.of(FIELDS)
USER = Functions().plus(
    make_function("Twice", lambda a, b: None if a is None else a * 2.0 + len(b or ""), "int, string", "double")
)

# Expression, fields that are not null, value.
VECTORS: list[tuple[str, dict[str, Any], Any]] = [
    # integers: promotion, wrapping, division towards zero, NULL for a zero divisor
    ("i + j", {"i": BIG, "j": 1}, -(2**31)),
    ("l + 1", {"l": LONGEST}, LOWEST),
    ("l - 1", {"l": LOWEST}, LONGEST),
    ("l * 2", {"l": LONGEST}, -2),
    ("n + n", {"n": 127}, 254),
    ("n * h", {"n": -128, "h": 32767}, -4194176),
    ("-n", {"n": -128}, 128),
    ("-i", {"i": -(2**31)}, -(2**31)),
    ("+h", {"h": 5}, 5),
    ("- - i", {"i": 5}, 5),
    ("i - -5", {"i": 1}, 6),
    ("i / j", {"i": -7, "j": 2}, -3),
    ("i / j", {"i": 7, "j": 0}, None),
    ("i / j", {"i": -(2**31), "j": -1}, -(2**31)),
    ("l / -1", {"l": LOWEST}, LOWEST),
    ("i % j", {"i": -7, "j": 2}, -1),
    ("i % j", {"i": 7, "j": -2}, 1),
    ("i % 0", {"i": 7}, None),
    ("n % n", {"n": 7}, 0),
    ("i + null", {"i": 7}, None),
    ("-2147483648", {}, -(2**31)),
    ("-9223372036854775808", {}, LOWEST),
    # floats
    ("x / y", {"x": 1.0, "y": 0.0}, INF),
    ("x / y", {"x": 1.0, "y": -0.0}, INF),
    ("x / y", {"x": -1.0, "y": 0.0}, -INF),
    ("x / y", {"x": 0.0, "y": 0.0}, NAN),
    ("x / y", {"x": NAN, "y": 0.0}, NAN),
    ("x / y", {"x": 1.0}, None),
    ("x / y", {"y": 0.0}, None),
    ("x / 0", {"x": -2.0}, -INF),
    ("x / i", {"x": 1.0, "i": 0}, INF),
    ("f / 3", {"f": 1.0}, struct.unpack("f", struct.pack("f", 1 / 3))[0]),
    ("f / i", {"f": -1.0, "i": 0}, -INF),
    ("x % y", {"x": -7.5, "y": 2.0}, -1.5),
    ("x % y", {"x": 7.5, "y": 0.0}, None),
    ("x % y", {"x": INF, "y": 2.0}, NAN),
    ("0.1f + 0.2f", {}, struct.unpack("f", struct.pack("f", 0.30000001192092896))[0]),
    ("f * f", {"f": 3e38}, INF),
    ("l + f", {"l": 2**53 + 2**29 + 1, "f": 0.0}, 9007200328482816.0),
    ("-x", {"x": 0.0}, -0.0),
    ("-0.0", {}, -0.0),
    ("1e16 + 1.5d", {}, 1e16 + 1.5),
    # decimals
    ("d + 1", {"d": Decimal("99999999.99")}, Decimal("100000000.99")),
    ("d - d", {"d": Decimal("1.25")}, Decimal("0.00")),
    ("d * i", {"d": Decimal("-1.25"), "i": 3}, Decimal("-3.75")),
    ("e * e", {"e": Decimal("1e27")}, None),
    ("e * e", {"e": Decimal("1.0000005")}, Decimal("1.000001")),
    ("e + e", {"e": Decimal("9" * 28 + ".9999999999")}, Decimal("2" + "0" * 28 + ".000000000")),
    ("-e", {"e": Decimal("9" * 28 + ".9999999999")}, Decimal("-" + "9" * 28 + ".9999999999")),
    ("abs(e)", {"e": Decimal("-" + "9" * 28 + ".9999999999")}, Decimal("9" * 28 + ".9999999999")),
    ("-e", {"e": Decimal("-0.0000000001")}, Decimal("0.0000000001")),
    ("abs(e)", {"e": Decimal("-0.0000000001")}, Decimal("0.0000000001")),
    ("d / 0", {"d": Decimal("1.00")}, INF),
    ("d / 8", {"d": Decimal("1.00")}, 0.125),
    ("d % 2", {"d": Decimal("-3.50")}, -1.5),
    ("d > 5", {"d": Decimal("5.01")}, True),
    ("d = -5", {"d": Decimal("-5.00")}, True),
    ("d = 0.25", {"d": Decimal("0.25")}, True),
    # strings
    ("s + ' ' + r", {"s": "né", "r": "😀"}, "né 😀"),
    ("s + r", {"s": "a"}, None),
    (r"'a\'b' + 'it''s' + "
     r'"q\"x" + "\\n\n${env:HOME}"', {}, "a'bit'sq\"x\\n\n${env:HOME}"),
    (r"'\u0000' + '12%_\\%'", {}, "\x0012%_\\%"),
    ("'${'", {}, "${"),
    ("strlen(s)", {"s": "né😀"}, 3),
    ("pad(s, 4)", {"s": "né"}, "né  "),
    ("pad(s, 1)", {"s": "né"}, "né"),
    ("pad(s, -1)", {"s": "né"}, "né"),
    ("pad(s, i)", {"s": "né", "i": -(2**31)}, "né"),
    ("pad(s, i)", {"s": "né", "i": 3}, "né "),
    ("strlen(pad(s, i))", {"s": "né", "i": BIG}, 65536),
    ("pad(s, i)", {"s": "né"}, None),
    # timestamps
    ("t - u", {"t": 5_000_000, "u": 7}, 4_999_993),
    ("t + 1", {"t": 5}, 6),
    ("1 + t", {"t": 5}, 6),
    ("t - l", {"t": 5, "l": 6}, -1),
    ("t + l", {"t": 5, "l": LONGEST}, LOWEST + 4),
    ("t < u", {"t": 5, "u": 6}, True),
    ("long(t)", {"t": -5}, -5),
    ("stime / 1000", {"stime": 1_700_000_000_000_000}, 1_700_000_000_000),
    # comparisons
    ("x = y", {"x": NAN, "y": NAN}, True),
    ("x > y", {"x": NAN, "y": INF}, True),
    ("x < y", {"x": NAN, "y": 1.0}, False),
    ("x = y", {"x": 0.0, "y": -0.0}, True),
    ("x < y", {"x": -0.0, "y": 0.0}, False),
    ("x != y", {"x": 0.0, "y": -0.0}, False),
    ("x >= y", {"x": NAN, "y": NAN}, True),
    ("x <= i", {"x": 2.5, "i": 2}, False),
    ("n = n", {"n": 1}, True),
    ("s < r", {"s": "\uffff", "r": "😀"}, True),
    ("c = k", {"c": True, "k": False}, False),
    ("c > k", {"c": True, "k": False}, True),
    ("b < z", {"b": b"\x7f", "z": b"\x80"}, True),
    ("g = g", {"g": -1}, True),
    ("i = null", {"i": 1}, None),
    ("i = 1 != c", {"i": 1, "c": True}, False),
    ("not (i = 1)", {"i": 2}, True),
    # logic
    ("c and k", {"c": False}, False),
    ("c and k", {"c": True}, None),
    ("c or k", {"c": True}, True),
    ("c || k", {"c": False}, None),
    ("!c && k", {"c": False, "k": True}, True),
    ("not c", {}, None),
    ("null or true", {}, True),
    # choices
    ("if c then 1 else 2.5", {}, 2.5),
    ("if c then 1 else 2.5", {"c": True}, 1.0),
    ("if i > 0 then 'pos' else if i < 0 then 'neg' else 'zero'", {"i": -1}, "neg"),
    ("if c then null else i", {"i": 3}, 3),
    # conversions
    ("int(x)", {"x": -1.9}, -1),
    ("int(x)", {"x": 1e300}, BIG),
    ("int(x)", {"x": NAN}, 0),
    ("long(x)", {"x": -INF}, LOWEST),
    ("byte(x)", {"x": 300.7}, 44),
    ("short(x)", {"x": 1e300}, -1),
    ("byte(i)", {"i": 200}, -56),
    ("int(l)", {"l": 2**32 + 5}, 5),
    ("int(d)", {"d": Decimal("-1.99")}, -1),
    ("byte(e)", {"e": Decimal("1e20")}, 0),
    ("int(s)", {"s": " \t-12\n"}, -12),
    ("int(s)", {"s": "1.5"}, None),
    ("int(s)", {"s": "2147483648"}, None),
    ("byte(s)", {"s": "128"}, None),
    ("long(s)", {"s": "+0000000000000000000000012"}, 12),
    ("long(s)", {"s": ""}, None),
    ("double(s)", {"s": " 1.5e3 "}, 1500.0),
    ("double(s)", {"s": "1e999"}, INF),
    ("double(s)", {"s": "1d"}, None),
    ("double(s)", {"s": "NaN"}, None),
    ("double(s)", {"s": "0x1p3"}, None),
    ("double(s)", {"s": "12\u0085"}, None),
    ("single(s)", {"s": ".1"}, 0.10000000149011612),
    ("single(x)", {"x": 1e39}, INF),
    ("single(l)", {"l": 2**53 + 2**29 + 1}, 9007200328482816.0),
    ("single(d)", {"d": Decimal("0.10")}, 0.10000000149011612),
    ("double(f)", {"f": 0.10000000149011612}, 0.10000000149011612),
    ("string(l)", {"l": LOWEST}, "-9223372036854775808"),
    ("string(s)", {"s": "a"}, "a"),
    ("int(null)", {}, None),
    # functions
    ("min(i, x, 3)", {"i": 5, "x": NAN}, 3.0),
    ("max(i, x, 3)", {"i": 5, "x": NAN}, NAN),
    ("min(i, j)", {"i": 5}, None),
    ("max(0.0, -0.0)", {}, 0.0),
    ("min(x, y)", {"x": -0.0, "y": 0.0}, -0.0),
    ("max(s, 'b')", {"s": "a"}, "b"),
    ("abs(n)", {"n": -128}, 128),
    ("abs(i)", {"i": -(2**31)}, -(2**31)),
    ("abs(x)", {"x": -0.0}, 0.0),
    ("abs(d)", {"d": Decimal("-1.50")}, Decimal("1.50")),
    ("ln(x)", {"x": 0.0}, -INF),
    ("ln(x)", {"x": -1.0}, NAN),
    ("ln(x)", {"x": 1.0}, 0.0),
    ("ln(x)", {"x": NAN}, NAN),
    ("ln(x)", {}, None),
    ("log(x)", {"x": 1000.0}, 3.0),
    ("log(i)", {"i": 0}, -INF),
    ("sqrt(x)", {"x": -1.0}, NAN),
    ("sqrt(i)", {"i": 16}, 4.0),
    ("exp(x)", {"x": 1000.0}, INF),
    ("exp(x)", {"x": 0.0}, 1.0),
    ("acos(x)", {"x": 1.0}, 0.0),
    ("acos(x)", {"x": 1.5}, NAN),
    ("asin(x)", {"x": -1.5}, NAN),
    ("asin(x)", {"x": 1.0}, math.asin(1.0)),
    ("atan(x)", {"x": INF}, math.pi / 2),
    ("cos(x)", {"x": INF}, NAN),
    ("cos(x)", {"x": 0.0}, 1.0),
    ("cosh(x)", {"x": -1000.0}, INF),
    ("sin(x)", {"x": 1.0}, math.sin(1.0)),
    ("sinh(x)", {"x": -1000.0}, -INF),
    ("tan(x)", {"x": 1.0}, math.tan(1.0)),
    ("tanh(x)", {"x": INF}, 1.0),
    ("pow(x, y)", {"x": 2.0, "y": -1.0}, 0.5),
    ("pow(x, y)", {"x": -8.0, "y": 1 / 3}, NAN),
    ("pow(x, y)", {"x": -0.0, "y": -3.0}, -INF),
    ("pow(x, y)", {"x": -10.0, "y": 309.0}, -INF),
    ("pow(x, y)", {"x": 1.0, "y": INF}, NAN),
    ("pow(x, y)", {"x": NAN, "y": 0.0}, 1.0),
    ("floor(x)", {"x": -0.5}, -1.0),
    ("floor(x)", {"x": -0.0}, 0.0),
    ("floor(x)", {"x": 1e300}, 1e300),
    ("floor(i)", {"i": -3}, -3.0),
    ("ceil(x)", {"x": -0.5}, 0.0),
    ("ceil(x)", {"x": 4503599627370495.5}, 4503599627370496.0),
    ("ceil(x)", {"x": -INF}, -INF),
    ("ceil(d)", {"d": Decimal("1.01")}, 2.0),
]  # fmt: skip

# Here Java's and C's libraries may differ in the last bit.
INEXACT = (*TRIGONOMETRIC, "ln", "log", "exp", "pow")


def _typed(text: str) -> Typed:
    return resolve(parse(text), SCOPE, USER)


def _row(values: dict[str, Any]) -> dict[tuple[str | None, str], Any]:
    return {(None, name): values.get(name) for name in (*FIELDS.names, "stime")}


def _same(a: Any, b: Any, exact: bool = True) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return struct.pack("d", a) == struct.pack("d", b) or (not exact and math.isclose(a, b, rel_tol=1e-12))
    return type(a) is type(b) and bool(a == b)


def _backquoted(_qualifier: str | None, name: str) -> str:
    return f"`{name}`"


@pytest.mark.parametrize(("text", "values", "expected"), VECTORS)
def test_reference_gives_the_worked_values(text: str, values: dict[str, Any], expected: Any) -> None:
    found = evaluate(_typed(text), _row(values))
    assert _same(found, expected, exact=False), found


@pytest.fixture(params=["codegen", "interpreted"])
def session(spark: Any, request: pytest.FixtureRequest) -> Any:
    """A session of its own, so that settings do not leak; both of Spark's evaluators must agree."""
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "false")
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.codegen.wholeStage", str(request.param == "codegen").lower())
    own.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if request.param == "codegen" else "NO_CODEGEN")
    return own


def _frame(session: Any, rows: Sequence[dict[tuple[str | None, str], Any]]) -> Any:
    full = arrow_schema(FIELDS).append(pa.field("stime", pa.int64()))
    columns = []
    for field in full:
        values = [row[None, field.name] for row in rows]
        columns.append(pa.array(values, field.type))
    return session.createDataFrame(pa.Table.from_arrays(columns, schema=full))


def _spark_values(session: Any, rows: Sequence[Any], typed: Sequence[Typed]) -> list[list[Any]]:
    frame = _frame(session, rows)
    texts = [to_sql(t, _backquoted) for t in typed]
    kinds = [field.dataType.simpleString().upper() for field in frame.selectExpr(*texts).schema.fields]
    assert kinds == [t.type.spark for t in typed]
    shown = [f"{_plain(text, t.type)} AS c{i}" for i, (text, t) in enumerate(zip(texts, typed, strict=True))]
    return [column.to_pylist() for column in frame.selectExpr(*shown).toArrow().columns]


def _plain(text: str, type: FieldType) -> str:
    # Python's own dates and times end at the year 9999.
    wrapped = {Kind.TIMESTAMP: f"unix_micros({text})", Kind.DATE: f"unix_date({text})"}
    return wrapped.get(type.kind, f"({text})")


@pytest.mark.spark
def test_spark_gives_the_worked_values(session: Any) -> None:
    rows = [_row(values) for _, values, _ in VECTORS]
    typed = [_typed(text) for text, _, _ in VECTORS]
    wrong = []
    for start in range(0, len(VECTORS), 60):
        chunk = slice(start, start + 60)
        found = _spark_values(session, rows[chunk], typed[chunk])
        for i, (text, values, expected) in enumerate(VECTORS[chunk]):
            if not _same(found[i][i], expected, exact=text.split("(")[0] not in INEXACT):
                wrong.append((text, values, expected, found[i][i], to_sql(_typed(text), _backquoted)))
    assert wrong == []


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
                return f"pow({self.number(2)}, {self.number(2)})"
            return f"{random.choice(INEXACT[:-1])}({self.number(2)})"
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


@pytest.mark.spark
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a seed does not shrink
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32 - 1))
def test_spark_and_reference_agree_on_random_expressions(session: Any, seed: int) -> None:
    random = Random(seed)
    sampler = Sampler(random)
    texts = [sampler.any_expression() for _ in range(60)]
    rows = [random_row(random) for _ in range(40)]
    typed = [_typed(text) for text in texts]
    wrong = []
    for text, node, column in zip(texts, typed, _spark_values(session, rows, typed), strict=True):
        exact = text.split("(")[0] not in INEXACT
        for row, found in zip(rows, column, strict=True):
            expected = evaluate(node, row)
            if not _same(found, expected, exact):
                used = {name: row[None, name] for name in FIELDS.names if f"{name}" in text}
                wrong.append((text, used, expected, found, to_sql(node, _backquoted)))
                break
    assert wrong == []


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "x / (" * 33 + "x" + ")" * 33,
        "min(y, " * 33 + "x" + ")" * 33,
        "floor(ln(" * 16 + "x" + "))" * 16,
        "x" + " - x" * 199,
        "int(1.5 + " * 99 + "i" + ")" * 99,
        " or ".join(f"i = {n}" for n in range(2000)),
        "if i = 1 then 1 else " * 190 + "2",
    ],
    ids=["divide", "min", "ln", "minus", "converted", "or", "if"],
)
def test_large_expressions_stay_small_and_run(spark: Any, text: str) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "false")
    typed = _typed(text)
    assert len(to_sql(typed, _backquoted)) < 60 * len(text)
    rows = [_row({"x": 2.5, "y": 7.5, "i": 5})]
    assert _same(_spark_values(own, rows, [typed])[0][0], evaluate(typed, rows[0]), exact=False)


@pytest.mark.spark
def test_user_functions_are_called_by_their_udf_name(session: Any) -> None:
    twice = USER["twice"]
    session.udf.register("auroral_twice", guarded("twice", twice), result_type(twice.returns.spark))
    rows = [_row({"n": 4, "s": "abc"}), _row({})]
    typed = _typed("twice(n, s) + TWICE(2, null)")
    calls = ("auroral_twice(CAST(`n` AS INT), `s`)", "auroral_twice(2, CAST(NULL AS STRING))")
    value, error = " + ".join(f"{call}.v" for call in calls), f"coalesce({', '.join(f'{call}.why' for call in calls)})"
    assert to_sql(typed, _backquoted) == f"IF({error} IS NULL, {value}, CAST(raise_error({error}) AS DOUBLE))"
    assert _spark_values(session, rows, [typed]) == [[15.0, None]]
    assert [evaluate(typed, row) for row in rows[:1]] == [15.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + j * 2", "i + j * 2"),
        ("(i + j) * 2", "(i + j) * 2"),
        ("i - (j - 1)", "i - (j - 1)"),
        ("i - -1", "i - (-1)"),
        ("- - i", "-(-i)"),
        ("n + n", "CAST(n AS INT) + n"),
        ("l + i", "l + i"),
        ("x * i", "x * i"),
        ("x + 1", "x + 1.0D"),
        ("i / 2", "CAST(i DIV 2 AS INT)"),
        ("l / 1000", "l DIV 1000L"),
        ("x / 2", "x / 2.0D"),
        ("x / y", "CASE WHEN y = 0 THEN x * CAST('Infinity' AS DOUBLE) ELSE x / y END"),
        ("s = 'it''s'", r"s = 'it\'s'"),
        ("not c and i = 1 or k", "NOT c AND i = 1 OR k"),
        ("(c or k) and c", "(c OR k) AND c"),
        ("not (i = 1)", "NOT (i = 1)"),
        ("i = 1 != c", "(i = 1) != c"),
        ("if i > 0 then 1 else if c then 2 else 3", "CASE WHEN i > 0 THEN 1 WHEN c THEN 2 ELSE 3 END"),
        ("d + 1", "d + 1BD"),
        ("d > 5", "d > 5"),
        ("t - u", "unix_micros(t) - unix_micros(u)"),
        ("s + r", "s || r"),
        ("sqrt(i)", "sqrt(i)"),
        ("max(i, 0)", "CASE WHEN i IS NULL THEN NULL ELSE greatest(i, 0) END"),
    ],
)
def test_the_text_is_readable(text: str, expected: str) -> None:
    assert to_sql(_typed(text), lambda _, name: name) == expected


def test_columns_are_named_by_the_caller() -> None:
    scope = Scope.named(left=FIELDS, right=FIELDS)
    typed = resolve(parse("left.i = right.i and right.stime > left.stime"), scope)
    expected = "l.i = r.i AND r.stime > l.stime"
    assert to_sql(typed, lambda qualifier, name: f"{(qualifier or '?')[0]}.{name}") == expected


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("upper(s)", "upper((`s`))"),
        ("s -- as it is", "(`s`)"),
        ("trim(/* both */ s)", "trim( (`s`))"),
        # What stands in a string must mean nothing in the statement as a whole.
        (r"'a`b' || r'\d${x}' || '\`\\`' || '\${y}' || '$z'", r"'a\u0060b' || '\\d\u0024{x}' || '\u0060\\\u0060' || '\u0024{y}' || '$z'"),
    ],
)  # fmt: skip
def test_sql_is_cast_to_its_type_and_cannot_reach_beyond(text: str, written: str) -> None:
    typed = resolve(sql(text, "string"), SCOPE)
    assert to_sql(typed, _backquoted) == f"CAST((\n{written}\n) AS STRING)"


@pytest.mark.parametrize("text", ["now()", "rand()", "sequence()"])
def test_what_cannot_be_repeated_has_no_sql_and_no_value(text: str) -> None:
    typed = _typed(text)
    with pytest.raises(ValueError, match="cannot be repeated"):
        to_sql(typed, _backquoted)
    with pytest.raises(ValueError, match="cannot be repeated"):
        evaluate(typed, {})
